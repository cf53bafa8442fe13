/**
 * A back end whose counter the ledger takes blocks from. It takes blocks from it, too, without
 * asking the ledger, and it may make a row with an id inside of a block that the ledger has. In
 * place of its tables there are numbers in memory.
 */
import { keyText } from '../../server/src/ledger/collections.js'
import type { CollectionKey } from '../../server/src/ledger/ledger.js'
import type { Span } from '../../server/src/ledger/number-line.js'
import { MemoryStorage } from './ledger-storage.js'
import { OwnServer } from './own-servers.js'
import { isOneLedger, type Profile } from './profile.js'
import type { Random } from './random.js'
import type { Simulation } from './simulation.js'
import type { Word } from './words.js'

export const BLOCK = 32
const MOST_BLOCKS = 4
const BACK_END = 'the back end'

/** A ledger in memory whose numbers come from the counter of a back end. */
export abstract class BackEndStorage extends MemoryStorage {
  /** By collection: the last id that was taken, always the end of a block. */
  readonly #taken = new Map<string, number>()
  /** By collection: ids of rows that the back end made inside of the ledger's blocks. */
  readonly #rows = new Map<string, number[]>()

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

  rowsIn(key: CollectionKey, spans: readonly Span[]): number[] {
    const isIn = (id: number) => spans.some(([low, high]) => low <= id && id <= high)
    return (this.#rows.get(keyText(key)) ?? []).filter(isIn)
  }
}

export interface Counter extends CollectionKey {
  simulation: Simulation
  storage: BackEndStorage
  random: Random
  /** The back end makes an id of each. */
  issue(numbers: Span): void
}

/** @param says of the step. @param act the step of the back end on the counter of a collection */
export const backEndWord = (
  counts: Profile['counts'],
  says: string,
  act: (counter: Counter) => void,
): Word => ({
  fits: isOneLedger,
  world: () => ({ counts }),
  happens(simulation, { node }, random) {
    const { servers, scheduler, networkActor, checker, profile, database } = simulation
    const server = servers.get(node)
    const collection = random.pick(profile.collections)
    if (!(server instanceof OwnServer) || !(server.storage instanceof BackEndStorage)) return
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

export function takesBlocks({ simulation, storage, random, issue, ...key }: Counter): void {
  simulation.hit('a back end took numbers')
  issue(storage.take(key, random.between(1, MOST_BLOCKS)))
}

export function makesRow({ simulation, storage, random, issue, ...key }: Counter): void {
  const stock = storage.inStock(key)
  if (stock.length === 0) return
  simulation.hit('a back end made a row in a block of the ledger')
  const id = random.pick(stock)
  storage.makeRow(key, id)
  issue([id, id])
}
