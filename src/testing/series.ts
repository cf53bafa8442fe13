/**
 * Series of consecutive numbers for the app's own tests, in memory: a device of its own with a
 * server of its own. Each step is done at once, by the functions that the real ones use.
 */
import type { Link, Sealed } from '../consecutive/links.js'
import {
  heldSeries,
  type SeriesStore,
  type Step,
  type StoredSeries,
  type Taken,
} from '../consecutive/numbers.js'
import type { Make, NumberRow } from '../consecutive/rows.js'
import type { SeriesServer } from '../consecutive/server.js'
import { type SeriesState, withCheckIn, withFate } from '../consecutive/state.js'
import {
  changeUntoldIn,
  NOTHING_STORED,
  recordIn,
  settleIn,
  takeIn,
  type WholeStep,
} from '../consecutive/whole.js'
import type { SeriesRequest } from '../core/wire.js'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** As the real server: A to Z, then AA, AB and so on. No series gets the letter of another one. */
const letterOf = (index: number): string =>
  (index < LETTERS.length ? '' : letterOf(Math.floor(index / LETTERS.length) - 1)) +
  LETTERS[index % LETTERS.length]

export class TestSeries implements SeriesStore, SeriesServer {
  #stored = NOTHING_STORED
  #given = 0

  async take(make: Make): Promise<Taken | undefined> {
    for (let link: Link | undefined; ; ) {
      const taken = this.#step(takeIn(this.#stored, make, link))
      if (!taken || !('draft' in taken)) return taken
      link = await make.sealed!.sealing.linkOf(taken.draft)
    }
  }

  async record(key: string, sealed: Sealed): Promise<Link | undefined> {
    for (let link: Link | undefined; ; ) {
      const made = this.#step(recordIn(this.#stored, key, sealed, link))
      if (!made || !('draft' in made)) return made
      link = await sealed.sealing.linkOf(made.draft)
    }
  }

  async settle(key: string, change: (row: NumberRow) => NumberRow): Promise<void> {
    this.#step(settleIn(this.#stored, key, change))
  }

  async change<T>(step: (state: SeriesState) => Step<T>): Promise<T> {
    const { state, result } = step(this.#stored.state)
    return this.#step({ stored: { ...this.#stored, state }, result })
  }

  async changeUntold<T>(
    step: (state: SeriesState, untold: readonly NumberRow[]) => Step<T> & { rows: NumberRow[] },
  ): Promise<T> {
    return this.#step(changeUntoldIn(this.#stored, step))
  }

  async current() {
    const { state, numbers } = this.#stored
    return heldSeries(
      state,
      numbers.findLast(({ letter }) => letter === state.current?.letter),
    )
  }

  async open(): Promise<NumberRow[]> {
    return this.#stored.numbers.filter(({ open }) => open)
  }

  async all(): Promise<StoredSeries> {
    return this.#stored
  }

  close(): void {}

  async begin({ series = letterOf(this.#given++) }: SeriesRequest) {
    return { series, token: 'test' }
  }

  async checkIn() {
    return { token: 'test' }
  }

  /** This device turns out to be a copy. @returns whether it had a series, which has ended */
  fork(): boolean {
    return this.#step(
      changeUntoldIn(this.#stored, (state, untold) => {
        const { result } = withCheckIn(state, untold, 'fork')
        if (!result) return { state, rows: [], result: false }
        const named = withCheckIn(state, untold, 'fork').state
        const answer = { superseded: true, last: result.last } as const
        return { ...withFate(named, untold, result.id, answer), result: true }
      }),
    )
  }

  #step<T>({ stored, result }: WholeStep<T>): T {
    this.#stored = stored
    return result
  }
}
