/**
 * Combines claims: those that arrive while a commit is under way share the next one, whatever their
 * collections. Guarantees that a claim which finds the queue full is refused before anything is
 * granted.
 */

/** More in one commit gain nothing, and make the first of them wait. */
const MAX_BATCH = 500

/** Too many wait already. Nothing was granted. */
export class QueueFull extends Error {
  override name = 'QueueFull'
}

interface Waiting<Claim, Outcome> {
  claims: readonly Claim[]
  resolve: (outcomes: Outcome[]) => void
  reject: (error: unknown) => void
}

/**
 * @param take one commit: an outcome per claim, in their order
 * @param maxWaiting claims that may wait
 * @param committed is told of each commit how many claims it held
 */
export function combineClaims<Claim, Outcome>(
  take: (claims: readonly Claim[]) => Promise<Outcome[]>,
  maxWaiting: number,
  committed: (claims: number) => void,
): (claims: readonly Claim[]) => Promise<Outcome[]> {
  const queue: Waiting<Claim, Outcome>[] = []
  let waiting = 0
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    // One turn of the event loop: requests that have arrived together are read first, also when the
    // ledger commits synchronously.
    await new Promise((resolve) => setImmediate(resolve))
    while (queue.length > 0) await commit(nextBatch())
    isRunning = false
  }

  function nextBatch(): Waiting<Claim, Outcome>[] {
    let count = 0
    let requests = 0
    for (const { claims } of queue) {
      if (requests > 0 && count + claims.length > MAX_BATCH) break
      count += claims.length
      requests++
    }
    waiting -= count
    return queue.splice(0, requests)
  }

  async function commit(batch: Waiting<Claim, Outcome>[]): Promise<void> {
    try {
      const claims = batch.flatMap((one) => one.claims)
      const outcomes = await take(claims)
      committed(claims.length)
      for (const { claims, resolve } of batch) resolve(outcomes.splice(0, claims.length))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return (claims) =>
    new Promise((resolve, reject) => {
      // A request that is too large by itself would be told to come again for ever.
      if (waiting > 0 && waiting + claims.length > maxWaiting)
        return reject(new QueueFull(`${waiting} claims are waiting already.`))
      waiting += claims.length
      queue.push({ claims, resolve, reject })
      if (!isRunning) void run()
    })
}
