/**
 * The metrics that Prometheus reads at `/metrics`. No label holds a name that clients send: they
 * could make the server keep any number of values. A token is named by the begin of its hash.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { BUDGETS } from '../http/budgets.js'
import type { Metrics, WatchedLedger, WatchedQueue } from '../http/metrics.js'
import type { Refusal } from '../http/refusals.js'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

export function createMetrics(ledger: WatchedLedger): Metrics {
  const registers = [new Registry()]
  const queues: WatchedQueue[] = []
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name, help, buckets, registers })
  const grants = counter('hilo_grants_total', 'Ranges granted.')
  const repeats = counter(
    'hilo_repeated_claims_total',
    'Claims answered again with the same range.',
  )
  const granted = counter('hilo_ids_granted_total', 'Numbers granted.')
  const returned = counter('hilo_ids_returned_total', 'Numbers given back.')
  const refusals = counter('hilo_refusals_total', 'Requests answered with an error.', 'status')
  const reasons = counter(
    'hilo_refusal_reasons_total',
    'Refused requests, and refused claims of requests for several, by reason.',
    'reason',
  )
  const unknown = counter(
    'hilo_unknown_tokens_total',
    'Grant tokens shown that this ledger never wrote.',
  )
  const forks = counter('hilo_forks_total', 'Grants shown by a copy of the device that holds them.')
  const series = counter('hilo_series_total', 'Series given to devices.')
  const budgets = new Gauge({
    name: 'hilo_token_budget',
    help: 'What a token may use in an hour.',
    labelNames: ['budget'],
    registers,
  })
  const overBudget = counter(
    'hilo_over_budget_total',
    'Requests refused because their token had used up its budget.',
    'token',
    'budget',
  )
  const latency = histogram('hilo_claim_seconds', 'Time from a claim to its commit.', SECONDS)
  const batches = histogram('hilo_claims_per_commit', 'Claims that shared a commit.', BATCH_SIZES)
  watchWaiting(registers, queues)
  watchEventLoop(registers)
  watchLedger(registers, ledger)

  function countReason({ reason }: Refusal): void {
    reasons.inc({ reason })
    if (reason === 'copied-device') forks.inc()
  }

  return {
    claimed(outcomes, seconds) {
      latency.observe(seconds)
      for (const outcome of outcomes) {
        if ('refused' in outcome) continue
        if (outcome.isRepeat) {
          repeats.inc()
          continue
        }
        grants.inc()
        granted.inc(outcome.grant.high - outcome.grant.low + 1)
      }
    },
    committed: (claims) => batches.observe(claims),
    returned: (ids) => returned.inc(ids),
    refused(refusal) {
      refusals.inc({ status: refusal.status })
      countReason(refusal)
    },
    claimRefused: countReason,
    checkedIn(results) {
      forks.inc(results.filter((result) => result === 'superseded').length)
      unknown.inc(results.filter((result) => result === 'unknown').length)
    },
    seriesBegan: () => series.inc(),
    budgets(limits) {
      for (const budget of BUDGETS) budgets.set({ budget }, limits[`${budget}PerHour`])
    },
    overBudget: (token, budget) => overBudget.inc({ token, budget }),
    watchQueue: (queue) => void queues.push(queue),
    read: async () => ({ text: await registers[0]!.metrics(), type: registers[0]!.contentType }),
  }
}

function watchWaiting(registers: Registry[], queues: readonly WatchedQueue[]): void {
  new Gauge({
    name: 'hilo_claims_waiting',
    help: 'Claims that wait for their commit.',
    registers,
    collect() {
      this.set(queues.reduce((sum, queue) => sum + queue.waiting(), 0))
    },
  })
}

function watchLedger(registers: Registry[], ledger: WatchedLedger): void {
  new Gauge({
    name: 'hilo_database_connections',
    help: 'Connections to PostgreSQL, and steps that wait for one.',
    labelNames: ['state'],
    registers,
    collect() {
      const { open, idle, waiting } = ledger.connections() ?? {}
      if (open === undefined) return
      this.set({ state: 'busy' }, open - idle!)
      this.set({ state: 'idle' }, idle!)
      this.set({ state: 'waiting' }, waiting!)
    },
  })
  // While the database does not answer, the other metrics are still there.
  const orUnknown = (read: Promise<number>) => read.catch(() => Number.NaN)
  new Gauge({
    name: 'hilo_databases_restored',
    help: 'Databases that grant nothing, because they were restored from a backup.',
    registers,
    async collect() {
      this.set(await orUnknown(ledger.restored().then(({ length }) => length)))
    },
  })
  // Last: its own query would count among the busy connections.
  new Gauge({
    name: 'hilo_ids_free',
    help: 'Numbers given back that will be granted again first.',
    registers,
    async collect() {
      this.set(await orUnknown(ledger.countFree()))
    },
  })
}

const RESOLUTION_MS = 20
const NANOSECONDS = 1e9

/** How late the event loop is, since the metrics were read last: requests wait as long. */
function watchEventLoop(registers: Registry[]): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  new Gauge({
    name: 'hilo_event_loop_lag_seconds',
    help: 'How late the event loop was since the last reading.',
    labelNames: ['quantile'],
    registers,
    collect() {
      // The measured time includes the pause itself.
      const lag = (value: number) => Math.max(0, value / NANOSECONDS - RESOLUTION_MS / 1000)
      this.set({ quantile: '0.5' }, lag(delay.percentile(50)))
      this.set({ quantile: '0.99' }, lag(delay.percentile(99)))
      this.set({ quantile: '1' }, lag(delay.max))
      delay.reset()
    },
  })
}
