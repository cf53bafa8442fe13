/**
 * A ledger keeps the parts of its ids that no other ledger has: its node tag, and its prefix for
 * documents. A server that is started without them, or with others, could give ids that another
 * ledger has given.
 */
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, test, vi } from 'vitest'
import { createHiloHandler, openLedger, serve } from '../src/index.js'
import { newFolder } from './folders.js'
import { newHandler } from './handlers.js'
import { newDatabase } from './postgres.js'
import { runSql } from './postgres-cluster.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'

function inSqlite() {
  const dataDir = newFolder()
  const run = async (sql: string) => {
    const db = new DatabaseSync(`${dataDir}/hilo.db`)
    db.exec(sql)
    db.close()
  }
  return { place: { dataDir }, run }
}

async function inPostgres() {
  const databaseUrl = await newDatabase()
  return { place: { databaseUrl }, run: (sql: string) => runSql(databaseUrl, sql) }
}

describe.each([
  ['SQLite', inSqlite],
  ['PostgreSQL', inPostgres],
])('a ledger in %s', (_, make) => {
  test('is served under its node tag only', async () => {
    const { place, run } = await make()
    const started = async (nodeTag?: string) => {
      const server = await serve({ ...place, create: true, port: 0, nodeTag })
      const answer = await (await fetch(`${server.url}${NEXT}`)).json()
      await server.close()
      return `${answer.Low}-${answer.ServerTag}`
    }
    expect(await started('B')).toBe('1-B')
    await expect(started()).rejects.toThrow(
      'tag) of this ledger is B, and this server has A. Nothing is granted',
    )
    expect(await started('B')).toBe('33-B')
    await run("UPDATE hilo_meta SET value = 'C' WHERE key = 'node-tag'")
    expect(await started('C')).toBe('65-C')
  })

  test('is served under its prefix for documents only, once it has one', async () => {
    const { place } = await make()
    const started = async (serverPrefix?: string) => {
      const server = await serve({ ...place, create: true, port: 0, serverPrefix })
      expect((await fetch(`${server.url}${NEXT}`)).status).toBe(201)
      await server.close()
    }
    await started()
    await started('North/')
    for (const other of [undefined, 'South/'])
      await expect(started(other)).rejects.toThrow(
        `(serverPrefix) of this ledger is North/, and this server has ${other ?? 'none'}.`,
      )
    await started('North/')
  })

  test('has none before the first change', async () => {
    const { place } = await make()
    await (await serve({ ...place, create: true, port: 0, nodeTag: 'A' })).close()
    await (await serve({ ...place, port: 0, nodeTag: 'B' })).close()
  })

  test('grants nothing to a handler with another tag, and health says so', async () => {
    const { place } = await make()
    const first = await newHandler({ nodeTag: 'A' }, place)
    expect((await first.ask(NEXT)).body.ServerTag).toBe('A')
    const log = { info: vi.fn(), error: vi.fn() }
    const second = await newHandler({ nodeTag: 'B', log }, place)
    for (const path of [NEXT, '/healthz', NEXT.replace('orders', 'lines')])
      expect(await second.ask(path)).toMatchObject({
        status: 503,
        body: { Message: expect.stringContaining("would make other ids than its ledger's") },
      })
    expect(log.error).toHaveBeenCalledExactlyOnceWith(
      { reason: expect.stringContaining('tag) of this ledger is A') },
      'IDS OF ANOTHER LEDGER: NOTHING IS GRANTED.',
    )
    expect((await first.ask(NEXT)).body.Low).toBe(33)
  })
})

test('one ledger object has one node tag and one prefix for documents', async () => {
  const ledger = await openLedger({ dataDir: newFolder(), create: true })
  const withTag = (nodeTag: string) => createHiloHandler({ ledger, nodeTag, host: 'localhost' })
  withTag('A')
  withTag('A')
  const asked = { ledger, serverPrefix: 'North/', host: 'localhost' }
  expect(() => createHiloHandler(asked)).toThrow('is none, and this server has North/')
  expect(() => withTag('B')).toThrow('tag) of this ledger is A')
  await ledger.close()
})
