/**
 * Series of consecutive numbers for the app's own tests, in memory: a device of its own with a
 * server of its own. Each step is done at once, by the functions that the real ones use.
 */
import {
  heldSeries,
  type SeriesStore,
  type Step,
  type Taken,
  takenBefore,
} from '../consecutive/numbers.js'
import { handedOut, type Make, type NumberRow, newNumber, noNumber } from '../consecutive/rows.js'
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

  async take(make: Make): Promise<Taken | undefined> {
    const { key, checkIn, period } = make
    const known = this.#find(key)
    const { current } = this.#state
    if (known) {
      const before = takenBefore(known, this.#state)
      if (before.isOut || checkIn !== undefined) return before
      const row = handedOut(known)
      this.#put([row])
      return { ...before, row, isOut: true }
    }
    if (!current) return undefined
    const { letter } = current
    const rows = this.#numbers.filter((row) => row.letter === letter)
    const before = { letter, isFirst: this.#state.ended.length === 0, last: rows.at(-1) }
    const ofPeriod = rows.findLast((row) => row.period === period)
    const row = newNumber({ ...before, ofPeriod }, make)
    this.#numbers = [...this.#numbers, row]
    return { row, begun: current.begun, isOut: checkIn === undefined, heard: false }
  }

  async settle(key: string, change: (row: NumberRow) => NumberRow): Promise<void> {
    const known = this.#find(key)
    if (!known) throw noNumber(key)
    this.#put([change(known)])
  }

  async change<T>(step: (state: SeriesState) => Step<T>): Promise<T> {
    const { state, result } = step(this.#state)
    this.#state = state
    return result
  }

  async changeUntold<T>(
    step: (state: SeriesState, untold: readonly NumberRow[]) => Step<T> & { rows: NumberRow[] },
  ): Promise<T> {
    const { state, rows, result } = step(this.#state, this.#untold())
    this.#state = state
    this.#put(rows)
    return result
  }

  async current() {
    const { current } = this.#state
    const last = this.#numbers.findLast(({ letter }) => letter === current?.letter)
    return heldSeries(this.#state, last)
  }

  async open(): Promise<NumberRow[]> {
    return this.#numbers.filter(({ open }) => open)
  }

  async all(): Promise<{ state: SeriesState; numbers: NumberRow[] }> {
    return { state: this.#state, numbers: [...this.#numbers] }
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
    const { state, result } = withCheckIn(this.#state, this.#untold(), 'fork')
    if (!result) return false
    const answer = { superseded: true, last: result.last } as const
    const fate = withFate(state, this.#untold(), result.id, answer)
    this.#state = fate.state
    this.#put(fate.rows)
    return true
  }

  #untold(): NumberRow[] {
    const { letter, told } = this.#state.current ?? { letter: '', told: 0 }
    return this.#numbers.filter((row) => row.letter === letter && row.place > told)
  }

  /** In the place of what was stored of these numbers. */
  #put(rows: readonly NumberRow[]): void {
    const isSame = (a: NumberRow, b: NumberRow) => a.letter === b.letter && a.place === b.place
    this.#numbers = this.#numbers.map((old) => rows.find((row) => isSame(row, old)) ?? old)
  }

  #find(key: string): NumberRow | undefined {
    return this.#numbers.find((row) => row.key === key)
  }
}
