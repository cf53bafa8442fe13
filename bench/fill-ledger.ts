/**
 * Fills a ledger directly in its tables: with copies of the one grant that it has, each with an id,
 * a claim and numbers of its own.
 */
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { runSql } from '../server/test/postgres-cluster.js'
import type { Setup } from './server-process.js'

const CAPACITY = 32

/** @param size grants to add */
export async function fillLedger(
  { dataDir, databaseUrl }: Exclude<Setup, 'empty'>,
  size: number,
): Promise<void> {
  const raised =
    `UPDATE hilo_collections SET max = max + ${CAPACITY * size}, ` +
    `high_water = high_water + ${CAPACITY * size}, ` +
    `serial = serial + ${size}`
  if (databaseUrl) {
    const { rows } = await runSql(
      databaseUrl,
      'SELECT column_name AS name FROM information_schema.columns ' +
        "WHERE table_name = 'hilo_grants' ORDER BY ordinal_position",
    )
    await runSql(
      databaseUrl,
      copies(rows, 'md5(random()::text)', `generate_series(1, ${size}) n(i)`),
    )
    await runSql(databaseUrl, raised)
    await runSql(databaseUrl, 'VACUUM ANALYZE')
  } else {
    const db = new DatabaseSync(join(dataDir!, 'hilo.db'))
    const rows = `SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${size}`
    const numbers = `WITH RECURSIVE n(i) AS (${rows}) `
    db.exec(
      numbers +
        copies(
          db.prepare('PRAGMA table_info(hilo_grants)').all() as { name: string }[],
          'hex(randomblob(16))',
          'n',
        ),
    )
    db.exec(`${raised}; PRAGMA wal_checkpoint(TRUNCATE)`)
    db.close()
  }
}

function copies(columns: { name: string }[], randomText: string, numbers: string): string {
  const own: Record<string, string> = { id: `substr(${randomText}, 1, 16)`, claim: randomText }
  for (const number of ['low', 'high', 'first_high', 'issued'])
    own[number] = `g.${number} + ${CAPACITY} * n.i`
  own.serial = 'g.serial + n.i'
  const values = columns.map(({ name }) => own[name] ?? `g.${name}`).join(', ')
  return `INSERT INTO hilo_grants SELECT ${values} FROM hilo_grants g, ${numbers}`
}
