/** Grant tokens, and the ids in them. */
import { expect, test } from 'vitest'
import { checkTag } from '../../src/http/messages.js'
import { grantTokens, newGrantId, newSecret } from '../../src/ledger/grant-token.js'

test('a token says what was written, to who has the secret', () => {
  const [ours, others] = [grantTokens([newSecret()]), grantTokens([newSecret()])]
  const content = { id: newGrantId(), tokenVersion: 3, serial: 7, high: 90, collection: 'größe' }
  const token = ours.write({ ...content, database: 'shop' })
  expect(ours.read(token, 'shop')).toEqual(content)
  expect(ours.read(token, 'evil')).toBeUndefined()
  expect(others.read(token, 'shop')).toBeUndefined()
  expect(ours.read(token.replace('.3.', '.4.'), 'shop')).toBeUndefined()
  expect(ours.read(token.replace('.7.', '.8.'), 'shop')).toBeUndefined()
  expect(ours.read(token.replace('.90.', '.91.'), 'shop')).toBeUndefined()
  expect(ours.read('', 'shop')).toBeUndefined()
})

test('a token is read of the longest name that there is, also where lower case is longer', () => {
  const tokens = grantTokens([newSecret()])
  const longest = 'İ'.repeat(250)
  expect(() => checkTag(longest, '/')).not.toThrow()
  const content = {
    id: newGrantId(),
    tokenVersion: 0,
    serial: 1,
    high: 9,
    collection: longest.toLowerCase(),
  }
  expect(tokens.read(tokens.write({ ...content, database: 'shop' }), 'shop')).toEqual(content)
})

test.each([0, -1, -7e11, 2 ** 32 * 1000, 8.64e15])('an id is made at time %d', (now) => {
  expect(newGrantId(now)).toMatch(/^[\w-]{16}$/)
})

test('ids of one second differ, whichever pool they are drawn from, and begin alike', () => {
  const ids = Array.from({ length: 10_000 }, () => newGrantId(Date.UTC(2026, 10, 21)))
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^awDfA[\w-]{11}$/)
})
