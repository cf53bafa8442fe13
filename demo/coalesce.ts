/**
 * Runs work after calls, once for several calls. Guarantees that a run begins after each call, or
 * that the run under way fails and says so. Two runs are never under way at once.
 */
export function coalesce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let isStale = false
  const run = async () => {
    try {
      do {
        isStale = false
        await work()
      } while (isStale)
    } finally {
      running = undefined
    }
  }
  return () => {
    isStale = true
    running ??= run()
    return running
  }
}
