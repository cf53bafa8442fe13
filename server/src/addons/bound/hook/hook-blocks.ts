/**
 * Blocks of numbers from a function of the app. A block is taken first and stored in the ledger
 * then, so that a crash between the two leaves a gap. Guarantees that a function which gives
 * something else than a new block above all others grants nothing, and that a process stores its
 * first block only together with a second one that does not contradict it.
 */

import type { CollectionKey, UpstreamRange } from '../../../ledger/ledger.js'
import { CounterUnusable, UpstreamUnavailable } from '../../../ledger/ledger-errors.js'
import { MAX_NUMBER } from '../../../ledger/number-line.js'
import { turns } from '../../../ledger/turns.js'
import type { BoundSource } from '../../upstream/authority.js'
import { call, shown } from './call.js'
import { isFree } from './free-numbers.js'
import type { Hook } from './hook-options.js'

/** A claim that asks for more gets fewer numbers than it asks for. */
const MOST_AT_ONCE = 100

/** So many jumps in a row that are longer than a block is are no accident. */
const LONG_JUMPS = 3

const NOTHING_YET =
  'Nothing of this collection is granted before this server starts again: correct it first.'

interface Block {
  hi: bigint
  low: number
  high: number
}

export function hookSource({ database, collection }: CollectionKey, hook: Hook): BoundSource {
  const { blockSize } = hook
  const name = `nextHi of ${database}/${collection}`
  const inTurn = turns()
  /** The highest number that came: 0 may be one. The ledger may not have stored it yet. */
  let reached = -1
  /** The first blocks. If the app does not answer about them, they wait for the next claim. */
  const first: Block[] = []
  let isBegun = false
  /** Why this process grants nothing. */
  let refusal: CounterUnusable | undefined

  async function takeBlock(max: number): Promise<Block> {
    const outcome = 'Nothing was granted. If its counter has moved, a block is a gap.'
    const hi = await call(name, outcome, (signal) => hook.nextHi({ database, collection, signal }))
    const block = blockOf(hook, hi, name)
    const known = Math.max(reached, max || -1)
    // guard: H20 a hook that goes back grants nothing
    if (block.low <= known)
      throw new CounterUnusable(
        `${name} gave ${hi}, which stands for the numbers ${block.low} to ${block.high}. But ` +
          `numbers up to ${known} came before, or are below a floor that was raised. Nothing was ` +
          'granted. If the counter went back, as when somebody restored it, or if it moves by ' +
          `less than blockSize ${blockSize}, it gives numbers twice: stop whoever takes from it. ` +
          `Then set it so that its next block begins above ${known}, and above every id in use.`,
      )
    reached = block.high
    return block
  }

  /** Two blocks expose a wrong function: the second contradicts the first one. */
  async function begin(max: number): Promise<Block[]> {
    // guard: H20 a hook that contradicts itself does not begin in this process
    if (refusal) throw refusal
    // A floor may have been raised since.
    if (first.some(({ low }) => low <= (max || -1))) first.length = 0
    if (first.length === 0) first.push(await takeBlock(max))
    try {
      await completeFirst(max)
      for (const block of first) await refuseUsed(block)
    } catch (error) {
      if (!(error instanceof CounterUnusable)) throw error
      refusal = new CounterUnusable(`${error.message} ${NOTHING_YET}`)
      throw refusal
    }
    isBegun = true
    return first
  }

  /** Takes a second block, and more as long as the jumps are too long. */
  async function completeFirst(max: number): Promise<void> {
    const isLong = () => {
      const [last, before] = [first.at(-1)!, first.at(-2)!]
      return hook.hiIs === 'block' && blockSize > 1 && last.hi - before.hi >= blockSize
    }
    while (first.length < 2 || isLong()) {
      // guard: H20 a hook whose numbers are no places of blocks grants nothing
      if (first.length > LONG_JUMPS)
        throw new CounterUnusable(
          `${name} gave ${first.map(({ hi }) => hi).join(', ')}: each time ${blockSize} more, ` +
            'or further. These are numbers, and no places of blocks. Nothing was granted. Write ' +
            "hiIs: 'first' or hiIs: 'last'.",
        )
      first.push(await takeBlock(max))
    }
  }

  async function refuseUsed({ hi, low, high }: Block): Promise<void> {
    // guard: H20 a hook whose first blocks are in use grants nothing
    if (!(await isFree({ database, collection }, hook, { low, high })))
      throw new CounterUnusable(
        `${name} gave ${hi}, which stands for the numbers ${low} to ${high}, and isFree says ` +
          'that somebody has an id of these. Nothing was granted. nextHi, blockSize or hiIs are ' +
          'wrong, or the counter is not above all ids in use.',
      )
  }

  return {
    take: (short, max) =>
      // One call at a time: the blocks of two calls may come in any order.
      inTurn(name, async () => {
        let missing = short.reduce((sum, { count }) => sum + count, 0)
        const taken: UpstreamRange[] = []
        for (let calls = 0; missing > 0 && calls < MOST_AT_ONCE; calls++)
          try {
            // guard: H20 a hook begins with two blocks that do not contradict each other
            const blocks = isBegun ? [await takeBlock(max)] : await begin(max)
            for (const { low, high } of blocks) {
              const from = Math.max(low, 1)
              if (from <= high) taken.push({ database, collection, low: from, high })
              missing -= high - from + 1
            }
          } catch (error) {
            if (taken.length === 0 || !(error instanceof UpstreamUnavailable)) throw error
            break
          }
        return taken
      }),
    close: async () => {},
  }
}

/** @throws CounterUnusable when it stands for no block */
function blockOf({ blockSize, hiIs }: Hook, hi: unknown, name: string): Block {
  const isWhole = typeof hi === 'bigint' || Number.isSafeInteger(hi)
  if (!isWhole || BigInt(hi as number) < 0n)
    throw new CounterUnusable(
      `${name} gave ${shown(hi)}. It has to give a whole number from 0 on, as a number or a ` +
        'bigint. Nothing was granted. Some drivers give texts: Number(text) makes a number.',
    )
  const size = BigInt(blockSize)
  const value = BigInt(hi as number)
  const low = { block: value * size, first: value, last: value - size + 1n }[hiIs]
  const high = low + size - 1n
  if (low < 0n)
    throw new CounterUnusable(
      `${name} gave ${hi} as the last number of a block, and a block has ${blockSize}. So the ` +
        'counter moves by less than blockSize, and would give numbers twice. Nothing was ' +
        'granted. Correct blockSize, or how far the function moves the counter.',
    )
  if (high > MAX_NUMBER)
    throw new CounterUnusable(
      `${name} gave ${hi}: the block would end at ${high}, and JavaScript counts up to ` +
        '2^53−1. Nothing was granted. The numbers are used up, or the counter is another one.',
    )
  return { hi: value, low: Number(low), high: Number(high) }
}
