/**
 * `npm run ledger-size` prints how many bytes a grant takes in each store, with its indexes. It
 * makes 20,000 claims and gives back a part of every tenth. Then it prints the size at the end of
 * each of ten years. In these, 200 devices claim once a week, and every year a tenth of them is
 * lost.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { type ClaimRequest, type Ledger, openLedger } from '../server/src/index.js'
import { createDatabase, runSql, startCluster } from '../server/test/postgres-cluster.js'

const BATCHES = 40
const CLAIMS_PER_BATCH = 500
const COLLECTIONS = 20
const DEVICES = 200
const DAY_MS = 86_400_000
const YEARS = 10
const DAYS_PER_YEAR = 364
const DAYS_PER_CLAIM = 7

const folder = mkdtempSync(join(tmpdir(), 'hilo-ledger-size-'))
const cluster = await startCluster()
try {
  const empty = await sqliteBytes(0)
  report('SQLite', (await sqliteBytes(BATCHES)) - empty)
  report('PostgreSQL', await postgresBytes())
  const dataDir = join(folder, 'years')
  const db = () => new DatabaseSync(join(dataDir, 'hilo.db'))
  await live('SQLite', await openLedger({ create: true, dataDir }), async (table) => {
    const opened = db()
    const [row] = opened.prepare(`SELECT count(*) AS rows FROM ${table}`).all() as Counted[]
    opened.close()
    return row!.rows
  })
  const compact = db()
  compact.exec('VACUUM')
  compact.close()
  console.log(`SQLite      ${statSync(join(dataDir, 'hilo.db')).size} bytes after ten years`)
  const databaseUrl = await createDatabase(cluster.url, 'hilo_years')
  await live('PostgreSQL', await openLedger({ create: true, databaseUrl }), async (table) => {
    const { rows } = await runSql(databaseUrl, `SELECT count(*)::int AS rows FROM ${table}`)
    return rows[0].rows
  })
} finally {
  await cluster.remove()
  rmSync(folder, { recursive: true, force: true })
}

interface Counted {
  rows: number
}

/** Ten years, with the pruning that the server does every day. */
async function live(
  store: string,
  ledger: Ledger,
  count: (table: string) => Promise<number>,
): Promise<void> {
  const tokens: (string | undefined)[] = []
  for (let year = 0; year < YEARS; year++) {
    for (let at = 0; at < DAYS_PER_YEAR; at += DAYS_PER_CLAIM) {
      const now = (year * DAYS_PER_YEAR + at) * DAY_MS
      const claims = Array.from({ length: DEVICES }, (): ClaimRequest => {
        const key = { database: 'Shop', collection: 'orders' }
        return { ...key, id: randomUUID(), count: 32, lastMax: 0, serverTag: 'A', at: now }
      })
      const outcomes = await ledger.claim(claims)
      const spent = tokens.flatMap((token) => token ?? [])
      await ledger.checkIn({ database: 'Shop', id: randomUUID(), at: now, grants: [], spent })
      for (const [device, outcome] of outcomes.entries())
        tokens[device] = 'grant' in outcome ? outcome.grant.token : undefined
      await ledger.prune({ settledBefore: now - 30 * DAY_MS, heardBefore: now - 400 * DAY_MS })
    }
    // A new device replaces each of them.
    tokens.fill(undefined, 0, DEVICES / 10)
    const [grants, tombstones] = [await count('hilo_grants'), await count('hilo_tombstones')]
    console.log(
      `${store.padEnd(10)} year ${String(year + 1).padStart(2)}: ${grants} grants, ` +
        `${tombstones} of lost devices`,
    )
  }
  await ledger.close()
}

function report(store: string, bytes: number): void {
  console.log(
    `${store.padEnd(10)} ${Math.round(bytes / (BATCHES * CLAIMS_PER_BATCH))} bytes a grant`,
  )
}

async function sqliteBytes(batches: number): Promise<number> {
  const dataDir = join(folder, String(batches))
  const ledger = await openLedger({ create: true, dataDir })
  await fill(ledger, batches)
  await ledger.close()
  const file = join(dataDir, 'hilo.db')
  const db = new DatabaseSync(file)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  return statSync(file).size
}

async function postgresBytes(): Promise<number> {
  const databaseUrl = await createDatabase(cluster.url, 'hilo_size')
  const ledger = await openLedger({ create: true, databaseUrl })
  await fill(ledger, BATCHES)
  await ledger.close()
  await runSql(databaseUrl, 'VACUUM hilo_grants')
  const { rows } = await runSql(
    databaseUrl,
    "SELECT pg_total_relation_size('hilo_grants')::int AS bytes",
  )
  return rows[0].bytes
}

async function fill(ledger: Ledger, batches: number): Promise<void> {
  for (let batch = 0; batch < batches; batch++) {
    const claims = Array.from({ length: CLAIMS_PER_BATCH }, (_, i): ClaimRequest => {
      const tag = `collection${i % COLLECTIONS}`
      return {
        database: 'Shop',
        collection: tag,
        id: randomUUID(),
        count: 32,
        lastMax: 0,
        serverTag: 'A',
        at: Date.now(),
      }
    })
    const outcomes = await ledger.claim(claims)
    const shortened = outcomes.flatMap((outcome, i) =>
      'grant' in outcome && i % 10 === 0
        ? [{ grant: outcome.grant, tag: claims[i]!.collection }]
        : [],
    )
    await Promise.all(
      shortened.map(({ grant: { high, token }, tag }) =>
        ledger.giveBack({
          database: 'Shop',
          collection: tag,
          end: high,
          last: high - 5,
          token,
          at: Date.now(),
        }),
      ),
    )
  }
}
