/**
 * What holds for whole databases, kept among the ledger's settings under two keys for each. So a
 * write of one of them cannot undo the other.
 */
import type { RowChanges } from '../ledger/row-store.js'
import { type DatabaseRow, newDatabase } from '../ledger/rows.js'

/** A setting: a row of `hilo_meta`. */
export interface Setting {
  key: string
  value: string
}

/** The value is `yes`, `dropped`, or empty. */
const RESTORED = 'restored:'
/** The value is JSON, `{"floor": 0, "serial": 0}`. */
const FLOORS = 'floors:'

/** The secret of the grant tokens, in the same table. */
export const SECRET = 'secret'

/** Settings of every database. */
export const SETTINGS_OF_DATABASES = `
  SELECT key AS "key", value AS "value" FROM hilo_meta
  WHERE key LIKE '${RESTORED}%' OR key LIKE '${FLOORS}%'`

export const settingKeysOf = (databases: readonly string[]): string[] =>
  databases.flatMap((name) => [RESTORED + name, FLOORS + name])

/** By name. */
export function toDatabases(settings: readonly Setting[]): Map<string, DatabaseRow> {
  const found = new Map<string, DatabaseRow>()
  for (const { key, value } of settings) {
    const name = key.slice(key.indexOf(':') + 1)
    const row = found.get(name) ?? newDatabase(name)
    const read = key.startsWith(FLOORS)
      ? JSON.parse(value)
      : { isRestored: value !== '', isDropped: value === 'dropped' }
    found.set(name, { ...row, ...read })
  }
  return found
}

/** What a step changed, as settings. */
export const settingsFrom = ({
  restored = [],
  dropped = [],
  floors = [],
  secret,
}: RowChanges): Setting[] => [
  ...restored.map((name) => ({ key: RESTORED + name, value: 'yes' })),
  ...dropped.map((name) => ({ key: RESTORED + name, value: 'dropped' })),
  ...floors.flatMap(({ database, floor, serial }) => [
    { key: RESTORED + database, value: '' },
    { key: FLOORS + database, value: JSON.stringify({ floor, serial }) },
  ]),
  ...(secret === undefined ? [] : [{ key: SECRET, value: secret }]),
]
