/**
 * Claims wait here for their commit. Those that arrive while a commit is under way share the next
 * one. Guarantees that claims of one queue neither delay nor fail those of another, and that a
 * claim fails alone unless the database does. How many come here is bounded by the gate.
 */
import { setImmediate } from 'node:timers'
import { grouped } from '../ledger/collections.js'
import { LedgerUnavailable, RowLocked } from '../ledger/errors.js'

export interface QueueOptions<Claim, Outcome> {
  /** One commit: an outcome per claim, in their order. */
  commit: (claims: readonly Claim[]) => Promise<Outcome[]>
  /** Names the queue in which a claim waits. */
  queueOf: (claim: Claim) => string
  /** Names the row that a claim changes. */
  rowOf: (claim: Claim) => string
  /** How much of a commit a claim takes: 1, and more where it shows tokens. */
  sizeOf: (claim: Claim) => number
  /** Called after each commit with the number of its claims. */
  onCommit: (claims: number) => void
}

/** A claim without an outcome: its commit failed. */
export interface FailedClaim {
  failure: unknown
}

export interface ClaimQueue<Claim, Outcome> {
  /** Resolves with an outcome per claim, in their order. Never rejects. */
  add(claims: readonly Claim[]): Promise<(Outcome | FailedClaim)[]>
  /** Claims that wait for their commit, in all queues. */
  waiting(): number
}

/** The size of a commit. More gains nothing, and the first of its claims would wait longer. */
const MAX_BATCH = 500

export function claimQueue<Claim, Outcome>(
  options: QueueOptions<Claim, Outcome>,
): ClaimQueue<Claim, Outcome> {
  /** Those in which claims wait. Their names may come from requests. */
  const queues = new Map<string, Queue<Claim, Outcome>>()
  /** Claims, in all of them. */
  const waiting = () => [...queues.values()].reduce((sum, queue) => sum + queue.waiting, 0)

  function queueFor(claim: Claim): Queue<Claim, Outcome> {
    const name = options.queueOf(claim)
    const known = queues.get(name)
    if (known) return known
    const queue = new Queue(options, () => queues.delete(name))
    queues.set(name, queue)
    return queue
  }

  return {
    async add(claims) {
      const first = claims[0] && queueFor(claims[0])
      // As a rule, all claims of a request wait in one queue.
      if (first && claims.slice(1).every((claim) => queueFor(claim) === first))
        return first.add(claims)
      const places = new Map<Queue<Claim, Outcome>, number[]>()
      for (const [i, claim] of claims.entries()) {
        const queue = queueFor(claim)
        places.set(queue, [...(places.get(queue) ?? []), i])
      }
      const outcomes: (Outcome | FailedClaim)[] = []
      await Promise.all(
        [...places].map(async ([queue, places]) => {
          const answers = await queue.add(places.map((i) => claims[i]!))
          for (const [j, i] of places.entries()) outcomes[i] = answers[j]!
        }),
      )
      return outcomes
    },
    waiting,
  }
}

/** The claims of one request. */
interface Waiting<Claim, Outcome> {
  claims: readonly Claim[]
  resolve: (outcomes: (Outcome | FailedClaim)[]) => void
}

class Queue<Claim, Outcome> {
  readonly #options: QueueOptions<Claim, Outcome>
  readonly #onEmpty: () => void
  #requests: Waiting<Claim, Outcome>[] = []
  /** Claims. */
  waiting = 0
  #isRunning = false

  /** @param onEmpty called when no claim waits any more */
  constructor(options: QueueOptions<Claim, Outcome>, onEmpty: () => void) {
    this.#options = options
    this.#onEmpty = onEmpty
  }

  add(claims: readonly Claim[]): Promise<(Outcome | FailedClaim)[]> {
    return new Promise((resolve) => {
      this.waiting += claims.length
      this.#requests.push({ claims, resolve })
      if (!this.#isRunning) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#requests.length > 0) {
      // Waits one turn of the event loop, so that requests which arrived together share a commit,
      // and new ones come between two commits, also when the ledger commits synchronously.
      await new Promise((resolve) => setImmediate(resolve))
      await this.#commit(this.#nextBatch())
    }
    this.#isRunning = false
    this.#onEmpty()
  }

  #nextBatch(): Waiting<Claim, Outcome>[] {
    let count = 0
    let size = 0
    let requests = 0
    for (const { claims } of this.#requests) {
      size += claims.reduce((sum, claim) => sum + this.#options.sizeOf(claim), 0)
      if (requests > 0 && size > MAX_BATCH) break
      count += claims.length
      requests++
    }
    this.waiting -= count
    return this.#requests.splice(0, requests)
  }

  async #commit(batch: Waiting<Claim, Outcome>[]): Promise<void> {
    const outcomes = await this.#outcomesOf(batch.flatMap(({ claims }) => claims))
    for (const { claims, resolve } of batch) resolve(outcomes.splice(0, claims.length))
  }

  /** If one claim or one row makes the commit fail, the other claims are tried without it. */
  async #outcomesOf(claims: readonly Claim[]): Promise<(Outcome | FailedClaim)[]> {
    try {
      const outcomes = await this.#options.commit(claims)
      this.#options.onCommit(claims.length)
      return outcomes
    } catch (failure) {
      const parts = this.#partsOf(claims, failure)
      if (parts.length < 2) return claims.map(() => ({ failure }))
      const outcomes = new Map<Claim, Outcome | FailedClaim>()
      await Promise.all(
        parts.map(async (part) => {
          for (const [i, outcome] of (await this.#outcomesOf(part)).entries())
            outcomes.set(part[i]!, outcome)
        }),
      )
      return claims.map((claim) => outcomes.get(claim)!)
    }
  }

  /** The parts that are tried again alone: the claims of each row, then each claim. */
  #partsOf(claims: readonly Claim[], failure: unknown): Claim[][] {
    if (failure instanceof LedgerUnavailable && !(failure instanceof RowLocked)) return []
    const rows = [...grouped(claims, this.#options.rowOf).values()]
    if (rows.length > 1 || failure instanceof RowLocked) return rows
    return claims.map((claim) => [claim])
  }
}
