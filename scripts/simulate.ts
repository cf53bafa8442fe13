/**
 * `npm run simulate`: many random schedules on every core, with a table of what they hit; or one of them, told line by line.
 *
 *     npm run simulate -- --schedules 1000000        from a random seed, or --from N
 *     npm run simulate -- --seed 42                  the whole schedule of one seed
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { add, ENOUGH_FOR_ALL_HITS, emptyTally, merge, neverHit, story, type Tally, table } from '../test/simulation/report.js'
import { Folders, simulate } from '../test/simulation/simulation.js'

/** Seeds that a process works on before it reports and asks for more. */
const BATCH = 20
/** After so many failures more of them tell nothing new. */
const ENOUGH_FAILURES = 20

type Batch = { from: number; count: number }

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    schedules: { type: 'string', default: '10000' },
    from: { type: 'string' },
    'until-failure': { type: 'boolean', default: false },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
})

if (process.send) serveBatches()
else if (values.seed !== undefined) await tell(Number(values.seed))
else await runAll(Number(values.schedules), Number(values.from ?? Math.floor(Math.random() * 2 ** 40)), Number(values.processes))

async function tell(seed: number): Promise<void> {
  const folders = new Folders()
  const outcome = await simulate(seed, folders, true)
  folders.remove()
  console.log(story(outcome))
  process.exitCode = outcome.violations.length > 0 ? 1 : 0
}

/** In a process of its own. */
function serveBatches(): void {
  process.on('message', async ({ from, count }: Batch) => {
    const folders = new Folders()
    const tally = emptyTally()
    for (let seed = from; seed < from + count && tally.failed.length < ENOUGH_FAILURES; seed++) add(tally, await simulate(seed, folders))
    folders.remove()
    process.send!({ ...tally, hits: [...tally.hits], tolerated: [...tally.tolerated] })
  })
}

async function runAll(schedules: number, first: number, processes: number): Promise<void> {
  console.log(`${schedules.toLocaleString('en')} schedules from seed ${first}, in ${processes} processes`)
  const started = performance.now()
  const tally = emptyTally()
  let next = first
  const takeBatch = (): Batch | undefined => {
    if (next >= first + schedules || tally.failed.length >= (values['until-failure'] ? 1 : ENOUGH_FAILURES)) return undefined
    const batch = { from: next, count: Math.min(BATCH, first + schedules - next) }
    next += batch.count
    return batch
  }
  await Promise.all(
    Array.from({ length: processes }, () =>
      work(takeBatch, (part) => {
        merge(tally, part)
        showProgress(tally, schedules, performance.now() - started)
      }),
    ),
  )
  process.stdout.write('\n')
  console.log(table(tally))
  const missing = schedules >= ENOUGH_FOR_ALL_HITS && tally.failed.length === 0 ? neverHit(tally) : []
  if (missing.length > 0) console.log(`Never hit, so not tested: ${missing.join(', ')}`)
  for (const { seed, violation } of tally.failed) console.log(`✗ ${violation.slice(0, 160)}\n  npm run simulate -- --seed ${seed}`)
  process.exitCode = tally.failed.length + missing.length > 0 ? 1 : 0
}

/** One process, from batch to batch. */
function work(takeBatch: () => Batch | undefined, done: (part: Tally) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url))
    const feed = () => {
      const batch = takeBatch()
      if (batch) child.send(batch)
      else child.disconnect()
    }
    child.on('message', (part: Omit<Tally, 'hits' | 'tolerated'> & { hits: [string, number][]; tolerated: [string, number][] }) => {
      done({ ...part, hits: new Map(part.hits), tolerated: new Map(part.tolerated) })
      feed()
    })
    child.on('exit', (code) => (code ? reject(new Error(`A simulating process ended with code ${code}`)) : resolve()))
    feed()
  })
}

function showProgress({ schedules, failed }: Tally, all: number, elapsed: number): void {
  const share = schedules / all
  const bar = '█'.repeat(Math.round(share * 30)).padEnd(30, '░')
  const left = Math.round(((elapsed / share) * (1 - share)) / 1000)
  const text = `${bar} ${(share * 100).toFixed(1)}%  ${schedules.toLocaleString('en')} schedules, ${failed.length} failed, ${left} s left`
  process.stdout.write(process.stdout.isTTY ? `\r${text} ` : `${text}\n`)
}
