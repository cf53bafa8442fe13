/** Grant tokens, and the ids in them. */
import { expect, test } from 'vitest'
import { grantTokens, newGrantId, newSecret } from '../../src/ledger/grant-token.js'

test('a token says what was written, to who has the secret', () => {
  const [ours, others] = [grantTokens(newSecret()), grantTokens(newSecret())]
  const content = { id: newGrantId(), rotation: 3 }
  expect(ours.read(ours.write(content))).toEqual(content)
  expect(others.read(ours.write(content))).toBeUndefined()
  expect(ours.read(ours.write(content).replace('.3.', '.4.'))).toBeUndefined()
  expect(ours.read('')).toBeUndefined()
})

test('a token of an earlier version is still read', () => {
  const tokens = grantTokens('7mJ0lmn3bJwjdT2IT4h0kqTDoYX7WvYbyX7bU5ErR5o')
  expect(tokens.write({ id: 'AAECAwQFBgcICQoL', rotation: 0 })).toBe(
    'AAECAwQFBgcICQoL.0.Pc5JylhZofhM0HIVjx3VYw',
  )
})

test('ids are 96 random bits, whichever pool they are drawn from', () => {
  const ids = Array.from({ length: 10_000 }, newGrantId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[\w-]{16}$/)
})
