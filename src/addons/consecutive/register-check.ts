/** Compares the register with all that is stored, and finds each entry that was changed. */
import type { Entry, Link, NumberRow } from '../../device/series-store.js'
import type { StoredSeries } from './numbers.js'
import { hashOf, nameOf } from './register.js'
import { canonical, sha256 } from './sha256.js'

/**
 * A record or an entry that does not fit, and why:
 *
 * - `missing`: it has gone, or its number has, or was made without the chain.
 * - `hash`: the stored text has another hash.
 * - `previous`: it does not hold the hash of the record before.
 * - `text`: the stored record makes another text now.
 * - `known`: a link that was kept elsewhere is another one.
 * - `changed`: the register has another `field` than the stored record.
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

/** The numbers as the register tells of them. */
function numbersIn(entries: readonly Entry[]): Map<string, NumberRow & { entry: number }> {
  const rows = new Map<string, NumberRow & { entry: number }>()
  for (const { place, what, at, series, made, previous, hash, ...of } of entries) {
    const name = nameOf({ letter: series!, place: made! })
    const row = rows.get(name)
    if (what === 'taken')
      rows.set(name, {
        ...(of as unknown as NumberRow),
        letter: series!,
        place: made!,
        takenAt: at,
        state: 'open',
        open: 1,
        entry: place,
      })
    else if (what === 'closed' && row) {
      const { reopened, ...kept } = row
      rows.set(name, { ...kept, closing: of.closing!, entry: place })
    } else if (what === 'reopened' && row) {
      const { closing, ...kept } = row
      rows.set(name, { ...kept, reopened: of.reopened!, entry: place })
    } else if (what === 'late' && row) rows.set(name, { ...row, heard: false, entry: place })
    else if (what === 'settled' && row) {
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
    broken.push({
      chain: REGISTER,
      at,
      ...(id !== undefined && { id }),
      why,
      ...(field !== undefined && { field }),
    })
  let before: Entry | undefined
  for (const entry of entries) {
    const expected = (before?.place ?? 0) + 1
    const { place, id, previous, hash } = entry
    if (place !== expected) name(expected, 'missing')
    else if (previous !== (before?.hash ?? '')) name(place, 'previous', id)
    if (hashOf(entry) !== hash) name(place, 'hash', id)
    before = entry
  }
  const { place = 0, hash } = state.tail ?? {}
  if (place > (before?.place ?? 0)) name((before?.place ?? 0) + 1, 'missing')
  else if (place < (before?.place ?? 0) || hash !== before?.hash) name(place, 'hash')
  compareNumbers(numbers, numbersIn(entries), name)
  compareLinks(links, entries, name)
  const ends = entries.flatMap(({ what, end }) => (what === 'ended' ? end! : []))
  if (canonical(ends) !== canonical(state.ended.map(({ reason }) => reason)))
    name(place, 'changed', undefined, 'ended')
  const { letter, empty = {} } = state.current ?? {}
  const recorded = entries.filter(
    ({ what, series, made }) =>
      series === letter && made === undefined && /closed|reopened/.test(what),
  )
  const expected = Object.fromEntries(
    recorded.map(({ period, closing, reopened }) => [
      period,
      { ...(closing && { closing }), ...(reopened && { reopened }) },
    ]),
  )
  if (canonical(empty) !== canonical(expected)) name(place, 'changed', undefined, 'closing')
  return broken
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
  const stored = new Map(links.map((link) => [canonical([link.chain, link.at]), link]))
  for (const { place, id, link, rule, content } of entries) {
    if (!link) continue
    const is = stored.get(canonical([link.chain, link.at]))
    // One that has gone is named by the check of its chain.
    if (!is) continue
    const hash = is.content === undefined ? undefined : sha256(canonical(is.content))
    const fields = { hash: [is.hash, link.hash], rule: [is.rule, rule], content: [hash, content] }
    for (const [field, [a, b]] of Object.entries(fields))
      if (a !== b) name(place, 'changed', id, field)
  }
}
