/**
 * `npm run bench` measures what this package costs on this machine, beside other packages and
 * beside the least that the work takes.
 *
 *     npm run bench -- issuing server     only these
 *     npm run bench -- --quick            only shows that all of it works: its figures mean nothing
 *     npm run bench -- --full             also with a ledger of ten million rows
 *     npm run bench -- --write            puts figures into docs/internals/performance.md
 */
import { parseArgs } from 'node:util'
import { bulk } from './parts/bulk.js'
import { firstId } from './parts/first-id.js'
import { gaps } from './parts/gaps.js'
import { issuing } from './parts/issuing.js'
import { regions } from './parts/regions.js'
import { series } from './parts/series.js'
import { server } from './parts/server.js'
import { short } from './parts/short.js'
import { size } from './parts/size.js'
import { tabs } from './parts/tabs.js'
import { count, machine, table } from './text.js'
import { requireCommitted, stamp, writeFigures } from './written.js'

const PARTS = [issuing, firstId, tabs, bulk, gaps, short, series, server, regions, size]

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const unknown = positionals.find((name) => !PARTS.some((part) => part.name === name))
if (unknown)
  throw new Error(
    `There is no bench '${unknown}'. There are: ${PARTS.map(({ name }) => name).join(', ')}.`,
  )
if (values.quick && values.write)
  throw new Error(
    'The figures of a short run mean nothing and are not written: leave out --quick or --write.',
  )

const goalsTable = (goals: readonly string[][]) => table(['', 'goal', 'measured'], goals)
const allGoals: string[][] = []

console.log(machine())
for (const { name, title, measures, run } of PARTS) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  if (values.write) requireCommitted([...measures, 'bench'])
  const goals: string[][] = []
  const start = performance.now()
  const printed: string[] = []
  console.log(`\n## ${title}\n`)
  await run({
    isQuick: values.quick,
    isFull: values.full,
    print(text) {
      printed.push(text)
      console.log(`${text}\n`)
    },
    goal: (...row) => goals.push(row),
  })
  allGoals.push(...goals)
  const ofGoals = goals.length > 0 ? [goalsTable(goals)] : []
  const block = [...ofGoals, ...printed, stamp(measures, machine())]
  if (values.write) writeFigures(name, block.join('\n\n'))
  console.log(`(${count((performance.now() - start) / 1_000)} s)`)
}
console.log(`\n## Goals\n\n${goalsTable(allGoals)}`)
