/**
 * The register of a device: the events of its numbers, in order, each entry with the hash of the
 * one before. Guarantees that no number and no series is written without an entry: it looks at each
 * write of a transaction, so no caller can leave one out.
 */
import type { Entry, Link, NumberRow, SeriesTransaction } from '../../device/series-store.js'
import { present } from './present.js'
import { endOf, isAlike, type PeriodEnd } from './rows.js'
import { canonical, sha256 } from './sha256.js'
import { damaged, readState, type SeriesState } from './state.js'

/** An entry before it has its place and its hash. */
type Draft = Omit<Entry, 'place' | 'previous' | 'hash'>

/** A number, wherever it is stored. */
export const nameOf = ({ letter, place }: Pick<NumberRow, 'letter' | 'place'>): string =>
  `${letter} ${place}`

/** Of all that the entry says, and of the hash before. */
export const hashOf = ({ hash: _, ...entry }: Omit<Entry, 'hash'> & { hash?: string }): string =>
  sha256(canonical(entry))

/** Of all that is stored of a record. */
export const sealOf = (link: Link): string => sha256(canonical(link))

/** Of all that is stored of the series. */
export const sealOfState = ({ seal: _, ...state }: SeriesState): string => sha256(canonical(state))

/** One transaction, with the entries of all that it writes. */
export async function recorded<T>(
  tx: SeriesTransaction,
  work: (tx: SeriesTransaction) => Promise<T>,
): Promise<T> {
  const drafts: Draft[] = []
  const known = new Map<string, NumberRow>()
  let before: Promise<unknown> | undefined
  let saved: object | undefined
  const state = () => {
    before ??= stateIn(tx)
    return before
  }
  const see = <Row extends NumberRow | undefined>(row: Row): Row => {
    if (row) known.set(nameOf(row), row)
    return row
  }
  const result = await work({
    ...tx,
    state,
    numberOf: async (key) => see(await tx.numberOf(key)),
    numbersAfter: async (...of) => (await tx.numbersAfter(...of)).map(see),
    openNumbers: async () => (await tx.openNumbers()).map(see),
    addNumber(row) {
      tx.addNumber(row)
      drafts.push(taken(row))
    },
    saveNumber(row) {
      tx.saveNumber(row)
      drafts.push(...changed(known.get(nameOf(row)), row))
    },
    addLink(link) {
      tx.addLink(link)
      // That of a number is added after it.
      if (link.id === undefined) drafts.push(linked(link))
      else Object.assign(drafts.at(-1)!, { sealed: sealOf(link) })
    },
    saveState(next) {
      saved = next
    },
  })
  if (!saved && drafts.length === 0) return result
  const stored = await state()
  const old = readState(stored)
  const isSound = stored === undefined || old.seal === sealOfState(old)
  const next = (saved as SeriesState | undefined) ?? old
  let { tail } = old
  // guard: H40 what is written has an entry, in the same transaction
  for (const draft of [...drafts, ...ofState(old, next)]) {
    const place = (tail?.place ?? 0) + 1
    const entry = { ...draft, place, previous: tail?.hash ?? '' }
    const hash = hashOf(entry)
    tx.addEntry({ ...entry, hash })
    tail = { place, hash }
  }
  const sealed = { ...next, ...(tail && { tail }) }
  // guard: H40 what somebody changed in the state is still named after the next number
  tx.saveState({ ...sealed, seal: isSound ? sealOfState(sealed) : '' })
  return result
}

async function stateIn(tx: SeriesTransaction): Promise<unknown> {
  const stored = await tx.state()
  // guard: H40 a series whose state has gone does not begin a second time
  if (stored === undefined && (await tx.entries(0, 1)).length > 0)
    throw damaged('have lost their state: somebody deleted it, and left the numbers')
  return stored
}

const now = (): string => new Date().toISOString()

const taken = ({ letter, place, takenAt, state, open, page, ...row }: NumberRow): Draft => ({
  what: 'taken',
  at: takenAt,
  series: letter,
  made: place,
  ...row,
})

function changed(before: NumberRow | undefined, row: NumberRow): Draft[] {
  const { letter: series, place: made, id, key, state, reason, by, ref, settledAt } = row
  const of = { series, made, id, ...present({ key }) }
  const isLate = row.heard === false && before?.heard !== false
  return [
    ...closed(before, row, { series, made, id, period: row.period }),
    ...(isLate ? [{ what: 'late' as const, at: now(), ...of }] : []),
    ...(before && isAlike(before, row)
      ? []
      : [
          {
            what: 'settled' as const,
            at: settledAt ?? now(),
            ...of,
            state,
            ...present({ reason, by, ref }),
          },
        ]),
  ]
}

/** The entries of a period that was closed or reopened. */
function closed(
  before: PeriodEnd | undefined,
  { closing, reopened }: PeriodEnd,
  of: Partial<Draft>,
): Draft[] {
  if (canonical(before?.closing) === canonical(closing)) return []
  const done = closing ? { closing } : present({ reopened })
  return [{ what: closing ? 'closed' : 'reopened', at: now(), ...of, ...done }]
}

const linked = (link: Link): Draft => {
  const { chain, at, hash, key, kind } = link
  const of = { kind, link: { chain, at, hash }, sealed: sealOf(link) }
  return { what: 'record', at: now(), ...present({ key }), ...of }
}

/** The entries of changes of the series. */
function ofState(old: SeriesState, { ended, current, ledger }: SeriesState): Draft[] {
  const over = ended.slice(old.ended.length).map(({ letter, reason }): Draft => {
    return { what: 'ended', at: now(), series: letter, end: reason }
  })
  if (!current) return over
  const { letter: series, begun, after, ranges, empty = {} } = current
  if (begun !== old.current?.begun)
    return [...over, { what: 'begun', at: now(), series, ...present({ ledger, after, ranges }) }]
  const periods = Object.entries(empty).flatMap(([period, each]) =>
    closed(endOf(old.current!, period), each, { series, period }),
  )
  const isSame = canonical(ranges) === canonical(old.current?.ranges)
  const given: Draft[] = isSame ? [] : [{ what: 'ranges', at: now(), series, ranges: ranges ?? [] }]
  return [...over, ...periods, ...given]
}
