/**
 * The ledger that a server has used is replaced beneath it, by an older state of itself or by
 * another one: the server grants nothing, and says so.
 */
import { join } from 'node:path'
import { backup, DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { LedgerOptions } from '../src/index.js'
import { runWork, type Statement, statement } from '../src/sql/statements.js'
import { backUp } from '../src/sqlite/backup.js'
import { newFolder } from './folders.js'
import { json, newHandler } from './handlers.js'
import { newDatabase } from './postgres.js'
import { runSql } from './postgres-cluster.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
const ID = '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10'

async function serverOf(options: LedgerOptions) {
  const log = { info: vi.fn(), error: vi.fn() }
  const server = await newHandler({ log }, options)
  const lowOf = async () => (await server.ask(NEXT)).body.Low
  /** Asks again and again: a claim, for health, a claim for a new name. */
  const refuses = async (why: string) => {
    for (const path of [NEXT, '/healthz', NEXT.replace('orders', 'lines'), NEXT])
      expect(await server.ask(path)).toMatchObject({
        status: 503,
        body: { Message: expect.stringContaining('holds another ledger than before') },
      })
    expect(log.error).toHaveBeenCalledExactlyOnceWith(
      { reason: expect.stringContaining(why) },
      'ANOTHER LEDGER: NOTHING IS GRANTED.',
    )
  }
  return { ...server, lowOf, refuses }
}

async function inSqlite() {
  const dataDir = newFolder()
  const run = async (sql: string) => {
    const db = new DatabaseSync(join(dataDir, 'hilo.db'))
    db.exec(sql)
    db.close()
  }
  return { dataDir, run, ...(await serverOf({ dataDir })) }
}

async function inPostgres() {
  const databaseUrl = await newDatabase()
  return {
    run: (sql: string) => runSql(databaseUrl, sql),
    ...(await serverOf({ databaseUrl })),
  }
}

describe.each([
  ['SQLite', inSqlite],
  ['PostgreSQL', inPostgres],
])('a ledger in %s', (_, start) => {
  test('whose mark is lower than this process has seen grants nothing', async () => {
    const { run, lowOf, refuses } = await start()
    expect([await lowOf(), await lowOf()]).toEqual([1, 33])
    await run(
      "UPDATE hilo_meta SET value = CAST(CAST(value AS INT) - 1 AS TEXT) WHERE key = 'mark'",
    )
    await refuses('it lacks commits that this server has seen')
    await run(
      "UPDATE hilo_meta SET value = CAST(CAST(value AS INT) + 1 AS TEXT) WHERE key = 'mark'",
    )
    expect(await lowOf()).toBe(65)
  })

  test('with another secret grants nothing', async () => {
    const { run, lowOf, refuses } = await start()
    await lowOf()
    await run("UPDATE hilo_meta SET value = 'another' WHERE key = 'secret'")
    await refuses('it has another secret')
  })
})

test('a SQLite ledger that is restored beneath a server grants nothing twice', async () => {
  const { dataDir, lowOf, refuses } = await inSqlite()
  await lowOf()
  const file = join(newFolder(), 'copy.db')
  backUp(dataDir, file)
  await lowOf()
  const copy = new DatabaseSync(file)
  onTestFinished(() => copy.close())
  // As the command .restore of SQLite's shell does, also while others use the file.
  await backup(copy, join(dataDir, 'hilo.db'))
  await refuses('it lacks commits that this server has seen')
})

test('a process that starts on an older copy grants again, until a token proves it', async () => {
  const { dataDir, ask, lowOf } = await inSqlite()
  await lowOf()
  const older = newFolder()
  backUp(dataDir, join(older, 'hilo.db'))
  const collections = [{ tag: 'orders', count: 32 }]
  const claimed = await ask('/databases/Shop/hilo/next', json({ claim: ID, collections }))
  const [{ Low, Token: token }] = claimed.body.collections
  const restored = await serverOf({ dataDir: older })
  expect([Low, await restored.lowOf()]).toEqual([33, 33])
  const grants = [{ token, next: 33 }]
  await restored.ask('/databases/Shop/hilo/checkin', json({ id: ID, grants }))
  expect((await restored.ask(NEXT)).status).toBe(503)
})

test('a transaction notes what was committed so far before it reads, and writes last', () => {
  const done: string[] = []
  const run = <Row>({ text }: Statement): Row[] => {
    done.push(text)
    return []
  }
  runWork(run, {
    begins: () => void done.push('begins'),
    reads: [statement('read')],
    step: () => ({ answer: undefined, writes: [statement('write')] }),
  })
  expect(done).toEqual(['begins', 'read', 'write'])
})
