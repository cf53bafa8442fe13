/**
 * Plays many schedules on every core: each process takes the next batch of seeds. It can also tell
 * some schedules in full: a seed makes the same events every time.
 */
import { fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import type { Batch, Told } from './player.js'
import { emptyTally, merge, type Tally } from './report.js'
import type { Outcome } from './simulate.js'
import type { WordName } from './words.js'

export interface Play {
  from: number
  schedules: number
  processes?: number
  /** Only these words (words.ts). */
  words?: readonly WordName[]
  /** No batch is begun after so many failures: more of them tell nothing new. */
  mostFailures?: number
  /** Told after each batch. */
  progress?(tally: Tally): void
}

/** Seeds that a process works on before it reports and asks for more. */
const BATCH = 20

const PLAYER = fileURLToPath(new URL('./player.ts', import.meta.url))
/** Where Node finds the libraries that are left out of a bundle. */
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))
/** These load code or native parts by themselves. */
const EXTERNAL = ['@photostructure/sqlite', 'pg', 'pino', 'prom-client']
/**
 * Nearly everything that a schedule allocates is garbage soon. With more room the garbage collector
 * runs less often. The work of a schedule is spread over thousands of functions: in the first few
 * hundred schedules of a process, most of them would be optimized before that pays.
 */
const NODE_OPTIONS = [
  '--max-semi-space-size=32',
  '--always-sparkplug',
  '--interrupt-budget=1000000',
]

export async function play({
  from,
  schedules,
  processes = availableParallelism(),
  words,
  mostFailures = 20,
  progress = () => {},
}: Play): Promise<Tally> {
  const tally = emptyTally()
  const end = from + schedules
  let next = from
  const takeBatch = (): Batch | undefined => {
    if (next >= end || tally.failed.length >= mostFailures) return undefined
    const batch = { from: next, count: Math.min(BATCH, end - next), ...(words && { words }) }
    next += batch.count
    return batch
  }
  const done = (part: Tally) => {
    merge(tally, part)
    progress(tally)
  }
  await withPlayer((player) =>
    Promise.all(Array.from({ length: processes }, () => work(player, takeBatch, done))),
  )
  return tally
}

/** Schedules in full, one after the other in one process. */
export async function tell(
  seeds: readonly number[],
  how: Omit<Told, 'told'> = {},
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const left = seeds.map((told): Told => ({ told, ...how }))
  await withPlayer((player) =>
    work(
      player,
      () => left.shift(),
      (outcome: Outcome) => outcomes.push(outcome),
    ),
  )
  return outcomes
}

let bundled: Promise<string> | undefined

/** Gives `use` the player's file. Bundled once, and removed when this process ends. */
async function withPlayer(use: (player: string) => Promise<unknown>): Promise<void> {
  bundled ??= bundleForThisProcess()
  await use(await bundled)
}

async function bundleForThisProcess(): Promise<string> {
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(join(CACHE, 'simulation-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const player = join(folder, 'player.mjs')
  await bundle(player)
  return player
}

/**
 * In one file, no `import()` waits for a disk: a schedule is the same whether its code was loaded
 * before or not. It also starts sooner, and runs a fifth faster, than modules that are translated
 * as they are loaded.
 */
export async function bundle(file: string): Promise<void> {
  await build({
    input: PLAYER,
    platform: 'node',
    external: EXTERNAL,
    // package.json says that modules do nothing when they are loaded. Some of the simulation's do:
    // without comlink.ts, the garbage collector keeps the world of every schedule.
    treeshake: { moduleSideEffects: () => true },
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    output: { file, codeSplitting: false },
  })
}

/** Gives one process one task after another. */
function work<Task extends object, Report>(
  player: string,
  takeTask: () => Task | undefined,
  done: (report: Report) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // The reports contain maps and sets.
    const child = fork(player, { execArgv: NODE_OPTIONS, serialization: 'advanced' })
    const feed = () => {
      const task = takeTask()
      if (task) child.send(task)
      else child.disconnect()
    }
    child.on('message', (report: Report) => {
      done(report)
      feed()
    })
    child.on('error', reject)
    child.on('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`A simulating process ended: ${signal ?? code}`)),
    )
    feed()
  })
}
