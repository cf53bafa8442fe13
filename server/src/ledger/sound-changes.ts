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
    const key = keyText(grant)
    const row = changed.get(key)
    const isCounted = grant.clearTo === undefined
    if (!row || grant.serial > row.serial || (isCounted && grant.high > row.max))
      throw unsound('A grant would be beyond its counter', grant)
    requireHeld(rows.collections.get(key), row, grant, isCounted ? 0 : 1)
  }
  for (const grant of grants) {
    const before = rows.grants.get(grant.id)
    requireRising(before, grant, ['issued', 'tokenVersion'])
    if (before && grant.high > before.high) throw unsound('A grant would grow', grant)
    const key = keyText(grant)
    requireHeld(rows.collections.get(key), changed.get(key), grant)
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

/**
 * Somebody may have edited what is free. That is found when it is granted: here it may not become
 * more.
 * @param row of the grant's collection. Undefined: it does not change
 * @param taken ranges that the grant is taken from
 */
function requireHeld(
  before: CollectionRow | undefined,
  row: CollectionRow | undefined,
  grant: GrantRow,
  taken = 0,
): void {
  if (row && freeOfGrant(row, grant) > Math.max(0, freeOfGrant(before, grant) - taken))
    throw unsound('A number would be free that a grant holds', grant)
}

/** How many free ranges have a number of the grant. */
const freeOfGrant = (row: CollectionRow | undefined, { low, high, serverTag }: GrantRow): number =>
  (row ? freeOf(row) : []).filter(
    ([from, to, node = serverTag]: Span) =>
      Math.max(from, low) <= Math.min(to, high) && node === serverTag,
  ).length

const unsound = (what: string, row: object): Error =>
  new Error(`${what}. Nothing was saved. This is a mistake in offline-hilo: ${JSON.stringify(row)}`)
