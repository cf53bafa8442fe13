/**
 * `npm run ledger-size`: how many bytes a grant takes in each store, with its indexes: 20,000
 * claims, a tenth of them shortened by a give-back.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { type ClaimRequest, type Ledger, openLedger } from '../server/src/index.js'
import { createDatabase, runSql, startCluster } from '../server/test/postgres-cluster.js'

const BATCHES = 40
const CLAIMS_PER_BATCH = 500
const COLLECTIONS = 20

const folder = mkdtempSync(join(tmpdir(), 'hilo-ledger-size-'))
const cluster = await startCluster()
try {
  const empty = await sqliteBytes(0)
  report('SQLite', (await sqliteBytes(BATCHES)) - empty)
  report('PostgreSQL', await postgresBytes())
} finally {
  await cluster.remove()
  rmSync(folder, { recursive: true, force: true })
}

function report(store: string, bytes: number): void {
  console.log(
    `${store.padEnd(10)} ${Math.round(bytes / (BATCHES * CLAIMS_PER_BATCH))} bytes a grant`,
  )
}

async function sqliteBytes(batches: number): Promise<number> {
  const dataDir = join(folder, String(batches))
  const ledger = await openLedger({ dataDir })
  await fill(ledger, batches)
  await ledger.close()
  const file = join(dataDir, 'hilo.db')
  const db = new Database(file)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  return statSync(file).size
}

async function postgresBytes(): Promise<number> {
  const databaseUrl = await createDatabase(cluster.url, 'hilo_size')
  const ledger = await openLedger({ databaseUrl })
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
      shortened.map(({ grant: { high, token: lease }, tag }) =>
        ledger.giveBack({
          database: 'Shop',
          collection: tag,
          end: high,
          last: high - 5,
          token: lease,
          at: Date.now(),
        }),
      ),
    )
  }
}
