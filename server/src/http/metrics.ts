/**
 * What Prometheus reads at `/metrics`. No label holds a name that clients send: they could make the
 * server keep any number of values.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ClaimOutcome, Ledger } from '../ledger/ledger.js'

export interface Metrics {
  /** Once per request, with its outcomes and how long they took. */
  claimed(outcomes: readonly ClaimOutcome[], seconds: number): void
  /** Once per commit, with the number of its claims. */
  committed(claims: number): void
  returned(ids: number): void
  refused(status: number): void
  /** In Prometheus' text format, and its media type. */
  read(): Promise<{ text: string; type: string }>
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

export function createMetrics(ledger: Pick<Ledger, 'countFree'>): Metrics {
  const registers = [new Registry()]
  const grants = new Counter({ name: 'hilo_grants_total', help: 'Ranges granted.', registers })
  const repeats = new Counter({
    name: 'hilo_repeated_claims_total',
    help: 'Claims answered again with the same range.',
    registers,
  })
  const granted = new Counter({
    name: 'hilo_ids_granted_total',
    help: 'Numbers granted.',
    registers,
  })
  const returned = new Counter({
    name: 'hilo_ids_returned_total',
    help: 'Numbers given back.',
    registers,
  })
  const refusals = new Counter({
    name: 'hilo_refusals_total',
    help: 'Requests answered with an error.',
    labelNames: ['status'],
    registers,
  })
  const latency = new Histogram({
    name: 'hilo_claim_seconds',
    help: 'Time from a claim to its commit.',
    buckets: SECONDS,
    registers,
  })
  const batches = new Histogram({
    name: 'hilo_claims_per_commit',
    help: 'Claims that shared a commit.',
    buckets: BATCH_SIZES,
    registers,
  })
  new Gauge({
    name: 'hilo_ids_free',
    help: 'Numbers given back that will be granted again first.',
    registers,
    async collect() {
      // While the database does not answer, the other metrics are still there.
      this.set(await ledger.countFree().catch(() => Number.NaN))
    },
  })

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
    refused: (status) => refusals.inc({ status }),
    read: async () => ({ text: await registers[0]!.metrics(), type: registers[0]!.contentType }),
  }
}
