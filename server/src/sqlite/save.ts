/** Writes what a step changed, inside its transaction: one statement per table, run per row. */

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
import type { RowChanges } from '../ledger/row-store.js'
import { columnNames, ON_SERIES_CONFLICT } from '../ledger/sql.js'
import { runner, type Sqlite } from './file.js'

export function saver(db: Sqlite): (changes: RowChanges) => void {
  const putCollection = inserter(
    db,
    'hilo_counters',
    COLLECTION_COLUMNS,
    `ON CONFLICT (database, tag) DO UPDATE SET max = excluded.max, peak = excluded.peak,
     floor = excluded.floor, free = excluded.free, fresh = excluded.fresh,
     version = excluded.version, serial = excluded.serial, forgotten = excluded.forgotten,
     grants = excluded.grants, outstanding = excluded.outstanding,
     last_claim = excluded.last_claim, dropped_at = excluded.dropped_at`,
  )
  const addGrant = inserter(db, 'hilo_grants', GRANT_COLUMNS)
  const putGrant = runner(
    db,
    `UPDATE hilo_grants SET high = ?, issued = ?, rotation = ?, check_in = ?, heard_at = ?
     WHERE id = ?`,
  )
  const removeGrant = runner(db, 'DELETE FROM hilo_grants WHERE id = ?')
  const addUnheard = inserter(db, 'hilo_unheard', UNHEARD_COLUMNS)
  const putUnheard = runner(db, 'UPDATE hilo_unheard SET rotation = ?, check_in = ? WHERE id = ?')
  const addReturn = inserter(db, 'hilo_returns', RETURN_COLUMNS)
  const putIdentity = inserter(
    db,
    'hilo_identities',
    IDENTITY_COLUMNS,
    `ON CONFLICT (database, name) DO UPDATE SET value = excluded.value, peak = excluded.peak,
     dropped_at = excluded.dropped_at`,
  )
  const addIdentityClaim = inserter(db, 'hilo_identity_claims', IDENTITY_CLAIM_COLUMNS)
  const putSeries = inserter(db, 'hilo_series', SERIES_COLUMNS, ON_SERIES_CONFLICT)
  const putSetting = runner(
    db,
    `INSERT INTO hilo_meta (key, value) VALUES (?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  )

  return (changes) => {
    for (const { key, value } of settingsFrom(changes)) putSetting(key, value)
    for (const row of changes.collections ?? [])
      putCollection({ ...row, free: writeSpans(row.free), fresh: writeSpans(row.fresh) })
    for (const row of changes.newGrants ?? []) addGrant(row)
    for (const { id, high, issued, rotation, checkIn, heardAt } of changes.grants ?? [])
      putGrant(high, issued, rotation, checkIn, heardAt, id)
    for (const id of changes.prunedGrants ?? []) removeGrant(id)
    for (const row of changes.newUnheard ?? []) addUnheard(row)
    for (const { id, rotation, checkIn } of changes.unheard ?? []) putUnheard(rotation, checkIn, id)
    for (const row of changes.returns ?? []) addReturn(row)
    for (const row of changes.identities ?? []) putIdentity(row)
    for (const row of changes.identityClaims ?? []) addIdentityClaim(row)
    for (const row of changes.series ?? []) putSeries(row)
  }
}

function inserter<Row extends object>(
  db: Sqlite,
  table: string,
  columns: Columns<Row>,
  onConflict = '',
): (row: Row) => void {
  const names = Object.keys(columns) as (keyof Row)[]
  const values = names.map(() => '?').join(', ')
  const run = runner(
    db,
    `INSERT INTO ${table} (${columnNames(columns)}) VALUES (${values}) ${onConflict}`,
  )
  return (row) => run(...names.map((name) => row[name]))
}
