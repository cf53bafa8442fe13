/**
 * Identities over HTTP. That they are answered as RavenDB answers them is in wire.test.ts, the
 * ledger's own promises are in ledger-identities.ts.
 */
import { expect, onTestFinished, test } from 'vitest'
import { openLedger, serve } from '../src/index.js'
import { newFolder } from './folders.js'
import { newHandler, testHere } from './handlers.js'

const post = { method: 'POST' }
const next = '/databases/Shop/identity/next?name='

testHere('callers at the same time share commits, and get consecutive numbers', async () => {
  const { ask, ledger } = await newHandler()
  let commits = 0
  const { nextIdentities } = ledger
  ledger.nextIdentities = (claims) => {
    commits++
    return nextIdentities(claims)
  }
  const answers = await Promise.all(Array.from({ length: 100 }, () => ask(`${next}orders|`, post)))
  const numbers = answers.map(({ body }) => body.NewIdentityValue)
  expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
  expect(commits).toBeLessThan(20)
})

test('a request id that is too long is refused, and takes no number', async () => {
  const { ask } = await newHandler()
  expect(await ask(`${next}a&raft-request-id=${'a'.repeat(129)}`, post)).toMatchObject({
    status: 500,
    body: { Message: expect.stringContaining('128 bytes') },
  })
  expect((await ask(`${next}a|`, post)).body).toEqual({ NewIdentityValue: 1 })
})

test('an answer names its request, where that asks for it', async () => {
  const { ask } = await newHandler()
  const claimed = `${next}orders|&raft-request-id=k&claim=k`
  expect((await ask(claimed, post)).body).toEqual({ NewIdentityValue: 1, Claim: 'k' })
  expect((await ask(`${next}orders|&raft-request-id=k`, post)).body).toEqual({
    NewIdentityValue: 1,
  })
})

test('a server forgets at its start the requests of more than 30 days ago', async () => {
  const dataDir = newFolder()
  const ledger = await openLedger({ create: true, dataDir })
  const ago = (days: number) => Date.now() - days * 86_400_000
  await ledger.nextIdentities(
    [31, 29].map((days) => ({
      database: 'Shop',
      name: 'orders|',
      id: `${days} days`,
      at: ago(days),
    })),
  )
  await ledger.close()
  const server = await serve({ create: true, port: 0, dataDir })
  onTestFinished(() => server.close())
  const ask = async (id: string) =>
    (await (await fetch(`${server.url}${next}orders&raft-request-id=${id}`, post)).json()) as object
  await expect.poll(() => ask('31 days')).toEqual({ NewIdentityValue: 3 })
  expect(await ask('29 days')).toEqual({ NewIdentityValue: 2 })
})
