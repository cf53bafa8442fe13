/**
 * The port for counting requests. The handler reports them, and knows no library. To add a metric,
 * add a method here, and its metric in `node/prometheus-metrics.ts`.
 */
import type { CheckInResult, ClaimOutcome, Ledger } from '../ledger/ledger.js'
import type { HourlyLimits, Spent } from './budgets.js'
import type { ClaimQueue } from './claim-queue.js'
import type { Refusal } from './refusals.js'

export type WatchedLedger = Pick<Ledger, 'countFree' | 'connections' | 'restored'>
export type WatchedQueue = Pick<ClaimQueue<never, never>, 'waiting'>

export interface Metrics {
  /** Once per request, with its outcomes and how long they took. */
  claimed(outcomes: readonly ClaimOutcome[], seconds: number): void
  /** Once per commit, with the number of its claims. */
  committed(claims: number): void
  returned(ids: number): void
  /** A request that is answered with an error. */
  refused(refusal: Refusal): void
  /** One of several claims is refused, in an answer that is not an error. */
  claimRefused(refusal: Refusal): void
  checkedIn(results: readonly CheckInResult[]): void
  /** A device got a series of its own. */
  seriesBegan(): void
  /** A token's hourly budgets. */
  budgets(limits: HourlyLimits): void
  /** A request is refused because its token has used up its budget. */
  overBudget(token: string, budget: Spent): void
  /** Its waiting claims are counted whenever the metrics are read. */
  watchQueue(queue: WatchedQueue): void
  /** In Prometheus' text format, and its media type. Without it there is no `/metrics`. */
  read?(): Promise<{ text: string; type: string }>
}
