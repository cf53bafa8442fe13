/**
 * Closes a period, and opens it again. A page loads this file on demand: no number needs it.
 * Guarantees that no number of a period is made after its closing was counted.
 */
import { MAX_PERIOD_BYTES, MAX_REASON_BYTES } from '../../core/wire.js'
import type { Closing } from '../../device/series-store.js'
import { checkLine, checkName, checkText, must } from './checks.js'
import { isWritten } from './moment.js'
import type { ClosePeriodOptions, ConsecutiveOptions } from './options.js'
import { present } from './present.js'
import { endOf } from './rows.js'
import { readState } from './state.js'
import type { SeriesStorage } from './storage.js'

/**
 * @param kind of the series' periods @returns the record of the closing. Undefined: it is open
 * @throws HiloError `invalid-argument`
 */
export function closePeriod(
  storage: SeriesStorage,
  kind: ConsecutiveOptions['period'],
  period: string,
  asked: ClosePeriodOptions,
): Promise<Closing | undefined> {
  const { sums, reopen = false } = asked
  // guard: H28 the server can read what a check-in tells of closed periods
  checkLine('a period', period, MAX_PERIOD_BYTES)
  must(typeof reopen === 'boolean', 'reopen is true or false', reopen)
  must(!reopen || sums === undefined, 'sums are of a closing, not of `reopen`', sums)
  must(reopen || asked.reason === undefined, 'a reason is for `reopen`', asked.reason)
  const by = checkName('`by`', asked.by)
  const reopened = reopen
    ? { reason: checkText('a reason', asked.reason, MAX_REASON_BYTES), ...present({ by }) }
    : undefined
  const of = present({ sums, by })
  return storage.write(async (tx) => {
    const state = readState(await tx.state())
    const { current } = state
    const all = current ? await tx.numbersAfter(current.letter, 0) : []
    const rows = all.filter((row) => row.period === period && !row.range)
    const last = rows.at(-1)
    const isPeriod = last !== undefined || isWritten(period, kind)
    must(current !== undefined && isPeriod, 'this is a period of the series that goes on', period)
    const { closing: known } = endOf(current, period, last)
    if (!known === reopen) return known
    const open = rows.filter(({ state }) => state === 'open').length
    const ends = last && { first: rows[0]!.id, last: last.id }
    const closing = reopen ? undefined : { count: rows.length, ...ends, open, ...of }
    const done = present({ closing, reopened })
    const others = (current.closings ?? []).filter((each) => each.period !== period)
    const next = { ...current, closings: [...others, { period, closed: !reopen }] }
    if (last) {
      const { closing: _, reopened: __, ...row } = last
      tx.saveNumber({ ...row, ...done })
      const closedAt = all.at(-1)!.place
      tx.saveState({ ...state, current: closing ? { ...next, closedAt } : next })
    } else {
      const empty = { ...current.empty, [period]: done }
      tx.saveState({ ...state, current: { ...next, empty } })
    }
    return closing
  })
}
