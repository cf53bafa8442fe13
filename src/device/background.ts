/**
 * The owner's calls and background work. Only its signal stops them. Guarantees that a stop cancels
 * every timer and waits for all work that has started, and that nothing here rejects unhandled.
 */

/** Sets a timer. @returns cancels it */
export type SetTimer = (ms: number, act: () => void) => () => void

export interface Background {
  /** Aborted by {@link Background.stop}: nothing is begun from then on. */
  readonly signal: AbortSignal
  /** @returns `work`, so that a caller can wait for its end */
  run<T>(work: Promise<T>): Promise<T>
  /**
   * Runs `act` after `ms` milliseconds, unless it is cancelled or stopped before.
   * @param stopped called instead, when it is stopped
   */
  after(ms: number, act: () => void, stopped?: () => void): () => void
  /** Resolves when all that was begun has ended. */
  stop(reason?: unknown): Promise<void>
}

export function newBackground(setTimer: SetTimer): Background {
  const stopping = new AbortController()
  const { signal } = stopping
  const running = new Set<Promise<unknown>>()
  /** Each timer's cancel function, and its handler of a stop. */
  const timers = new Map<() => void, () => void>()
  return {
    signal,
    run(work) {
      const ended: Promise<unknown> = work.then(forget, forget)
      function forget() {
        running.delete(ended)
      }
      running.add(ended)
      return work
    },
    after(ms, act, stopped = ignore) {
      if (signal.aborted) {
        stopped()
        return ignore
      }
      const clear = setTimer(ms, () => {
        timers.delete(cancel)
        act()
      })
      function cancel() {
        timers.delete(cancel)
        clear()
      }
      timers.set(cancel, stopped)
      return cancel
    },
    async stop(reason) {
      stopping.abort(reason)
      for (const [cancel, stopped] of timers) {
        cancel()
        stopped()
      }
      while (running.size > 0) await Promise.all(running)
    },
  }
}

const ignore = (): void => {}
