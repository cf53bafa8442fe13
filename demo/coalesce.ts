/**
 * Work that need not be done for each call, only after it. Guarantees that a run begins after every
 * call, or the one under way fails and says so; never two at once.
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
