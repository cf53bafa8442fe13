/**
 * Plays many schedules, on every core: seeds follow each other, each process takes the next batch
 * of them.
 */
import { fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import type { Batch } from './player.js'
import { emptyTally, merge, type Tally } from './report.js'

export interface Play {
  from: number
  schedules: number
  processes?: number
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
/** They load code or native parts by themselves. */
const EXTERNAL = ['libsql', 'pg', 'pino', 'prom-client']
/**
 * Most of what a schedule allocates is dead soon; with more room for it the collector runs less.
 */
const NODE_OPTIONS = ['--max-semi-space-size=32']

export async function play({
  from,
  schedules,
  processes = availableParallelism(),
  mostFailures = 20,
  progress = () => {},
}: Play): Promise<Tally> {
  const tally = emptyTally()
  const end = from + schedules
  let next = from
  const takeBatch = (): Batch | undefined => {
    if (next >= end || tally.failed.length >= mostFailures) return undefined
    const batch = { from: next, count: Math.min(BATCH, end - next) }
    next += batch.count
    return batch
  }
  const done = (part: Tally) => {
    merge(tally, part)
    progress(tally)
  }
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(join(CACHE, 'simulation-'))
  try {
    const player = join(folder, 'player.mjs')
    await bundle(player)
    await Promise.all(Array.from({ length: processes }, () => work(player, takeBatch, done)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return tally
}

/**
 * One file starts sooner, and runs a fifth faster, than modules that are translated as they are
 * loaded.
 */
async function bundle(file: string): Promise<void> {
  await build({
    input: PLAYER,
    platform: 'node',
    external: EXTERNAL,
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    output: { file, codeSplitting: false },
  })
}

/** One process, from batch to batch. */
function work(
  player: string,
  takeBatch: () => Batch | undefined,
  done: (part: Tally) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(player, { execArgv: NODE_OPTIONS })
    const feed = () => {
      const batch = takeBatch()
      if (batch) child.send(batch)
      else child.disconnect()
    }
    child.on(
      'message',
      (
        part: Omit<Tally, 'hits' | 'tolerated'> & {
          hits: [string, number][]
          tolerated: [string, number][]
        },
      ) => {
        done({ ...part, hits: new Map(part.hits), tolerated: new Map(part.tolerated) })
        feed()
      },
    )
    child.on('error', reject)
    child.on('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`A simulating process ended: ${signal ?? code}`)),
    )
    feed()
  })
}
