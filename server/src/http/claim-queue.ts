/**
 * Claims wait here for their commit. Those that arrive while a commit is under way share the next
 * one. Guarantees that claims of one queue neither delay nor fail those of another, and that a
 * claim fails alone unless the database does. How many come here is bounded by the gate.
 */
import { batches, isOutage } from '../ledger/batches.js'
import { grouped } from '../ledger/collections.js'
import { RowLocked } from '../ledger/ledger-errors.js'

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

/** The claims of one request that wait in one queue. */
interface Waiting<Claim, Outcome> {
  claims: readonly Claim[]
  resolve: (outcomes: (Outcome | FailedClaim)[]) => void
}

export function claimQueue<Claim, Outcome>({
  commit,
  queueOf,
  rowOf,
  sizeOf,
  onCommit,
}: QueueOptions<Claim, Outcome>): ClaimQueue<Claim, Outcome> {
  type Outcomes = (Outcome | FailedClaim)[]

  const { add, waiting } = batches<Waiting<Claim, Outcome>>(
    ({ claims }) => claims.reduce((sum, claim) => sum + sizeOf(claim), 0),
    async (batch) => {
      const outcomes = await outcomesOf(batch.flatMap(({ claims }) => claims))
      for (const { claims, resolve } of batch) resolve(outcomes.splice(0, claims.length))
    },
  )

  /** If one claim or one row makes the commit fail, the other claims are tried without it. */
  async function outcomesOf(claims: readonly Claim[]): Promise<Outcomes> {
    try {
      const outcomes = await commit(claims)
      onCommit(claims.length)
      return outcomes
    } catch (failure) {
      const parts = partsOf(claims, failure)
      if (parts.length < 2) return claims.map(() => ({ failure }))
      return joined(claims, parts, outcomesOf)
    }
  }

  /** The parts that are tried again alone: the claims of each row, then each claim. */
  function partsOf(claims: readonly Claim[], failure: unknown): Claim[][] {
    if (isOutage(failure)) return []
    const rows = [...grouped(claims, rowOf).values()]
    if (rows.length > 1 || failure instanceof RowLocked) return rows
    return claims.map((claim) => [claim])
  }

  const wait = (queue: string, claims: readonly Claim[]) =>
    new Promise<Outcomes>((resolve) => add(queue, { claims, resolve }))

  return {
    async add(claims) {
      const parts = [...grouped(claims, queueOf).values()]
      return joined(claims, parts, (part) => wait(queueOf(part[0]!), part))
    },
    waiting: () => waiting().reduce((sum, { claims }) => sum + claims.length, 0),
  }
}

/** The outcomes of parts, in the order of the claims. */
async function joined<Claim, Outcome>(
  claims: readonly Claim[],
  parts: readonly Claim[][],
  outcomesOf: (part: Claim[]) => Promise<Outcome[]>,
): Promise<Outcome[]> {
  const outcomes = new Map<Claim, Outcome>()
  await Promise.all(
    parts.map(async (part) => {
      for (const [i, outcome] of (await outcomesOf(part)).entries()) outcomes.set(part[i]!, outcome)
    }),
  )
  return claims.map((claim) => outcomes.get(claim)!)
}
