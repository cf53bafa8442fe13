/**
 * Series of consecutive numbers for the app's own tests, in memory: a device of its own with a
 * server of its own. Each step is done at once, by the functions that the real ones use.
 */
import {
  type FormatNumber,
  forgotten,
  type NumberRow,
  newNumber,
  noNumber,
  type SeriesStore,
} from '../consecutive/numbers.js'
import type { SeriesServer } from '../consecutive/server.js'
import { readState, type SeriesState, withCheckIn, withFate } from '../consecutive/state.js'
import type { SeriesRequest } from '../core/wire.js'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** As the real server: A to Z, then AA, AB and so on. No series gets the letter of another one. */
const letterOf = (index: number): string =>
  (index < LETTERS.length ? '' : letterOf(Math.floor(index / LETTERS.length) - 1)) +
  LETTERS[index % LETTERS.length]

export class TestSeries implements SeriesStore, SeriesServer {
  #state = readState(undefined)
  #numbers: readonly NumberRow[] = []
  #given = 0

  async take(key: string, format: FormatNumber): Promise<NumberRow | undefined> {
    const known = this.#find(key)
    const { current } = this.#state
    if (known || !current) return known
    const row = newNumber(current, this.#last() + 1, key, format)
    this.#numbers = [...this.#numbers, row]
    return row
  }

  async settle(
    key: string,
    change: (row: NumberRow) => NumberRow,
    forgetBefore = Number.NEGATIVE_INFINITY,
  ): Promise<void> {
    const known = this.#find(key)
    if (!known) throw noNumber(key)
    const changed = change(known)
    this.#numbers = this.#numbers.map((row) => {
      if (row === known) return changed
      return row.confirmedAt !== undefined && row.confirmedAt <= forgetBefore ? forgotten(row) : row
    })
  }

  async change<T>(
    step: (state: SeriesState, last: number) => { state: SeriesState; result: T },
  ): Promise<T> {
    const { state, result } = step(this.#state, this.#last())
    this.#state = state
    return result
  }

  async current() {
    const { current } = this.#state
    return current && { series: current.letter, last: this.#last(), told: current.told }
  }

  async open(): Promise<NumberRow[]> {
    return this.#numbers.filter(({ open }) => open)
  }

  async all(): Promise<{ state: SeriesState; numbers: NumberRow[] }> {
    return { state: this.#state, numbers: [...this.#numbers] }
  }

  close(): void {}

  async begin(_: SeriesRequest) {
    return { series: letterOf(this.#given++), token: 'test' }
  }

  async checkIn() {
    return { token: 'test' }
  }

  /** This device turns out to be a copy. @returns whether it had a series, which has ended */
  fork(): boolean {
    const last = this.#last()
    const { state, result } = withCheckIn(this.#state, last, 'fork')
    if (!result) return false
    this.#state = withFate(state, last, result.id, { superseded: true, last: result.last })
    return true
  }

  #find(key: string): NumberRow | undefined {
    return this.#numbers.find((row) => row.key === key)
  }

  #last(): number {
    const { current } = this.#state
    return this.#numbers.findLast(({ letter }) => letter === current?.letter)?.number ?? 0
  }
}
