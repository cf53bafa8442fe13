/**
 * Reports on simulated schedules: all events of one that failed, and a table of the faults that
 * many of them met.
 */
import type { Outcome } from './simulate.js'

export interface Tally {
  schedules: number
  steps: number
  issued: number
  gaps: number
  hits: Map<string, number>
  tolerated: Map<string, number>
  failed: { seed: number; violation: string }[]
}

/**
 * Faults and events that have to happen in a large enough run: one that never does is a defect of
 * the simulation.
 */
const EXPECTED_HITS = [
  'page closed while busy',
  'page hidden',
  'page reload',
  'page close',
  'page cached',
  'page restored from cache',
  'cached page evicted',
  'page crashed',
  'browser killed',
  'localStorage full',
  'localStorage writes lost',
  'power cut',
  'relaxed commits lost',
  'request lost',
  'answer lost',
  'message duplicated',
  'message late',
  'server busy',
  'server killed',
  'server down',
  'ledger unavailable',
  'server restored',
  'series handed over',
  'a hand-over forgotten',
  'a range gave way',
  'past rewritten',
  'restore proved',
  'a lost token was shown',
  'floors raised, perhaps too little',
  'an old token shown elsewhere',
  'an old primary came back',
  'another ledger was found',
  'a server had no ledger to start with',
  'the file was moved during a commit',
  'the file was written over',
  'other node',
  'device offline',
  'transaction failed',
  'storage fails to open',
  'storage hangs to open',
  'database connection lost',
  'storage stands still',
  'storage evicted',
  'worker died',
  'worker hung',
  'worker failed',
  'device clock jumped',
  'server clock jumped',
  'profile cloned',
  'device set back',
  'device set back, and the server knows',
  'clone found out',
  'answered with HTML',
  'answered 403',
  'answered 502',
  'answer came again',
  'answer to another request',
  'refused for its size',
  'tabs switched off',
  'mounted twice',
  'service worker stopped',
  'answer replaced by HTML',
  'quiet hours',
  'device slept',
  'moved a document',
  'lost a race for a document',
  'took a hi',
]

/** With fewer schedules the rarest may be missing by chance. */
export const ENOUGH_FOR_ALL_HITS = 2_000

export const emptyTally = (): Tally => ({
  schedules: 0,
  steps: 0,
  issued: 0,
  gaps: 0,
  hits: new Map(),
  tolerated: new Map(),
  failed: [],
})

export function add(
  tally: Tally,
  { seed, violations, hits, tolerated, steps, issued, gaps }: Outcome,
): void {
  tally.schedules++
  tally.steps += steps
  tally.issued += issued
  tally.gaps += gaps
  addCounts(tally.hits, hits)
  addCounts(tally.tolerated, tolerated)
  if (violations.length > 0) tally.failed.push({ seed, violation: violations[0]!.split('\n')[0]! })
}

export function merge(tally: Tally, other: Tally): void {
  for (const key of ['schedules', 'steps', 'issued', 'gaps'] as const) tally[key] += other[key]
  addCounts(tally.hits, other.hits)
  addCounts(tally.tolerated, other.tolerated)
  tally.failed.push(...other.failed)
}

export const neverHit = ({ hits }: Tally): string[] =>
  EXPECTED_HITS.filter((name) => !hits.has(name))

/**
 * Everything about one schedule, and how to see it again.
 * @param more words of the command line
 */
export function story({ seed, profile, violations, trace }: Outcome, more = ''): string {
  const { faults, ...rest } = profile
  return [
    `Seed ${seed}: ${JSON.stringify(rest)}, faults: ${[...faults].join(', ') || 'none'}`,
    ...(trace ?? []),
    '',
    ...violations.map((violation) => `✗ ${violation}`),
    violations.length > 0 ? `Replay: npm run simulate -- --seed ${seed}${more}` : 'Nothing wrong.',
  ].join('\n')
}

export function table({ schedules, steps, issued, gaps, hits, tolerated }: Tally): string {
  const number = (count: number) => count.toLocaleString('en')
  const rows = [...hits]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `  ${number(count).padStart(12)}  ${name}`)
  const limits = [...tolerated].map(
    ([name, count]) => `  ${number(count).padStart(12)}  numbers ${name}`,
  )
  return [
    `${number(schedules)} schedules, ${number(steps)} events, ${number(issued)} ids issued, ` +
      `${number(gaps)} gaps`,
    'What was hit:',
    ...rows,
    ...(limits.length > 0 ? ['Documented limits that were reached:', ...limits] : []),
  ].join('\n')
}

function addCounts(counts: Map<string, number>, more: ReadonlyMap<string, number>): void {
  for (const [name, count] of more) counts.set(name, (counts.get(name) ?? 0) + count)
}
