/**
 * Proves a binding: the back end takes blocks while somebody watches the counter and the ids. Pure.
 * The first id of a value settles the strategy; two values settle the size as well, because every
 * strategy is linear. An id counts only where one record was stored and one value taken since the
 * look before: then it is the first id of that value, and not the last one of another. Guarantees
 * that ids which another strategy or another size makes of these values prove nothing.
 */
import { type Blocks, firstOf } from './blocks.js'

/** The counter and the ids while nothing is under way. */
export interface Look {
  /** The value that the next take gets. */
  next: bigint
  ids: readonly bigint[]
}

/** A value that the back end took, and the id that came with it. */
interface Jump {
  value: bigint
  id: bigint
}

export interface Seen {
  /** Ids that were not there at the look before. */
  fresh: readonly bigint[]
  /** Jumps whose first id is as configured, and those whose first id is not. */
  right: readonly Jump[]
  wrong: readonly Jump[]
  /** An id that the counter has still to give, by the configuration. */
  early: bigint | undefined
}

/** So many blocks settle a strategy and its size. */
export const BLOCKS_NEEDED = 2

export const isProved = ({ right, early }: Seen): boolean =>
  right.length >= BLOCKS_NEEDED && early === undefined

/** One wrong jump may come from a second process of the back end. */
export const isContradicted = ({ wrong, early }: Seen): boolean =>
  wrong.length >= BLOCKS_NEEDED || early !== undefined

/** @param first the look before */
export function watch(blocks: Blocks, first: Look): (look: Look) => Seen {
  const known = new Set(first.ids)
  let { next } = first
  /** A value that was taken, and no id came since. */
  let taken: bigint | undefined
  const right: Jump[] = []
  const wrong: Jump[] = []

  return (look) => {
    const fresh = look.ids.filter((id) => !known.has(id))
    for (const id of fresh) known.add(id)
    // Of several values nobody can tell which of them the id is of.
    if (look.next !== next) taken = look.next === next + blocks.step ? next : undefined
    next = look.next
    const [id, ...more] = fresh
    if (id !== undefined && taken !== undefined) {
      const isFirst = id === firstOf(blocks, taken)
      if (more.length === 0) (isFirst ? right : wrong).push({ value: taken, id })
      taken = undefined
    }
    const early = fresh.find((each) => each >= firstOf(blocks, next))
    return { fresh, right, wrong, early }
  }
}
