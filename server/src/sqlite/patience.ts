/**
 * Waits while another program holds the lock of the file. SQLite's own waiting would stop the whole
 * process: no other request would be answered, not even one for health. Guarantees that a step is
 * tried again only if it did nothing.
 */
import { LedgerUnavailable } from '../ledger/errors.js'
import { isLocked } from './transaction.js'

export interface Patience {
  /** Resolves with what the step returns. It rejects like the step when the lock stays away. */
  run<T>(step: () => T): Promise<T>
  /** Resolves when no step waits. */
  end(): Promise<void>
}

const LONGEST_PAUSE_MS = 20

/** @param patienceMs another process may hold the lock for one commit; longer means trouble */
export function createPatience(patienceMs: number): Patience {
  const waiting = new Set<Promise<unknown>>()

  async function retry<T>(step: () => T, error: unknown): Promise<T> {
    const deadline = performance.now() + patienceMs
    for (let pause = 1; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      if (performance.now() >= deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, pause))
      try {
        return step()
      } catch (again) {
        if (!isBusy(again)) throw again
      }
    }
  }

  return {
    async run(step) {
      try {
        return step()
      } catch (error) {
        if (!isBusy(error)) throw error
        const done = retry(step, error)
        waiting.add(done)
        return await done.finally(() => waiting.delete(done))
      }
    },
    async end() {
      await Promise.allSettled(waiting)
    },
  }
}

/** SQLite has undone the transaction, or has not begun it. */
export const isBusy = (error: unknown): boolean =>
  error instanceof LedgerUnavailable && isLocked(error.cause)
