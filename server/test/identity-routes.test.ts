/**
 * Identities over HTTP, as RavenDB answers them. The ledger's own promises are in
 * ledger-identities.ts.
 */
import { expect, onTestFinished, test } from 'vitest'
import { openLedger, serve } from '../src/index.js'
import { newFolder } from './folders.js'
import { newHandler, testHere } from './handlers.js'

const post = { method: 'POST' }
const next = '/databases/Shop/identity/next?name='
const seed = '/databases/Shop/identity/seed?name='

test('the next number of an identity, whether or not its name ends in a pipe', async () => {
  const { ask } = await newHandler()
  expect(await ask(`${next}orders|`, post)).toMatchObject({
    status: 200,
    body: { NewIdentityValue: 1 },
  })
  expect((await ask(`${next}Orders`, post)).body).toEqual({ NewIdentityValue: 2 })
  expect((await ask(`${next}orders%7C`, post)).body).toEqual({ NewIdentityValue: 3 })
})

test('the same raft-request-id gets the same number; an empty one is none', async () => {
  const { ask } = await newHandler()
  const ask4 = async (id: string) =>
    (await ask(`${next}orders|&raft-request-id=${id}`, post)).body.NewIdentityValue
  expect([
    await ask4('a'),
    await ask4('b'),
    await ask4('a'),
    await ask4(''),
    await ask4(''),
  ]).toEqual([1, 2, 1, 3, 4])
})

test('a seed moves up; with force down again', async () => {
  const { ask } = await newHandler()
  expect(await ask(`${seed}orders|&value=41`, post)).toMatchObject({
    status: 200,
    body: { NewSeedValue: 41 },
  })
  expect((await ask(`${next}orders|`, post)).body).toEqual({ NewIdentityValue: 42 })
  expect((await ask(`${seed}orders|&value=5`, post)).body).toEqual({ NewSeedValue: 42 })
  await ask(`${seed}orders|&value=999`, post)
  expect((await ask(`${seed}orders|&value=50&force=true`, post)).body).toEqual({ NewSeedValue: 50 })
})

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

test.each([
  ['no name', '/databases/Shop/identity/next', 500, "'name' must have a non empty value"],
  ['a pipe alone', `${next}|`, 500, "more than its '|'"],
  ['a control character', `${next}a%00`, 500, 'control characters'],
  ['a name that is too long', `${next}${'a'.repeat(512)}`, 500, '512 bytes'],
  [
    'a request id that is too long',
    `${next}a&raft-request-id=${'a'.repeat(129)}`,
    500,
    '128 bytes',
  ],
  ['a seed without a value', `${seed}orders|`, 500, 'value is mandatory'],
  ['a seed that is no number', `${seed}orders|&value=many`, 500, 'as long, value was: many'],
  ['a seed below 0', `${seed}orders|&value=-1`, 500, '0 or above'],
  ['an absurd seed', `${seed}orders|&value=9007199254740991`, 422, 'too far above'],
  [
    'a database with a bad name',
    '/databases/a%20b/identity/next?name=orders',
    500,
    "Database 'a b' does not exist. A database's name has",
  ],
])('%s is refused, and takes no number', async (_, path, status, message) => {
  const { ask } = await newHandler()
  expect(await ask(path, post)).toMatchObject({
    status,
    body: { Message: expect.stringContaining(message) },
  })
  expect((await ask(`${next}orders|`, post)).body).toEqual({ NewIdentityValue: 1 })
})

test('GET takes no number', async () => {
  const { ask } = await newHandler()
  expect((await ask(`${next}orders|`)).status).toBe(400)
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
