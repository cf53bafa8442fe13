/**
 * Somebody edits a row of the ledger by hand while a server uses it. What makes no sense is not
 * read: nothing is granted, the log names the column, and with the value back all goes on.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createHiloHandler, openLedger } from '../src/index.js'
import { newFolder, runIn } from './folders.js'
import { json } from './handlers.js'

async function running() {
  const dataDir = newFolder()
  const ledger = await openLedger({ dataDir, create: true })
  onTestFinished(() => ledger.close())
  const log = { info: vi.fn(), error: vi.fn() }
  const handler = createHiloHandler({ ledger, log, open: true })
  const ask = async (route: string, init?: RequestInit) => {
    const answer = await handler(new Request(`http://ids.test/databases/Shop/${route}`, init))
    return { status: answer.status, body: await answer.json() }
  }
  const claim = () =>
    ask('hilo/next', json({ claim: randomUUID(), collections: [{ tag: 'orders', count: 10 }] }))
  const identity = () => ask('identity/next?name=bills%7C', { method: 'POST' })
  const begun = await ask(
    'hilo/series',
    json({ claim: randomUUID(), collection: 'receipts', device: 'Till 1' }),
  )
  let last = 0
  const series = () =>
    ask('hilo/series/checkin', json({ id: randomUUID(), token: begun.body.token, last: ++last }))
  const [granted] = (await claim()).body.collections
  const checkIn = () =>
    ask('hilo/checkin', json({ id: randomUUID(), grants: [{ token: granted.Token, next: 3 }] }))
  await identity()
  return { dataDir, log, calls: { claim, identity, series, checkIn } }
}

function valueIn(dataDir: string, table: string, column: string, where: string): unknown {
  const db = new DatabaseSync(join(dataDir, 'hilo.db'))
  const row = db.prepare(`SELECT quote(${column}) AS value FROM ${table} WHERE ${where}`).get()
  db.close()
  return (row as { value: string }).value
}

const ORDERS = "collection = 'orders'"
const RECEIPTS = "collection LIKE 'receipts%'"

test.each<[string, string, string, string, keyof Awaited<ReturnType<typeof running>>['calls']]>([
  ['hilo_collections', 'free', "''", ORDERS, 'claim'],
  ['hilo_collections', 'free', '5', ORDERS, 'claim'],
  ['hilo_collections', 'fresh', "x'00ff'", ORDERS, 'claim'],
  ['hilo_collections', 'free', "'[[null,9]]'", ORDERS, 'claim'],
  ['hilo_collections', 'max', '1.5', ORDERS, 'claim'],
  ['hilo_collections', 'version', "'x'", ORDERS, 'claim'],
  ['hilo_grants', 'issued', '1.5', ORDERS, 'checkIn'],
  ['hilo_grants', 'token_version', "'x'", ORDERS, 'checkIn'],
  ['hilo_grants', 'heard_at', '1.5', ORDERS, 'checkIn'],
  ['hilo_identities', 'value', '1.5', '1', 'identity'],
  ['hilo_series', 'periods', "''", RECEIPTS, 'series'],
  ['hilo_series', 'told_by_others', "'5'", RECEIPTS, 'series'],
  ['hilo_series', 'first_shown', "'{}'", RECEIPTS, 'series'],
  ['hilo_series', 'seen_at', "'x'", RECEIPTS, 'series'],
  ['hilo_series', 'link', "'{'", RECEIPTS, 'series'],
])('%s.%s becomes %s', async (table, column, value, where, name) => {
  const { dataDir, log, calls } = await running()
  const before = valueIn(dataDir, table, column, where)
  const set = (to: unknown) =>
    runIn(dataDir, `UPDATE ${table} SET ${column} = ${to} WHERE ${where}`)
  set(value)
  expect(await calls[name]()).toMatchObject({
    status: 503,
    body: { Message: expect.stringContaining("tables of this server's ledger are not as") },
  })
  const [[{ reason }, what]] = log.error.mock.calls as [[{ reason: string }, string]]
  expect(what).toBe("THE LEDGER'S TABLES: NOTHING IS GRANTED.")
  expect(reason).toContain(`a row of ${table} has `)
  expect(reason).toContain(`in its column ${column}`)
  set(before)
  expect((await calls[name]()).status).toBeLessThan(300)
})

test('the mark becomes no number: nothing is granted: the state may be older', async () => {
  const { dataDir, log, calls } = await running()
  const isMark = "key = 'mark'"
  const before = valueIn(dataDir, 'hilo_meta', 'value', isMark)
  const set = (to: unknown) => runIn(dataDir, `UPDATE hilo_meta SET value = ${to} WHERE ${isMark}`)
  set("'x'")
  expect((await calls.claim()).status).toBe(503)
  expect(log.error.mock.calls.map(([, what]) => what)).toEqual([
    'ANOTHER LEDGER: NOTHING IS GRANTED.',
  ])
  set(before)
  expect((await calls.claim()).status).toBe(201)
})

test.each([
  ["'x'", "has 'x' in its row 'version'"],
  ["'0'", "has '0' in its row 'version'"],
  ["''", "has '' in its row 'version'"],
  [undefined, "has no row 'version'"],
])('the version becomes %s: nothing is granted, as no start would', async (value, reason) => {
  const { dataDir, log, calls } = await running()
  const isVersion = "key = 'version'"
  const before = valueIn(dataDir, 'hilo_meta', 'value', isVersion)
  if (value === undefined) runIn(dataDir, `DELETE FROM hilo_meta WHERE ${isVersion}`)
  else runIn(dataDir, `UPDATE hilo_meta SET value = ${value} WHERE ${isVersion}`)
  expect((await calls.claim()).status).toBe(503)
  expect(log.error).toHaveBeenCalledWith(
    expect.objectContaining({ reason: expect.stringContaining(reason) }),
    "THE LEDGER'S TABLES: NOTHING IS GRANTED.",
  )
  runIn(dataDir, `INSERT OR REPLACE INTO hilo_meta VALUES ('version', ${before})`)
  expect((await calls.claim()).status).toBe(201)
})
