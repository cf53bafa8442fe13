/**
 * Work that arrives while a commit is under way shares the next one. It waits in lines, each with a
 * name, such as a collection's. Guarantees that no line delays another, and that an empty one is
 * forgotten.
 */
import { setImmediate } from 'node:timers'
import { LedgerUnavailable, RowLocked } from './ledger-errors.js'

export interface Batches<Item> {
  /** The names of lines may come from requests. */
  add(line: string, item: Item): void
  /** What waits for its commit, in all lines. */
  waiting(): Item[]
}

/** The size of a commit. More gains nothing, and the first of its work would wait longer. */
const MAX_SIZE = 500

/**
 * @param sizeOf how much of a commit an item takes
 * @param commit one commit. It never rejects
 */
export function batches<Item>(
  sizeOf: (item: Item) => number,
  commit: (batch: Item[]) => Promise<void>,
): Batches<Item> {
  /** Those in which work waits, or is under way. */
  const lines = new Map<string, Item[]>()

  function nextOf(waiting: Item[]): Item[] {
    let size = 0
    let items = 0
    for (const item of waiting) {
      size += sizeOf(item)
      if (items > 0 && size > MAX_SIZE) break
      items++
    }
    return waiting.splice(0, items)
  }

  async function run(line: string, waiting: Item[]): Promise<void> {
    while (waiting.length > 0) {
      // Waits one turn of the event loop, so that requests which arrived together share a commit,
      // and new ones come between two commits, also when the ledger commits synchronously.
      await new Promise((resolve) => setImmediate(resolve))
      await commit(nextOf(waiting))
    }
    lines.delete(line)
  }

  return {
    add(line, item) {
      const known = lines.get(line)
      const waiting = known ?? []
      waiting.push(item)
      if (known) return
      lines.set(line, waiting)
      void run(line, waiting)
    },
    waiting: () => [...lines.values()].flat(),
  }
}

/** The database itself has failed: to try the parts of a commit alone would not help. */
export const isOutage = (failure: unknown): boolean =>
  failure instanceof LedgerUnavailable && !(failure instanceof RowLocked)
