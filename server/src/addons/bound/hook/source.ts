/**
 * Blocks of numbers from a function of the app. A block is taken first and stored in the ledger
 * then, so that a crash between the two leaves a gap. Guarantees that a function which gives
 * something else than a new block above all others grants nothing.
 */
import { CounterUnusable, reasonOf, UpstreamUnavailable } from '../../../ledger/errors.js'
import type { CollectionKey, UpstreamRange } from '../../../ledger/ledger.js'
import { MAX_NUMBER } from '../../../ledger/number-line.js'
import { turns } from '../../../ledger/turns.js'
import type { BoundSource } from '../../upstream/refill.js'
import type { Hook } from './options.js'

/** Claims wait so long for a block. */
const TIMEOUT_MS = 5_000

/** A claim that asks for more gets fewer numbers than it asks for. */
const MOST_AT_ONCE = 100

interface Block {
  low: number
  high: number
}

export function hookSource({ database, collection }: CollectionKey, hook: Hook): BoundSource {
  const { blockSize } = hook
  const name = `nextHi of ${database}/${collection}`
  const inTurn = turns()
  /** The highest number that came: 0 may be one. The ledger may not have stored it yet. */
  let reached = -1

  async function takeBlock(max: number): Promise<Block> {
    const hi = await answerOf(hook.nextHi, { database, collection }, name)
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

  return {
    take: (short, max) =>
      // One call at a time: what two calls give may come in any order.
      inTurn(name, async () => {
        let missing = short.reduce((sum, { count }) => sum + count, 0)
        const taken: UpstreamRange[] = []
        for (let calls = 0; missing > 0 && calls < MOST_AT_ONCE; calls++)
          try {
            const { low, high } = await takeBlock(max)
            const from = Math.max(low, 1)
            if (from <= high) taken.push({ database, collection, low: from, high })
            missing -= high - from + 1
          } catch (error) {
            if (taken.length === 0 || !(error instanceof UpstreamUnavailable)) throw error
            break
          }
        return taken
      }),
    close: async () => {},
  }
}

/** @throws UpstreamUnavailable when it fails, or takes too long */
async function answerOf(
  nextHi: Hook['nextHi'],
  key: CollectionKey,
  name: string,
): Promise<unknown> {
  const waiting = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      waiting.abort()
      reject(
        new UpstreamUnavailable(
          `${name} gave nothing within ${TIMEOUT_MS / 1_000} seconds. Nothing was granted. If ` +
            'its counter has moved, a block is a gap.',
        ),
      )
    }, TIMEOUT_MS)
  })
  const call = async () => {
    try {
      return await nextHi({ ...key, signal: waiting.signal })
    } catch (error) {
      throw new UpstreamUnavailable(
        `${name} failed: ${reasonOf(error instanceof Error ? error : new Error(String(error)))}. ` +
          'Nothing was granted. If its counter has moved, a block is a gap.',
        { cause: error },
      )
    }
  }
  try {
    return await Promise.race([call(), late])
  } finally {
    clearTimeout(timer)
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
  return { low: Number(low), high: Number(high) }
}

const shown = (value: unknown): string =>
  typeof value === 'string' ? `the text ${JSON.stringify(value.slice(0, 40))}` : String(value)
