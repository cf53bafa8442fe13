/**
 * Which ledger gives a device its series (H34). Letters have no server tag, so two ledgers that
 * answer at one address give the same ones. When a device hears a second name, its series ends, and
 * no other one begins. It goes on when the app starts over, or when the second ledger says that it
 * follows the first one, above all letters of this device. Pure.
 */
import type { HeardLedger } from '../../core/errors.js'
import { isNamed } from '../../core/ledger-names.js'
import { toPlace } from '../../core/series-letters.js'
import type { NumberRow } from '../../device/series-store.js'
import { ended } from './answers.js'
import type { SeriesLedgers, SeriesState } from './state.js'

/** Another ledger has answered: the device has stopped, or goes on with that one. */
export interface LedgerChange extends SeriesLedgers {
  isStopped: boolean
}

/**
 * @param unheard the numbers of which the server had not heard
 * @param heard `follows`: the name that the request has shown, where the answer refuses it
 * @param since the device's clock
 * @returns also those numbers that nobody will see, because the series has ended
 */
export function hear(
  state: SeriesState,
  unheard: readonly NumberRow[],
  { name, follows, above = -1 }: Omit<HeardLedger, 'tag'>,
  since: string,
): { state: SeriesState; rows: NumberRow[]; change?: LedgerChange } {
  const { ledger: before, former = [] } = state
  // A refusal names the ledger that answers now. Other answers may come late.
  const isLate = follows === undefined ? former.includes(name!) : follows !== before
  if (!name || before === undefined || isNamed(before, name) || isLate) return { state, rows: [] }
  const two = { before, after: name, since }
  const why = `another ledger answers: ${name}`
  const { state: over, rows } = ended(state, unheard, { kind: 'other-ledger', ...two }, why)
  const { stopped, claim: _, ...kept } = over
  // guard: H34 who follows gives letters above all of this device
  if (above >= highest(state))
    return {
      state: { ...kept, ledger: name, former: [...former, before] },
      rows,
      change: { ...two, isStopped: false },
    }
  // guard: H34 a second name ends the series, and none begins
  return stopped
    ? { state, rows: [] }
    : { state: { ...kept, stopped: two }, rows, change: { ...two, isStopped: true } }
}

/** The next series is of whichever ledger answers then. */
export function startOver(state: SeriesState): SeriesState {
  const { stopped, ledger: _, former = [], ...kept } = state
  return stopped ? { ...kept, former: [...former, stopped.before, stopped.after] } : state
}

/** The number of the highest letter that this device has or had. */
const highest = ({ current, ended }: SeriesState): number =>
  Math.max(0, ...[...ended, ...(current ? [current] : [])].map(({ letter }) => toPlace(letter)))
