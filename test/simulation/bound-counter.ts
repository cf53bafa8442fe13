/**
 * The words `bound` and `row`: the numbers of each collection come from the counter of a back end.
 * It takes blocks from it, too, without asking the ledger; or it makes a row with an id inside of a
 * block that the ledger has. The ledger's rules are the real ones. In place of an ORM's tables in
 * PostgreSQL there are numbers in memory.
 */
import { EVERY_COLLECTION, keyText } from '../../server/src/ledger/collections.js'
import type { CounterAnswer, CounterAsk } from '../../server/src/ledger/counter-port.js'
import { createLedger } from '../../server/src/ledger/create-ledger.js'
import type { CollectionKey, Ledger } from '../../server/src/ledger/ledger.js'
import type { Span } from '../../server/src/ledger/number-line.js'
import { LIMITS, MemoryStorage } from './ledger-storage.js'
import { OwnServer } from './own-servers.js'
import { isOneLedger } from './profile.js'
import type { Random } from './random.js'
import type { Simulation } from './simulation.js'
import type { Word } from './words.js'

const BLOCK = 32
const MOST_BLOCKS = 4
const BACK_END = 'the back end'

const BOUND = new Map([
  [
    EVERY_COLLECTION,
    { database: '', collection: '', authority: 'counter', description: 'a back end' } as const,
  ],
])

export class BoundStorage extends MemoryStorage {
  /** By collection: the last id that was taken, always the end of a block. */
  readonly #taken = new Map<string, number>()
  /** By collection: ids of rows that the back end made inside of the ledger's blocks. */
  readonly #rows = new Map<string, number[]>()

  constructor() {
    super()
    const { change } = this.store
    const asking: typeof change = ({ ask, step, ...transaction }) =>
      change({
        ...transaction,
        step: (rows) => step(rows, ask ? this.#answer(ask(rows)) : new Map()),
      })
    Object.assign(this.store, { change: asking })
  }

  override async open(): Promise<Ledger> {
    return createLedger(this.store, LIMITS, BOUND)
  }

  /** Takes blocks above `above`. */
  take(key: CollectionKey, blocks: number, above = 0): [low: number, high: number] {
    const last = Math.max(this.#taken.get(keyText(key)) ?? 0, Math.ceil(above / BLOCK) * BLOCK)
    this.#taken.set(keyText(key), last + blocks * BLOCK)
    return [last + 1, last + blocks * BLOCK]
  }

  /** The numbers that the ledger has, that it granted to nobody, and that no row has. */
  inStock(key: CollectionKey): number[] {
    const row = this.store.copy().collections.get(keyText(key))
    const rows = this.#rows.get(keyText(key)) ?? []
    return [...(row?.free ?? []), ...(row?.fresh ?? [])]
      .flatMap(([low, high]) => Array.from({ length: high - low + 1 }, (_, i) => low + i))
      .filter((id) => !rows.includes(id))
  }

  makeRow(key: CollectionKey, id: number): void {
    this.#rows.set(keyText(key), [...(this.#rows.get(keyText(key)) ?? []), id])
  }

  #answer(asks: readonly CounterAsk[]): Map<string, CounterAnswer> {
    return new Map(
      asks.map(({ raiseTo = 0, above, stock, missing, ...key }) => {
        const used = (this.#rows.get(keyText(key)) ?? [])
          .filter((id) => stock.some(([low, high]) => low <= id && id <= high))
          .map((id): Span => [id, id])
        const blocks = Math.ceil(missing(used) / BLOCK)
        const span = this.take(key, blocks, Math.max(raiseTo, above))
        return [keyText(key), { fresh: blocks > 0 ? [span] : [], used, isAtEnd: false }]
      }),
    )
  }
}

interface Counter extends CollectionKey {
  simulation: Simulation
  storage: BoundStorage
  random: Random
  /** The back end makes an id of each. */
  issue(numbers: Span): void
}

/** @param says of the step. @param act the step of the back end on the counter of a collection */
const backEndWord = (says: string, act: (counter: Counter) => void): Word => ({
  fits: isOneLedger,
  world: () => ({ counts: 'a back end' }),
  happens(simulation, { node }, random) {
    const { servers, scheduler, networkActor, checker, profile, database } = simulation
    const server = servers.get(node)
    const collection = random.pick(profile.collections)
    if (!(server instanceof OwnServer) || !(server.storage instanceof BoundStorage)) return
    const { storage } = server
    const issue = ([low, high]: Span) => {
      checker.granted(`${collection}-${node}`, BACK_END, low, high)
      for (let n = low; n <= high; n++) checker.issued(`${collection}-${node}`, BACK_END, n)
    }
    scheduler.post(networkActor, 0, `the back end ${says} of ${collection}`, () =>
      act({ simulation, storage, random, database, collection, issue }),
    )
  },
})

export const bound = backEndWord('takes blocks', ({ simulation, storage, random, ...counter }) => {
  simulation.hit('a back end took numbers')
  counter.issue(storage.take(counter, random.between(1, MOST_BLOCKS)))
})

export const row = backEndWord('makes a row', ({ simulation, storage, random, ...counter }) => {
  const stock = storage.inStock(counter)
  if (stock.length === 0) return
  simulation.hit('a back end made a row in a block of the ledger')
  const id = random.pick(stock)
  storage.makeRow(counter, id)
  counter.issue([id, id])
})
