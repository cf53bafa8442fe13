/**
 * What holds of every change of rows, whichever rule made it. Guarantees that a change which could
 * let a number out twice is a failure of the program, and that nothing of it is saved.
 */
import { identityText, keyText } from './collections.js'
import type { Span } from './number-line.js'
import type { RowChanges, Rows } from './row-store.js'
import { type CollectionRow, freeOf, type GrantRow } from './rows.js'

/** @throws Error */
export function requireSound(
  rows: Pick<Rows, 'collections' | 'grants' | 'identities'>,
  { collections = [], newGrants = [], grants = [], identities = [] }: RowChanges,
): void {
  const changed = new Map(collections.map((row) => [keyText(row), row]))
  for (const [key, row] of changed)
    requireRising(rows.collections.get(key), row, [
      'highWater',
      'floor',
      'forgotten',
      'serial',
      'version',
    ])
  for (const row of identities)
    requireRising(rows.identities.get(identityText(row)), row, ['highWater'])
  for (const grant of newGrants) {
    const row = changed.get(keyText(grant))
    if (!row || grant.high > row.highWater || grant.serial > row.serial)
      throw unsound('A grant would be beyond its counter', grant)
    requireHeld(row, grant)
  }
  for (const grant of grants) {
    const before = rows.grants.get(grant.id)
    requireRising(before, grant, ['issued', 'tokenVersion'])
    if (before && grant.high > before.high) throw unsound('A grant would grow', grant)
    requireHeld(changed.get(keyText(grant)), grant)
  }
}

/** @param before undefined: the row is new, or was not asked for */
function requireRising<Row extends object>(
  before: Row | undefined,
  row: Row,
  fields: readonly (keyof Row)[],
): void {
  const fallen = before && fields.find((field) => row[field] < before[field])
  if (fallen) throw unsound(`${String(fallen)} would go down`, row)
}

/** @param row of the grant's collection. Undefined: it does not change */
function requireHeld(row: CollectionRow | undefined, { low, high, ...grant }: GrantRow): void {
  const isHeld = ([from, to, node = grant.serverTag]: Span) =>
    Math.max(from, low) <= Math.min(to, high) && node === grant.serverTag
  if (row && freeOf(row).some(isHeld))
    throw unsound('A number would be free that a grant holds', { low, high, ...grant })
}

const unsound = (what: string, row: object): Error =>
  new Error(`${what}. Nothing was saved. This is a mistake in offline-hilo: ${JSON.stringify(row)}`)
