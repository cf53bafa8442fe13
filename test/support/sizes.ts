/**
 * How large the long tests are, and which ones `npm test` leaves out. It runs the others small, in
 * one browser engine; with `CI=true` all run at full size, in every engine.
 */

/** Is everything to run, at full size? */
export const isFull = Boolean(process.env.CI) && process.env.CI !== 'false'

/**
 * Files that `npm test` leaves out by itself, so that it takes three minutes: what they try is held
 * at less cost by others, or they are about other programs, deployments, the documents and benches.
 * All others run with `CI=true`, and by their names: `npm run test:unit -- etcd`.
 */
const NOT_IN_BRIEF = [
  'server/test/!(access|crash|fuzz|*-routes|ledger-property|sqlite-ledger).test.ts',
  'server/test/addons/**',
  'test/browser/!(crashes|ids).test.ts',
  'test/{docs,package,processes}/**',
  'test/simulation/!(simulation).test.ts',
  'test/{gate-summary,guards,run-tests}.test.ts',
]

/** Does this run, or one that it starts, leave these files out? */
export const isBrief = (): boolean => process.env.TEST_BRIEF === 'yes'
export function runBriefly(): void {
  process.env.TEST_BRIEF = 'yes'
}
export const leftOut = (): string[] => (isBrief() ? NOT_IN_BRIEF : [])

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
  /** Random lives of tills, of 60 steps each, seeds from 1 on. */
  TILL_LIVES: { small: 10, full: 60 },
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
  /** Random lives of a back end's counter, per ORM. */
  COUNTER_LIVES: { small: 1, full: 3 },
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
