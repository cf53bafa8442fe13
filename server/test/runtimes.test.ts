/** The handler, the rules and the SQL store run wherever `fetch` does, not on Node alone. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'rolldown'
import { expect, test } from 'vitest'
import { RUNTIMES } from '../../test/processes/runtimes.js'
import { newFolder } from './folders.js'
import { newDatabase } from './postgres.js'
import { cliFile } from './processes.js'

const CORE = `
export { createHandler } from '${source('http/handler')}'
export { createLedger } from '${source('ledger/create-ledger')}'
export { sqlStore } from '${source('sql/sql-store')}'`

/** Node's global variables: whoever uses one uses a variable that is not there. */
const NO_GLOBALS = Object.fromEntries(
  ['process', 'Buffer', 'setImmediate', 'global'].map((name) => [name, `missing_${name}`]),
)

/** What a bundler for each of them takes from a package that has several builds. */
const CONDITIONS: Record<string, string[]> = {
  workerd: ['workerd', 'worker', 'browser', 'import'],
  Deno: ['deno', 'node', 'import'],
  Bun: ['bun', 'node', 'import'],
}

function source(name: string): string {
  return new URL(`../src/${name}.ts`, import.meta.url).pathname
}

/** Nothing stands in for a module: what cannot be resolved fails. */
async function bundled(conditionNames: string[], file: string) {
  const { output } = await build({
    input: 'core',
    platform: 'neutral',
    external: /^node:/,
    transform: { define: NO_GLOBALS },
    resolve: { conditionNames, mainFields: [], extensionAlias: { '.js': ['.ts', '.js'] } },
    plugins: [
      {
        name: 'core',
        resolveId: (id) => (id === 'core' ? id : null),
        load: (id) => (id === 'core' ? CORE : null),
      },
    ],
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(`rolldown: ${log.message}`)
    },
    output: { file },
  })
  const [{ code, imports }] = output
  return { imports: imports.sort(), missing: code.match(/\bmissing_(Buffer|setImmediate)/g) }
}

/** On workerd it is 1970 while a module loads. */
const RUN = `
const { now } = Date
Date.now = () => { throw new Error('asks for the time while it is loaded') }
const { createHandler } = await import(FILE)
Date.now = now
const ledger = { claim() {}, onRestored() {} }
const log = { info() {}, error() {} }
const metrics = { budgets() {}, watchQueue() {}, refused() {} }
const ports = { createLog: () => log, createMetrics: () => metrics }
const handler = createHandler({ ledger, open: true }, ports)
const answers = await Promise.all(['/topology?name=Shop', '/metrics'].map(async (path) => {
  const answer = await handler(new Request('http://ids.test' + path))
  return [answer.status, (await answer.json()).Type ?? null]
}))
console.log(JSON.stringify(answers))`

test.each(Object.entries(CONDITIONS))(
  'the handler is bundled for %s and runs',
  async (_, names) => {
    const file = join(newFolder(), 'core.mjs')
    expect(await bundled(names, file)).toEqual({
      imports: ['node:buffer', 'node:crypto', 'node:timers'],
      missing: null,
    })
    const script = RUN.replace('FILE', JSON.stringify(pathToFileURL(file).href))
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', script])
    expect(JSON.parse(String(printed))).toEqual([
      [200, null],
      [400, 'Raven.Client.Exceptions.Routing.RouteNotFoundException'],
    ])
  },
)

const CLAIM_TWICE = `
import process from 'node:process'
import { createHiloHandler, openLedger } from './index.mjs'
const ledger = await openLedger({ create: true, databaseUrl: process.argv[2] })
const handler = createHiloHandler({ ledger, open: true })
const lows = []
for (const _ of [1, 2]) {
  const url = 'http://ids.test/databases/Shop/hilo/next?tag=orders'
  lows.push((await (await handler(new Request(url))).json()).Low)
}
console.log(JSON.stringify(lows))
await ledger.close()`

test.each(
  RUNTIMES.filter(({ title }) => /^(Bun|Deno)/.test(title)).map(
    (each) => [each.title.replace(/ .*/, '') + each.leftOut, each] as const,
  ),
)(
  'the server grants from PostgreSQL in %s',
  async (_, { command: [program, ...before], leftOut }) => {
    if (leftOut) return
    const file = join(await cliFile(), '../claim-twice.mjs')
    writeFileSync(file, CLAIM_TWICE)
    const printed = execFileSync(program, [...before, file, await newDatabase()])
    expect(JSON.parse(String(printed))).toEqual([1, 33])
  },
)
