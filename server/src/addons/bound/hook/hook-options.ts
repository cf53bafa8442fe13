/** The setting `counters`: an app's own functions for a counter of its own, checked. */
import { z } from 'zod'
import type { CollectionKey } from '../../../ledger/ledger.js'
import { byName, type Checks, databaseName } from '../../../ledger/option-checks.js'

/**
 * The meaning of the number that `nextHi` gives. `block`: the block's place, as in the textbook.
 * Block 0 begins at 0, block 1 at `blockSize`. `first` and `last`: the first or the last number of
 * the block.
 */
export type HiMeaning = 'block' | 'first' | 'last'

/** The argument of `nextHi`. */
export interface HiCall extends CollectionKey {
  /** Is aborted when the server waits no longer. */
  signal: AbortSignal
}

/** The argument of `isFree`: the numbers `low` to `high`, both included. */
export interface FreeCall extends HiCall {
  low: number
  high: number
}

/** A counter that the server reaches by functions of the app. */
export interface CounterHook {
  /**
   * Takes the next block from the counter for good, and gives its number. A block that it took and
   * could not give is a gap. The server waits five seconds.
   */
  nextHi(call: HiCall): number | bigint | PromiseLike<number | bigint>
  /**
   * Has the back end no record with an id from `low` to `high`? Asked of the first two blocks, and
   * before each range leaves for a device. If not, the range is granted to nobody. `false` in
   * place of the function says in writing that nobody can look. The server waits five seconds.
   */
  isFree: ((call: FreeCall) => boolean | PromiseLike<boolean>) | false
  /** Numbers of a block, the same for all users of the counter: 1 to 2^30. */
  blockSize: number
  /** Default `block`. */
  hiIs?: HiMeaning | undefined
}

/** By database, then by collection. */
export type CounterHooks = Readonly<Record<string, Readonly<Record<string, CounterHook>>>>

const MOST_PER_BLOCK = 2 ** 30

const FORM =
  'has to be a function with its size under database and collection, as in ' +
  '{Shop: {orders: {nextHi: async () => …, isFree: async () => …, blockSize: 100}}}'

const hook = z.strictObject(
  {
    nextHi: z.custom<CounterHook['nextHi']>(
      (value) => typeof value === 'function',
      'has to be a function that takes a block and gives its number',
    ),
    isFree: z.custom<CounterHook['isFree']>(
      (value) => typeof value === 'function' || value === false,
      'has to be a function that says whether nobody has an id from low to high; or false, which ' +
        'says in writing that nobody can look',
    ),
    blockSize: z
      .int()
      .min(1, 'has to be at least 1')
      .max(MOST_PER_BLOCK, `has to be at most ${MOST_PER_BLOCK}`),
    hiIs: z
      .enum(['block', 'first', 'last'], "has to be 'block', 'first' or 'last'")
      .default('block'),
  } satisfies Checks<CounterHook>,
  { error: (issue) => (issue.code === 'invalid_type' ? FORM : undefined) },
)

export const counterHooks = byName(databaseName, byName(z.string().min(1), hook))

export type Hook = z.output<typeof hook>
