/**
 * Writes what a step changed: one statement per table, its rows as one parameter in JSON. They
 * travel with the commit.
 */

import {
  COLLECTION_COLUMNS,
  type Columns,
  GRANT_COLUMNS,
  IDENTITY_CLAIM_COLUMNS,
  IDENTITY_COLUMNS,
  RETURN_COLUMNS,
  SERIES_COLUMNS,
  UNHEARD_COLUMNS,
  writeSpans,
} from '../ledger/columns.js'
import { settingsFrom } from '../ledger/database-rows.js'
import { keyText } from '../ledger/keys.js'
import type { RowChanges, Rows } from '../ledger/row-store.js'
import { columnNames, entriesOf, ON_SERIES_CONFLICT } from '../ledger/sql.js'
import type { Write } from './pool.js'

/** The parameter as rows `n`. */
const rowsOf = <Row>(columns: Columns<Row>): string =>
  `json_to_recordset($1) AS n (${entriesOf(columns)
    .map(([field, [, type]]) => `"${field}" ${type}`)
    .join(', ')})`

/** A statement that adds the rows in its parameter. */
export const insertInto = <Row>(table: string, columns: Columns<Row>): string =>
  `INSERT INTO ${table} (${columnNames(columns)})
   SELECT ${entriesOf(columns)
     .map(([field]) => `n."${field}"`)
     .join(', ')} FROM ${rowsOf(columns)}`

const SAVE_COLLECTIONS = `
  UPDATE hilo_counters c SET max = n."max", peak = n."peak", floor = n."floor",
    free = coalesce(n."free", c.free), fresh = coalesce(n."fresh", c.fresh), version = n."version",
    serial = n."serial", forgotten = n."forgotten", grants = n."grants",
    outstanding = n."outstanding", last_claim = n."lastClaim", dropped_at = n."droppedAt"
  FROM ${rowsOf(COLLECTION_COLUMNS)} WHERE c.database = n."database" AND c.tag = n."collection"`
const ADD_GRANTS = insertInto('hilo_grants', GRANT_COLUMNS)
const SAVE_GRANTS = `
  UPDATE hilo_grants g SET high = n."high", issued = n."issued", rotation = n."rotation",
    check_in = n."checkIn", heard_at = n."heardAt"
  FROM ${rowsOf(GRANT_COLUMNS)} WHERE g.id = n."id"`
const PRUNE_GRANTS = 'DELETE FROM hilo_grants WHERE id = ANY($1)'
const ADD_UNHEARD = insertInto('hilo_unheard', UNHEARD_COLUMNS)
const SAVE_UNHEARD = `
  UPDATE hilo_unheard u SET rotation = n."rotation", check_in = n."checkIn"
  FROM ${rowsOf(UNHEARD_COLUMNS)} WHERE u.id = n."id"`
const ADD_RETURNS = insertInto('hilo_returns', RETURN_COLUMNS)
const SAVE_IDENTITIES = `
  UPDATE hilo_identities i SET value = n."value", peak = n."peak", dropped_at = n."droppedAt"
  FROM ${rowsOf(IDENTITY_COLUMNS)} WHERE i.database = n."database" AND i.name = n."name"`
const ADD_IDENTITY_CLAIMS = insertInto('hilo_identity_claims', IDENTITY_CLAIM_COLUMNS)
const SAVE_SERIES = `${insertInto('hilo_series', SERIES_COLUMNS)} ${ON_SERIES_CONFLICT}`

const SAVE_SETTING = `
  INSERT INTO hilo_meta (key, value) VALUES ($1, $2)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`

/** @param rows as the step found them */
export function save(write: Write, rows: Rows, changes: RowChanges): void {
  const saveAll = (text: string, changed: readonly object[] = []) => {
    if (changed.length > 0) write(text, [JSON.stringify(changed)])
  }
  for (const { key, value } of settingsFrom(changes)) write(SAVE_SETTING, [key, value])
  saveAll(
    SAVE_COLLECTIONS,
    changes.collections?.map(({ free, fresh, ...row }) => {
      const before = rows.collections.get(keyText(row))
      // A list that did not change is not sent again: a long one would be compressed once more.
      return {
        ...row,
        free: free === before?.free ? null : writeSpans(free),
        fresh: fresh === before?.fresh ? null : writeSpans(fresh),
      }
    }),
  )
  saveAll(ADD_GRANTS, changes.newGrants)
  saveAll(SAVE_GRANTS, changes.grants)
  const pruned = changes.prunedGrants ?? []
  if (pruned.length > 0) write(PRUNE_GRANTS, [pruned])
  saveAll(ADD_UNHEARD, changes.newUnheard)
  saveAll(SAVE_UNHEARD, changes.unheard)
  saveAll(ADD_RETURNS, changes.returns)
  saveAll(SAVE_IDENTITIES, changes.identities)
  saveAll(ADD_IDENTITY_CLAIMS, changes.identityClaims)
  saveAll(SAVE_SERIES, changes.series)
}
