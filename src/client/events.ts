/**
 * The events of a Hilo. Guarantees that listeners get each change once, however often it is
 * reported.
 */
import type { HiloError } from '../core/errors.js'
import type { Target } from '../device/contract.js'
import type { CollectionStatus, Degraded, HiloStatus, LedgerChange } from './status.js'

/** The `detail` of each event. */
export interface HiloEvents {
  /** Something of the status changed. */
  status: HiloStatus
  /** Less than half of a collection's reserve is left, and no request for more is under way. */
  low: { collection: string; available: number }
  /** A call was refused because no id is left. */
  exhausted: { collection: string; error: HiloError }
  /**
   * In a month a series can still make a tenth of the numbers of its ranges, or less: ask the
   * authority for another range. `left`: how many numbers there are. `lasting`: how many of them
   * can still be made in a month. `validUntil`: their last day.
   */
  ending: { collection: string; series: string; left: number; lasting: number; validUntil?: string }
  /**
   * This device's storage is a copy, and another copy has checked in: its ranges were dropped. Ids
   * that it made before may exist twice: tell somebody who can check them.
   */
  fork: { collection: string }
  /**
   * The server has dropped the collection, so this device has dropped its ranges of it, and claims
   * new ones. No id was made twice. Ids that were made before stay as they are.
   */
  drop: { collection: string }
  /**
   * Another ledger answers than the one that granted this device's ids. With `isStopped` no id is
   * made or claimed, and `numbers` wait: see {@link Hilo.startOver}. Otherwise the device goes on
   * with the new one, and `numbers` were dropped. Of a series of `consecutive`, which has ended:
   * `numbers` is 0.
   */
  ledger: LedgerChange & { collection: string; isStopped: boolean }
  /**
   * Ids go on, and something is missing that an app should have: see {@link HiloStatus.degraded}.
   * On `localhost` the console says why.
   */
  degraded: { reason: Degraded }
  /** A claim failed; ids go on while there are some. */
  error: { collection: string; error: HiloError }
}

/** Their names: a listener of another one would never be called. */
export const EVENTS: readonly (keyof HiloEvents)[] = [
  'status',
  'low',
  'exhausted',
  'ending',
  'fork',
  'drop',
  'ledger',
  'degraded',
  'error',
]

export type HiloListener<K extends keyof HiloEvents> =
  | ((event: CustomEvent<HiloEvents[K]>) => void)
  | { handleEvent(event: CustomEvent<HiloEvents[K]>): void }

/** The Hilo that dispatches, and how it is now. */
interface Subject extends EventTarget {
  status(): HiloStatus
}

export class Events {
  readonly #hilo: Subject
  readonly #last = new Map<object, { isLow: boolean; error: string | undefined }>()

  constructor(hilo: Subject) {
    this.#hilo = hilo
  }

  dispatch<K extends keyof HiloEvents>(type: K, detail: HiloEvents[K]): void {
    this.#hilo.dispatchEvent(new CustomEvent(type, { detail }))
  }

  /** The status of this Hilo may have changed. */
  status(): void {
    const event = new CustomEvent('status')
    let status: HiloStatus | undefined
    // Made when a listener reads it: with many collections it is long, and changes often.
    Object.defineProperty(event, 'detail', { get: () => (status ??= this.#hilo.status()) })
    this.#hilo.dispatchEvent(event)
  }

  /** The status of a collection may have changed. */
  changed(of: { target: Target }, { state, available, lastError }: CollectionStatus): void {
    const isLow = state === 'low'
    const before = this.#last.get(of)
    this.#last.set(of, { isLow, error: lastError?.message })
    const { collection } = of.target
    if (isLow && !before?.isLow) this.dispatch('low', { collection, available })
    if (lastError && before?.error !== lastError.message)
      this.dispatch('error', { collection, error: lastError })
  }
}
