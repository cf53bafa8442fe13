/**
 * `npm run model`: explores every interleaving within bounds, and prints the shortest way to what
 * is wrong, if something is.
 *
 *     npm run model                                       the corners of the tests, at full size
 *     npm run model -- --devices 2 --pages 2 --claims 2   bounds of your own; others are 0
 *     npm run model -- --states 50000000                  stops after so many states
 */
import { parseArgs } from 'node:util'
import { boundsFrom, boundsOf, CORNERS } from '../test/model/bounds.js'
import { explore } from '../test/model/explorer.js'
import { report } from '../test/model/report.js'
import { type Bounds, hiloModel } from '../test/model/system.js'

const NUMBERS = Object.keys(boundsFrom({})).filter((name) => name !== 'hasTokens')

const { values } = parseArgs({
  options: {
    states: { type: 'string', default: '10000000' },
    /** The authority is a RavenDB, which gives no tokens. */
    ravendb: { type: 'boolean', default: false },
    ...Object.fromEntries(NUMBERS.map((name) => [name, { type: 'string' as const }])),
  },
})

const asked = Object.entries(values).filter(([name]) => NUMBERS.includes(name))
if (asked.length > 0) {
  const numbers = Object.fromEntries(asked.map(([name, value]) => [name, Number(value)]))
  run('these bounds', boundsFrom({ ...numbers, hasTokens: !values.ravendb }))
} else for (const corner of Object.keys(CORNERS)) run(corner, boundsOf(corner, 'full'))

function run(title: string, bounds: Bounds): void {
  const found = explore(hiloModel(bounds), {
    states: Number(values.states),
    progress: ({ states, depth, waiting }) =>
      process.stderr.write(`\r${states} states, ${depth} events deep, ${waiting} waiting `),
  })
  process.stderr.write('\r')
  console.log(`${title}: ${report(found)}`)
  if (found.violation) process.exitCode = 1
}
