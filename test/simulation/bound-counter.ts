/**
 * The word `bound`: the numbers of each collection come from the counter of a back end, which takes
 * blocks from it, too, without asking the ledger. The ledger's rules are the real ones. In place of
 * an ORM's table in PostgreSQL there is a number in memory.
 */

import { EVERY_COLLECTION, keyText } from '../../server/src/ledger/collections.js'
import type { CounterAnswer, CounterAsk } from '../../server/src/ledger/counter-port.js'
import { createLedger } from '../../server/src/ledger/create-ledger.js'
import type { CollectionKey, Ledger } from '../../server/src/ledger/ledger.js'
import { LIMITS, MemoryStorage } from './ledger-storage.js'
import { OwnServer } from './own-servers.js'
import { isOneLedger } from './profile.js'
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

  #answer(asks: readonly CounterAsk[]): Map<string, CounterAnswer> {
    return new Map(
      asks.map(({ raiseTo = 0, above, missing, ...key }) => {
        const blocks = Math.ceil(missing([]) / BLOCK)
        const span = this.take(key, blocks, Math.max(raiseTo, above))
        return [keyText(key), { fresh: blocks > 0 ? [span] : [], used: [], isAtEnd: false }]
      }),
    )
  }
}

export const bound: Word = {
  fits: isOneLedger,
  world: () => ({ counts: 'a back end' }),
  happens(simulation, { node }, random) {
    const { servers, scheduler, networkActor, checker, profile, database } = simulation
    const server = servers.get(node)
    const tag = random.pick(profile.collections)
    const blocks = random.between(1, MOST_BLOCKS)
    if (!(server instanceof OwnServer) || !(server.storage instanceof BoundStorage)) return
    const { storage } = server
    scheduler.post(networkActor, 0, `the back end takes ${blocks} blocks of ${tag}`, () => {
      simulation.hit('a back end took numbers')
      const [low, high] = storage.take({ database, collection: tag }, blocks)
      checker.granted(`${tag}-${node}`, BACK_END, low, high)
      for (let n = low; n <= high; n++) checker.issued(`${tag}-${node}`, BACK_END, n)
    })
  },
}
