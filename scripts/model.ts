/**
 * `npm run model`: explores every order of events within bounds. If something is wrong, prints the
 * shortest way to it, and stops.
 *
 *     npm run model                                       the corners of the tests, at full size
 *     npm run model -- --small                            to the end, as `CI=true npm test` does
 *     npm run model -- --corner copied                    corners whose name contains this
 *     npm run model -- --devices 2 --pages 2 --claims 2   your own bounds; what is not given is 0
 *     npm run model -- --states 50000000                  stops after so many states of a corner
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { boundsFrom, boundsOf, CORNERS } from '../test/model/bounds.js'
import { type Exploration, explore } from '../test/model/explorer.js'
import { PAGE_CORNERS } from '../test/model/one-page-corners.js'
import { explorePage } from '../test/model/one-page-model.js'
import { report } from '../test/model/report.js'
import type { Bounds } from '../test/model/state.js'
import { hiloModel } from '../test/model/system.js'
import { createRandom } from '../test/simulation/random.js'

/** Of one page: each is reached anew by its events, which takes longer. Walks go farther away. */
const PAGE_STATES = 10_000
const PAGE_WALKS = 2_000
/** The same in every run, so that a run can be compared with the run before. */
const SEED = 1

const NUMBERS = Object.keys(boundsFrom({})).filter((name) => name !== 'authority')

const { values } = parseArgs({
  options: {
    states: { type: 'string', default: '1000000' },
    small: { type: 'boolean', default: false },
    corner: { type: 'string', default: '' },
    /** Explores one corner in this process. */
    alone: { type: 'boolean', default: false },
    processes: { type: 'string', default: String(availableParallelism()) },
    /** `own`, `plain`, `ravendb`, `counter` or `document`; see `Bounds`. */
    authority: { type: 'string', default: 'own' },
    ...Object.fromEntries(NUMBERS.map((name) => [name, { type: 'string' as const }])),
  },
})

const chosen = [...Object.keys(PAGE_CORNERS), ...Object.keys(CORNERS)].filter((name) =>
  name.includes(values.corner),
)
const asked = Object.entries(values).filter(([name]) => NUMBERS.includes(name))
if (asked.length > 0) {
  const numbers = Object.fromEntries(asked.map(([name, value]) => [name, Number(value)]))
  const authority = values.authority as Bounds['authority']
  const model = hiloModel(boundsFrom({ ...numbers, authority }))
  await tell('these bounds', async (limits) => explore(model, limits))
} else if (values.alone || values.small) {
  for (const corner of chosen) if (!(await tell(corner, (limits) => found(corner, limits)))) break
} else {
  const left = [...chosen]
  await Promise.all(Array.from({ length: Number(values.processes) }, () => work(left)))
}

/** Explores corner by corner, each in a process of its own, so that its memory is freed. */
async function work(left: string[]): Promise<void> {
  for (let corner = left.shift(); corner; corner = left.shift()) {
    const args = ['--alone', '--corner', corner, '--states', values.states]
    const child = fork(fileURLToPath(import.meta.url), args)
    const code = await new Promise((resolve) => child.on('exit', resolve))
    if (code !== 0) process.exitCode = 1
  }
}

async function found(corner: string, limits: { states: number }): Promise<Exploration> {
  const page = PAGE_CORNERS[corner]
  if (page) {
    const states = Math.min(limits.states, PAGE_STATES)
    return explorePage(page, { states, walks: PAGE_WALKS, random: createRandom(SEED) })
  }
  const bounds = boundsOf(corner, values.small ? 'small' : 'full')
  return explore(hiloModel(bounds, CORNERS[corner]!.before), limits)
}

/** @returns whether nothing is wrong */
async function tell(
  title: string,
  explored: (limits: { states: number }) => Promise<Exploration>,
): Promise<boolean> {
  const started = performance.now()
  const found = await explored({ states: Number(values.states) })
  const seconds = Math.round((performance.now() - started) / 1000)
  const { maxRSS } = process.resourceUsage()
  console.log(`${title}: ${report(found)} (${seconds} s, ${Math.round(maxRSS / 1024)} MB)`)
  if (found.violation) process.exitCode = 1
  return !found.violation
}
