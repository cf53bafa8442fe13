/** Compares the register with all that is stored, and finds each entry that was changed. */
import type { Entry, Link, LinkMark, NumberRange, NumberRow } from '../../device/series-store.js'
import type { StoredSeries } from './numbers.js'
import { present } from './present.js'
import { prefixIn } from './ranges.js'
import { hashOf, nameOf, sealOf, sealOfState } from './register.js'
import { canonical } from './sha256.js'
import type { SeriesState } from './state.js'

/**
 * A record or an entry that does not fit, and why:
 *
 * - `missing`: it has gone, or its number has, or was made without the chain. `at` is 0 where the
 *   register has no entry of a number or a record.
 * - `hash`: the stored text has another hash.
 * - `previous`: it does not hold the hash of the record before.
 * - `text`: the stored record makes another text now.
 * - `known`: a link that was kept elsewhere is another one.
 * - `changed`: the register has another `field` than the stored record. Without an `id` the field
 *   is one of the series, and `state` says that its state is not as it was stored last.
 */
export interface BrokenRecord {
  chain: string
  at: number
  id?: string
  why: 'missing' | 'hash' | 'previous' | 'text' | 'known' | 'changed'
  field?: string
}

/** The name of the register among the chains: no series is called so. */
export const REGISTER = 'register'

/**
 * The numbers as the register tells of them.
 * @param lost is called with a number that had gone when another one was made in its place
 */
function numbersIn(
  entries: readonly Entry[],
  lost: Name,
): Map<string, NumberRow & { entry: number }> {
  const rows = new Map<string, NumberRow & { entry: number }>()
  for (const { place, what, at, series, made, previous, hash, sealed, ...of } of entries) {
    const name = nameOf({ letter: series!, place: made! })
    const row = rows.get(name)
    if (what === 'taken') {
      if (row) lost(row.entry, 'missing', row.id)
      rows.set(name, {
        ...(of as unknown as NumberRow),
        letter: series!,
        place: made!,
        takenAt: at,
        state: 'open',
        open: 1,
        entry: place,
      })
    } else if (!row) continue
    else if (what === 'closed') {
      const { reopened, ...kept } = row
      rows.set(name, { ...kept, closing: of.closing!, entry: place })
    } else if (what === 'reopened') {
      const { closing, ...kept } = row
      rows.set(name, { ...kept, reopened: of.reopened!, entry: place })
    } else if (what === 'late') rows.set(name, { ...row, heard: false, entry: place })
    else if (what === 'settled') {
      const { open, key, reason, by, ref, ...kept } = row
      rows.set(name, { ...kept, ...(of as object), settledAt: at, entry: place })
    }
  }
  return rows
}

/** Everything that does not fit. */
export function brokenIn({ state, numbers, links, entries }: StoredSeries): BrokenRecord[] {
  const broken: BrokenRecord[] = []
  const name = (at: number, why: BrokenRecord['why'], id?: string, field?: string) =>
    broken.push({ chain: REGISTER, at, why, ...present({ id, field }) })
  let before: Entry | undefined
  for (const entry of entries) {
    const expected = (before?.place ?? 0) + 1
    const { place, id, previous, hash } = entry
    if (place !== expected) name(expected, 'missing')
    else if (previous !== (before?.hash ?? '')) name(place, 'previous', id)
    if (hashOf(entry) !== hash) name(place, 'hash', id)
    before = entry
  }
  compareNumbers(numbers, numbersIn(entries, name), name)
  compareLinks(links, entries, name)
  compareState(state, entries, name)
  return broken
}

function compareState(state: SeriesState, entries: readonly Entry[], name: Name): void {
  const { place: last = 0, hash: lastHash } = entries.at(-1) ?? {}
  const { tail, seal } = state
  if (last > 0 && !tail && !state.current && state.ended.length === 0) {
    name(last, 'missing', undefined, 'state')
    return
  }
  const { place = 0, hash } = tail ?? {}
  if (place > last) name(last + 1, 'missing')
  else if (place < last || hash !== lastHash) name(place, 'hash')
  const [told, stored] = [seriesIn(entries), seriesOf(state)]
  const changed = (Object.keys(stored) as (keyof ToldSeries)[]).filter(
    (field) => canonical(told[field]) !== canonical(stored[field]),
  )
  // What no entry tells of: how far the server has heard, and what it has yet to hear.
  const isOther = (last > 0 || seal !== undefined) && seal !== sealOfState(state)
  const fields = changed.length === 0 && isOther ? ['state'] : changed
  for (const field of fields) name(place, 'changed', undefined, field)
}

/** What the state says that the register tells, too. */
interface ToldSeries {
  ended: object[]
  series?: string | undefined
  ledger?: string | undefined
  after?: object | undefined
  ranges?: readonly NumberRange[] | undefined
  highest?: Record<string, number> | undefined
  closedAt?: number | undefined
  /** Of periods without a number. */
  closing?: Record<string, object> | undefined
}

function seriesOf({ current, ended, ledger }: SeriesState): Record<keyof ToldSeries, unknown> {
  const { letter: series, after, ranges, highest, closedAt, empty: closing } = current ?? {}
  return {
    ended: ended.map(({ letter, reason }) => ({ series: letter, end: reason })),
    series,
    ledger: current && ledger,
    ...{ after, ranges, highest, closedAt, closing },
  }
}

/** The series that go on, or have ended, as the register tells of them. */
function seriesIn(entries: readonly Entry[]): ToldSeries {
  const ended: object[] = []
  let now: Omit<ToldSeries, 'ended'> = {}
  let last: Entry | undefined
  for (const entry of entries) {
    const { what, series, made, period = '', closing, reopened } = entry
    if (what === 'begun') {
      const { ledger, after, ranges } = entry
      now = { series, ledger, after, ranges }
      last = undefined
    } else if (what === 'ended') {
      ended.push({ series, end: entry.end })
      now = {}
    } else if (what === 'ranges') now = { ...now, ranges: entry.ranges }
    else if (what === 'taken') {
      const left = prefixIn(last?.period ?? '')
      if (last && left !== prefixIn(period))
        now = { ...now, highest: { ...now.highest, [left]: last.number! } }
      last = entry
    } else if (made === undefined && (closing || reopened)) {
      const done = present({ closing, reopened })
      now = { ...now, closing: { ...now.closing, [period]: done } }
    } else if (what === 'closed') now = { ...now, closedAt: last?.made }
  }
  return { ended, ...now }
}

type Name = (at: number, why: BrokenRecord['why'], id?: string, field?: string) => void

function compareNumbers(
  numbers: readonly NumberRow[],
  recorded: ReturnType<typeof numbersIn>,
  name: Name,
): void {
  const stored = new Map(numbers.map((row) => [nameOf(row), row]))
  for (const [at, { entry, ...expected }] of recorded) {
    const row = stored.get(at)
    if (!row) {
      name(entry, 'missing', expected.id)
      continue
    }
    const { page, ...is } = row
    for (const field of new Set([...Object.keys(expected), ...Object.keys(is)]) as Set<
      keyof typeof is
    >)
      if (canonical(expected[field]) !== canonical(is[field]))
        name(entry, 'changed', expected.id, field === 'letter' ? 'series' : field)
  }
  for (const row of numbers) if (!recorded.has(nameOf(row))) name(0, 'missing', row.id)
}

/** The register's facts about the records of chains, also those that were not hashed. */
function compareLinks(links: readonly Link[], entries: readonly Entry[], name: Name): void {
  const keyOf = ({ chain, at }: LinkMark) => canonical([chain, at])
  const stored = new Map(links.map((link) => [keyOf(link), link]))
  const collections = new Set<string | undefined>([undefined])
  for (const { place, id, link, sealed } of entries) {
    const is = link && stored.get(keyOf(link))
    // One that has gone is named by the check of its chain.
    if (!is) continue
    stored.delete(keyOf(link))
    collections.add(is.collection)
    if (sealOf(is) !== sealed) name(place, 'changed', id, 'record')
  }
  // The chain of the device has records of other collections, whose registers tell of them.
  for (const { id, collection } of stored.values())
    if (collections.has(collection)) name(0, 'missing', id, 'record')
}
