/** Where the ledger is that the settings name, and which one is there. Writes nothing. */
import { resolve } from 'node:path'
import { DEFAULT_DATA_DIR } from '../open-ledger.js'
import { placeOf } from '../postgres/place.js'
import type { ServeOptions } from '../serve.js'

export type Place = Pick<ServeOptions, 'dataDir' | 'databaseUrl'>

/** For people; without user and password. */
export const placeIn = ({ dataDir = DEFAULT_DATA_DIR, databaseUrl }: Place): string =>
  databaseUrl === undefined ? resolve(dataDir) : placeOf(databaseUrl)

/** Resolves with the version of the ledger's tables; undefined where there is no ledger. */
export async function versionAt({
  dataDir = DEFAULT_DATA_DIR,
  databaseUrl,
}: Place): Promise<number | undefined> {
  if (databaseUrl === undefined) {
    const { readSqliteVersion } = await import('../sqlite/store.js')
    return readSqliteVersion(dataDir)
  }
  const { openPool } = await import('../postgres/pool.js')
  const { readPostgresVersion } = await import('../postgres/upgrade.js')
  const pool = openPool(databaseUrl)
  try {
    return await readPostgresVersion(pool)
  } finally {
    await pool.close()
  }
}
