/**
 * Makes a function whose calls share runs of `work`: calls that come during a run share the next
 * one. Guarantees that a run begins after each call, or that the call rejects. Two runs never
 * overlap.
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
