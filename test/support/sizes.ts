/**
 * How large the long tests are. `npm test` runs each of them small, in one browser engine, so that
 * all of it takes minutes; with `CI=true` they have their full size, in every engine.
 */

/** Is everything to run, at full size? */
export const isFull = Boolean(process.env.CI) && process.env.CI !== 'false'

/**
 * Files and folders that a plain `npm test` leaves out, so that it takes three minutes: what they
 * try is held at less cost by others, or they are about other programs, deployments, the demo's
 * details and benches. Everything runs with `CI=true`, and whatever the command line names:
 * `npm run test:unit -- etcd`.
 */
const FULL_ONLY = [
  'server/test/backup.test.ts',
  'server/test/deploy.test.ts',
  'server/test/durable-object/',
  'server/test/fail-over.test.ts',
  'server/test/foreign-lock.test.ts',
  'server/test/one-origin.test.ts',
  'server/test/orm/',
  'server/test/pgbouncer.test.ts',
  'server/test/proxy-documents.test.ts',
  'server/test/region/',
  'server/test/restarts.test.ts',
  'server/test/runtimes.test.ts',
  'server/test/standby.test.ts',
  'server/test/upstream.test.ts',
  'server/test/went-back.test.ts',
  'test/browser/bench.test.ts',
  'test/browser/counts.test.ts',
  'test/browser/degraded-storage.test.ts',
  'test/browser/degraded-worker.test.ts',
  'test/browser/document.test.ts',
  'test/browser/documentation.test.ts',
  'test/browser/examples.test.ts',
  'test/browser/forks.test.ts',
  'test/browser/inspector.test.ts',
  'test/browser/jsdom.test.ts',
  'test/browser/libraries.test.ts',
  'test/browser/play.test.ts',
  'test/browser/playwright.test.ts',
  'test/browser/processes.test.ts',
  'test/browser/run-end.test.ts',
  'test/browser/series.test.ts',
  'test/docs/counters.test.ts',
  'test/docs/deploying.test.ts',
  'test/package/',
  'test/processes/',
]

const COMMANDS = ['run', 'watch', 'dev', 'list']

/**
 * @param words of Vitest's command line. A command names no file, and nor does what stands behind a
 *   flag
 * @returns the patterns of the files that a plain run with them leaves out
 */
function leftOutBy(words: readonly string[]): readonly string[] {
  const rest = COMMANDS.includes(words[0] ?? '') ? words.slice(1) : words
  const namesFiles = rest.some((word, i) => !word.startsWith('-') && !rest[i - 1]?.startsWith('-'))
  return namesFiles ? [] : FULL_ONLY.map((path) => (path.endsWith('/') ? `${path}**` : path))
}

/** Those that this run is to leave out. */
export const leftOut: readonly string[] = isFull ? [] : leftOutBy(process.argv.slice(2))

const SIZES = {
  /** Schedules of the simulation, seeds from 1 on. */
  SCHEDULES: { small: 20, full: 2_000 },
  /** States of one corner of the model within its small bounds, which has 60,000 at most. */
  SMALL_STATES: { small: 2_000, full: Number.POSITIVE_INFINITY },
  /** States of one corner of the model within its larger bounds. */
  STATES: { small: 0, full: 12_000 },
  /** States of one corner of a page; each is reached anew by its events. */
  PAGE_STATES: { small: 500, full: 10_000 },
  /** Walks at random through one corner of a page, each to its end. */
  PAGE_WALKS: { small: 50, full: 1_000 },
  /** Random sequences that a property is tried with, where one of them takes milliseconds. */
  SEQUENCES: { small: 50, full: 250 },
  /** Steps of random ledgers. */
  LEDGER_RUNS: { small: 30, full: 150 },
  /** Random requests to the server, most of them hostile. */
  REQUESTS: { small: 500, full: 10_000 },
  /** Claims of two servers on one PostgreSQL. */
  CLAIMS: { small: 400, full: 20_000 },
  /** How often a server, and a PostgreSQL, is killed. */
  KILLS: { small: 1, full: 8 },
  /** Blocks of numbers that an ORM and the server take from one counter. */
  BLOCKS: { small: 200, full: 1_000 },
  /** How often a page makes one id and loads itself again. */
  RELOADS: { small: 15, full: 80 },
  /** How often a browser is killed while its pages make ids. */
  CRASHES: { small: 1, full: 8 },
  /** Ids that each of several pages makes at the same time. */
  IDS_PER_PAGE: { small: 250, full: 1_000 },
} as const

/**
 * An environment variable asks for another size: `TEST_RELOADS=1000 npm run test:browser`. Its name
 * does not begin with `HILO_`: the servers that tests start refuse such a variable.
 */
export const sizeOf = (name: keyof typeof SIZES): number =>
  Number(process.env[`TEST_${name}`] ?? SIZES[name][isFull ? 'full' : 'small'])

/** The seed of random choices. Another run repeats them by it: `TEST_SEED=42 npm test -- crash`. */
export const seed = (): number =>
  Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
