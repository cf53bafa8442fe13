/**
 * The ledger behind PgBouncer in its transaction mode, where every transaction may get another
 * session of PostgreSQL.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { eventually } from '../../test/support/eventually.js'
import { freePort } from '../../test/support/free-port.js'
import { pgbouncer, unless } from '../../test/support/programs.js'
import { openLedger } from '../src/index.js'
import { newFolder } from './folders.js'
import { editing } from './ledger-bench.js'
import { describeLedger } from './ledger-contract.js'
import { newDatabase, secretAt } from './postgres.js'
import { ownerOf, runSql } from './postgres-cluster.js'

const closing: (() => Promise<unknown>)[] = []

afterAll(async () => {
  for (const close of closing) await close()
})

/**
 * A new database, reached through a PgBouncer of its own that has fewer sessions than the ledger
 * has connections.
 */
async function newPooledDatabase(): Promise<string> {
  const url = new URL(await newDatabase({ hasPath: true }))
  const folder = newFolder()
  const owner = ownerOf(folder)
  chmodSync(folder, 0o755)
  const port = await freePort()
  const settings = [
    '[databases]',
    `* = host=${url.hostname} port=${url.port} user=${url.username}` +
      (url.password && ` password=${decodeURIComponent(url.password)}`),
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 3',
  ]
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, settings.join('\n'))
  const child = spawn(pgbouncer.find()!, [file], { ...owner, stdio: 'ignore' })
  const ended = once(child, 'exit')
  closing.push(() => {
    child.kill('SIGKILL')
    return ended
  })
  await eventually(
    () =>
      new Promise<void>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => resolve(void socket.destroy())).on(
          'error',
          reject,
        )
      }),
  )
  url.port = String(port)
  return url.href
}

describe.skipIf(!pgbouncer.find())(`PgBouncer${unless(pgbouncer)}`, () => {
  describeLedger('every promise of the ledger', async () => {
    const databaseUrl = await newPooledDatabase()
    return {
      open: (limits) => openLedger({ create: true, databaseUrl, limits }),
      secret: () => secretAt(databaseUrl),
      edit: async (...row) => void (await runSql(databaseUrl, editing(...row))),
    }
  })

  test('a search_path that others leave in a session leads to no other ledger', async () => {
    const databaseUrl = await newPooledDatabase()
    const ledger = await openLedger({ create: true, databaseUrl })
    const wish = { database: 'Shop', collection: 'orders', count: 32, lastMax: 0, serverTag: 'A' }
    await ledger.claim([{ ...wish, at: 0 }])
    const { rows } = await runSql(
      databaseUrl,
      "SELECT table_name AS name FROM information_schema.tables WHERE table_name LIKE 'hilo\\_%'",
    )
    const copies = rows.map(
      ({ name }) => `CREATE TABLE app.${name} (LIKE ${name} INCLUDING ALL);
      INSERT INTO app.${name} SELECT * FROM ${name};`,
    )
    await runSql(databaseUrl, `CREATE SCHEMA app; ${copies.join('')}`)
    await ledger.claim([{ ...wish, at: 0 }])
    // More clients at once than there are sessions.
    const leave = () => runSql(databaseUrl, 'SET search_path = app; SELECT pg_sleep(0.1)')
    await Promise.all(Array.from({ length: 6 }, leave))
    expect((await runSql(databaseUrl, 'SHOW search_path')).rows).toEqual([{ search_path: 'app' }])
    expect(await ledger.claim([{ ...wish, at: 0 }])).toMatchObject([{ grant: { low: 65 } }])
    await ledger.close()
  })

  test('no setting of a transaction is left in a session that others get', async () => {
    const databaseUrl = await newPooledDatabase()
    const ledger = await openLedger({ create: true, databaseUrl })
    await ledger.claim([
      { database: 'Shop', collection: 'orders', count: 32, lastMax: 0, serverTag: 'A', at: 0 },
    ])
    const { rows } = await runSql(
      databaseUrl,
      `SELECT name FROM pg_settings
       WHERE source = 'session' AND name ~ 'timeout|synchronous_commit'`,
    )
    expect(rows).toEqual([])
    await ledger.close()
  })
})
