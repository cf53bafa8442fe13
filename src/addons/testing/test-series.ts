/**
 * Series of consecutive numbers for the app's own tests, in memory: a device of its own with a
 * server of its own. The numbers are made by the functions that the real ones use.
 */
import { toLetter } from '../../core/series-letters.js'
import type { SeriesRequest } from '../../core/wire.js'
import type { Link, SeriesStore, SeriesTransaction } from '../../device/series-store.js'
import { withCheckIn, withCheckInAnswer } from '../consecutive/answers.js'
import { recorded } from '../consecutive/register.js'
import type { SeriesServer } from '../consecutive/server.js'
import { readState } from '../consecutive/state.js'
import { NOTHING_STORED, wholeTransaction } from '../consecutive/whole.js'

/** The name of its ledger. */
const LEDGER = 'test'

/** Shared by all series of a device. */
export interface TestDevice {
  /** Of the chain that goes over all collections. */
  links: Link[]
  /** One transaction runs after another. */
  last: Promise<unknown>
}

export class TestSeries implements SeriesStore, SeriesServer {
  #stored = NOTHING_STORED
  #given = 0
  readonly #device: TestDevice

  constructor(device: TestDevice) {
    this.#device = device
  }

  transact<T>(_: unknown, work: (tx: SeriesTransaction) => Promise<T>): Promise<T> {
    const turn = this.#device.last.then(async () => {
      const { state, numbers, links, entries } = this.#stored
      const all = [...this.#device.links, ...links]
      const stored = { state, numbers: [...numbers], links: all, entries: [...entries] }
      const result = await work(wholeTransaction(stored))
      this.#stored = { ...stored, links: all.filter(({ chain }) => chain !== '') }
      this.#device.links = all.filter(({ chain }) => chain === '')
      return result
    })
    this.#device.last = turn.catch(() => {})
    return turn
  }

  close(): void {}

  async begin({ series = toLetter(++this.#given) }: SeriesRequest) {
    return { series, token: 'test', ledger: LEDGER }
  }

  async checkIn() {
    return { token: 'test', ledger: LEDGER }
  }

  /** This device turns out to be a copy. @returns whether it had a series, which has ended */
  fork(): boolean {
    const step = async (tx: SeriesTransaction) => {
      const state = readState(await tx.state())
      const { letter = '', heard = 0 } = state.current ?? {}
      const unheard = await tx.numbersAfter(letter, heard)
      const named = withCheckIn(state, unheard, 'fork')
      if (!named.result) return
      const answer = { superseded: true, last: named.result.last } as const
      const ended = withCheckInAnswer(named.state, unheard, named.result.id, answer)
      ended.rows.forEach(tx.saveNumber)
      tx.saveState(ended.state)
    }
    void this.transact('readwrite', (tx) => recorded(tx, step))
    return this.#stored.state.current !== undefined
  }
}
