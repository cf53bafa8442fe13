/**
 * `npm run bench`: what this package costs, beside its peers and beside the least that the work takes, on this machine, in one run.
 *
 *     npm run bench -- issuing server     only these
 *     npm run bench -- --quick            only shows that all of it works: its figures mean nothing
 *     npm run bench -- --full             also with a ledger of ten million rows
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bulk } from './parts/bulk.js'
import { firstId } from './parts/first-id.js'
import { gaps } from './parts/gaps.js'
import { issuing } from './parts/issuing.js'
import { server } from './parts/server.js'
import { size } from './parts/size.js'
import { tabs } from './parts/tabs.js'
import { machine } from './text.js'

const PARTS = [issuing, firstId, tabs, bulk, gaps, server, size]

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, full: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const unknown = positionals.find((name) => !PARTS.some((part) => part.name === name))
if (unknown) throw new Error(`There is no bench '${unknown}'. There are: ${PARTS.map(({ name }) => name).join(', ')}.`)

const scratch = mkdtempSync(join(tmpdir(), 'hilo-bench-'))
// What a shortened run measures is worth no plot.
const images = values.quick ? scratch : fileURLToPath(new URL('../docs/images', import.meta.url))
try {
  console.log(machine())
  for (const { name, title, run } of PARTS) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    console.log(`\n## ${title}\n`)
    await run({ isQuick: values.quick, isFull: values.full, images, print: (text) => console.log(`${text}\n`) })
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
