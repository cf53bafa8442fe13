/**
 * The words `bound` and `row`: the numbers of each collection come from the counter that the ORM
 * of a back end uses, too. The back end takes blocks from it, or makes a row inside of a block that
 * the ledger has. The ledger's rules are the real ones.
 */
import { EVERY_COLLECTION, keyText } from '../../server/src/ledger/collections.js'
import type { CounterAnswer, CounterAsk } from '../../server/src/ledger/counter-port.js'
import { createLedger } from '../../server/src/ledger/create-ledger.js'
import type { Ledger } from '../../server/src/ledger/ledger.js'
import type { Span } from '../../server/src/ledger/number-line.js'
import { BackEndStorage, BLOCK, backEndWord, makesRow, takesBlocks } from './back-end.js'
import { LIMITS } from './ledger-storage.js'

const BOUND = new Map([
  [
    EVERY_COLLECTION,
    { database: '', collection: '', authority: 'counter', description: 'a back end' } as const,
  ],
])

export class BoundStorage extends BackEndStorage {
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

  #answer(asks: readonly CounterAsk[]): Map<string, CounterAnswer> {
    return new Map(
      asks.map(({ raiseTo = 0, above, stock, missing, ...key }) => {
        const used = this.rowsIn(key, stock).map((id): Span => [id, id])
        const blocks = Math.ceil(missing(used) / BLOCK)
        const span = this.take(key, blocks, Math.max(raiseTo, above))
        return [keyText(key), { fresh: blocks > 0 ? [span] : [], used, isAtEnd: false }]
      }),
    )
  }
}

export const bound = backEndWord('a back end', 'takes blocks', takesBlocks)

export const row = backEndWord('a back end', 'makes a row', makesRow)
