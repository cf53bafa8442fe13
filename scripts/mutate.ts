/**
 * `npm run mutate`: takes each guard against duplicates out of a copy of the sources, one at a time, and shows which test notices.
 * Fails when none does, and when a guard's text is not where it is said to be. The checkout is never touched.
 *
 *     npm run mutate -- --only 'strict'     guards whose name contains this
 *     npm run mutate -- --schedules 500     simulated per guard
 *     npm run mutate -- --fast              no unit tests for what the simulation has noticed
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { GUARDS, type Guard } from './guards.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COPIED = ['src', 'test', 'scripts', 'package.json', 'tsconfig.json', 'vite.config.ts']
const UNIT_TESTS = ['core', 'store', 'source', 'worker', 'client', 'server'].map((part) => `test/${part}`)
/** The same for every guard, so that a table can be compared with the one before. */
const FIRST_SEED = 1
const TOO_LONG_MS = 300_000

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    schedules: { type: 'string', default: '600' },
    fast: { type: 'boolean', default: false },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
})

interface Verdict {
  guard: Guard
  simulation: string
  unitTests: string
  isCaught: boolean
}

const SKIPPED = { isFailed: false, output: '' }
/** A control: what fails without any edit proves nothing. */
const NOTHING: Guard = { hazard: '', name: 'nothing taken out', edits: [] }
const left = GUARDS.filter(({ name }) => name.includes(values.only))
const verdicts: Verdict[] = []
const controlFolder = mkdtempSync(join(tmpdir(), 'hilo-mutants-'))
const control = await judge(controlFolder, NOTHING)
rmSync(controlFolder, { recursive: true, force: true })
if (control.isCaught) throw new Error(`The tests fail before any guard is taken out: ${row(control)}`)
await Promise.all(Array.from({ length: Number(values.processes) }, workThrough))
console.log(`\n${verdicts.map(row).sort().join('\n')}`)
const survivors = verdicts.filter(({ isCaught }) => !isCaught)
console.log(`\n${verdicts.length} guards taken out, ${survivors.length} not missed.`)
process.exitCode = survivors.length > 0 ? 1 : 0

async function workThrough(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'hilo-mutants-'))
  try {
    for (let guard = left.shift(); guard; guard = left.shift()) {
      const verdict = await judge(folder, guard)
      verdicts.push(verdict)
      console.log(row(verdict))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function judge(folder: string, guard: Guard): Promise<Verdict> {
  rmSync(folder, { recursive: true, force: true })
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  for (const { file, from, to } of guard.edits) {
    const path = join(folder, file)
    const source = readFileSync(path, 'utf8')
    if (source.split(from).length !== 2) return { guard, simulation: `text not found once in ${file}`, unitTests: '', isCaught: false }
    writeFileSync(
      path,
      source.replace(from, () => to),
    )
  }
  const simulated = await run(folder, 'tsx', [
    'scripts/simulate.ts',
    '--schedules',
    values.schedules,
    '--from',
    String(FIRST_SEED),
    '--processes',
    '1',
    '--until-failure',
  ])
  const seed = /--seed (\d+)/.exec(simulated.output)?.[1]
  const isEnough = values.fast && simulated.isFailed
  const tested = isEnough ? SKIPPED : await run(folder, 'vitest', ['run', '--project', 'unit', '--bail', '1', ...UNIT_TESTS])
  const test = /FAIL.*?(test\/\S+)/.exec(tested.output)?.[1]
  return {
    guard,
    simulation: simulated.isFailed ? (seed ? `seed ${seed}` : 'did not end') : '–',
    unitTests: tested.isFailed ? (test ?? 'failed') : '–',
    isCaught: simulated.isFailed || tested.isFailed,
  }
}

function run(folder: string, command: string, args: readonly string[]): Promise<{ isFailed: boolean; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(folder, 'node_modules/.bin', command), args, {
      cwd: folder,
      env: { ...process.env, NO_COLOR: '1' },
      timeout: TOO_LONG_MS,
    })
    let output = ''
    child.stdout.on('data', (text) => {
      output += text
    })
    child.stderr.on('data', (text) => {
      output += text
    })
    child.on('error', reject)
    child.on('exit', (code) => resolve({ isFailed: code !== 0, output }))
  })
}

function row({ guard: { name, hazard }, simulation, unitTests, isCaught }: Verdict): string {
  return `${isCaught ? '✓' : '✗ SURVIVED'} ${hazard.padEnd(4)} ${name.padEnd(58)} simulation: ${simulation.padEnd(12)} tests: ${unitTests}`
}
