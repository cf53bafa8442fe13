/** Writes what a step changed: one statement per table. */
import { keyText } from '../ledger/keys.js'
import type { RowChanges, Rows } from '../ledger/row-store.js'
import { settingsFrom } from './database-rows.js'
import { counting } from './names.js'
import {
  adding,
  changing,
  type Dialect,
  deleting,
  encoded,
  putting,
  type Statement,
  statement,
} from './statements.js'
import {
  COLLECTIONS,
  GRANTS,
  IDENTITIES,
  IDENTITY_CLAIMS,
  RETURNS,
  SERIES,
  TOMBSTONES,
} from './tables.js'

const SAVE_SETTING = `INSERT INTO hilo_meta (key, value) VALUES ($1, $2)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`

/** @returns the statements that save changes of rows as they were found */
export function saver(dialect: Dialect): (rows: Rows, changes: RowChanges) => Statement[] {
  const saveCollections = changing(dialect, COLLECTIONS)
  const addGrants = adding(dialect, GRANTS)
  const saveGrants = changing(dialect, GRANTS)
  const deleteGrants = deleting(dialect, GRANTS)
  const addUnheard = adding(dialect, TOMBSTONES)
  const saveTombstones = changing(dialect, TOMBSTONES)
  const addReturns = adding(dialect, RETURNS)
  const saveIdentities = changing(dialect, IDENTITIES)
  const addIdentityClaims = adding(dialect, IDENTITY_CLAIMS)
  const putSeries = putting(dialect, SERIES)

  const all = (text: string, rows: readonly object[] = []): Statement[] =>
    rows.length > 0 ? [statement(text, ...dialect.given(rows))] : []

  return (rows, changes) => [
    ...settingsFrom(changes).map(({ key, value }) => statement(SAVE_SETTING, key, value)),
    ...all(
      saveCollections,
      changes.collections?.map((row) =>
        encoded(COLLECTIONS, row, rows.collections.get(keyText(row))),
      ),
    ),
    ...all(addGrants, changes.newGrants),
    ...all(saveGrants, changes.grants),
    ...all(
      deleteGrants,
      changes.prunedGrants?.map((id) => ({ id })),
    ),
    ...all(addUnheard, changes.newTombstones),
    ...all(saveTombstones, changes.tombstones),
    ...all(addReturns, changes.returns),
    ...all(saveIdentities, changes.identities),
    ...all(addIdentityClaims, changes.identityClaims),
    ...all(putSeries, changes.series),
    // What was dropped before is not among the rows of a step.
    ...counting(
      dialect,
      {
        collections: changes.collections?.filter(isDropped),
        identities: changes.identities?.filter(isDropped),
      },
      -1,
    ),
  ]
}

const isDropped = ({ droppedAt }: { droppedAt: number | null }): boolean => droppedAt !== null
