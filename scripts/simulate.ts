/**
 * `npm run simulate`: many random schedules on every core, with a table of the faults that they
 * met; or one schedule, printed line by line.
 *
 *     npm run simulate                               100,000 schedules from a random seed
 *     npm run simulate -- --from 1 --schedules 500   as many, from a seed on
 *     npm run simulate -- --seed 42                  the whole schedule of one seed
 *     npm run simulate -- --word replica             with this event alone (words.ts), also if it
 *                                                    is switched off, because its fault is known
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { play, tell } from '../test/simulation/play.js'
import {
  ENOUGH_FOR_ALL_HITS,
  neverHit,
  story,
  type Tally,
  table,
} from '../test/simulation/report.js'
import { wordNamed } from '../test/simulation/words.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    schedules: { type: 'string', default: '100000' },
    from: { type: 'string' },
    word: { type: 'string', multiple: true },
    'until-failure': { type: 'boolean', default: false },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
})

const words = values.word?.map(wordNamed)
const more = words?.map((word) => ` --word ${word}`).join('') ?? ''

if (values.seed !== undefined) {
  const [outcome] = await tell([Number(values.seed)], { words })
  console.log(story(outcome!, more))
  process.exitCode = outcome!.violations.length > 0 ? 1 : 0
} else
  await playAll(
    Number(values.schedules),
    Number(values.from ?? Math.floor(Math.random() * 2 ** 40)),
    Number(values.processes),
  )

async function playAll(schedules: number, from: number, processes: number): Promise<void> {
  console.log(
    `${schedules.toLocaleString('en')} schedules from seed ${from}, in ${processes} processes`,
  )
  const started = performance.now()
  let told = 0
  const progress = (soFar: Tally) => {
    for (const { seed, violation } of soFar.failed.slice(told))
      console.log(`\n✗ ${violation.slice(0, 160)}\n  npm run simulate -- --seed ${seed}${more}`)
    told = soFar.failed.length
    showProgress(soFar, schedules, performance.now() - started)
  }
  const tally = await play({
    from,
    schedules,
    processes,
    ...(words && { words }),
    progress,
    ...(values['until-failure'] && { mostFailures: 1 }),
  })
  process.stdout.write('\n')
  console.log(table(tally))
  const missing =
    schedules >= ENOUGH_FOR_ALL_HITS && tally.failed.length === 0 ? neverHit(tally) : []
  if (missing.length > 0) console.log(`Never hit, so not tested: ${missing.join(', ')}`)
  process.exitCode = tally.failed.length + missing.length > 0 ? 1 : 0
}

function showProgress({ schedules, failed }: Tally, all: number, elapsed: number): void {
  const share = schedules / all
  const bar = '█'.repeat(Math.round(share * 30)).padEnd(30, '░')
  const left = Math.round(((elapsed / share) * (1 - share)) / 1000)
  const text =
    `${bar} ${(share * 100).toFixed(1)}%  ${schedules.toLocaleString('en')} schedules, ` +
    `${failed.length} failed, ${left} s left`
  process.stdout.write(process.stdout.isTTY ? `\r${text} ` : `${text}\n`)
}
