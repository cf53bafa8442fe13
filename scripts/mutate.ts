/**
 * `npm run mutate`: takes each guard against duplicates out of a copy of the sources, one at a
 * time, and shows that its test notices, and whether the explorer and the simulation do. Fails when
 * the test does not. The checkout is never touched.
 *
 *     npm run mutate -- --only 'strict'     guards whose name contains this, or `H2 `, its hazard
 *     npm run mutate -- --states 100000     explored per guard and corner; 0: none
 *     npm run mutate -- --schedules 500     simulated per guard; 0: none
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { GUARDS, type Guard } from './guards.js'
import { loadedFiles } from './loaded-files.js'
import { guardedCode, replaceMarked } from './markers.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COPIED = [
  'src',
  'server',
  'demo',
  'docs',
  'examples',
  'test',
  'scripts',
  'package.json',
  'tsconfig.json',
  'vite.config.ts',
]
const code = guardedCode(ROOT)
const EXPLORER = 'scripts/model.ts'
/** The files that the explorer loads: it cannot notice a guard in another file. */
const explored = loadedFiles(ROOT, EXPLORER)
/** The same for every guard, so that a run can be compared with the run before. */
const FIRST_SEED = 1
/** A run that takes longer is ended. It proves nothing. */
const TOO_LONG_MS = 600_000

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    states: { type: 'string', default: '1000000' },
    schedules: { type: 'string', default: '600' },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
})

type Outcome = 'passed' | 'failed' | 'did not end' | 'not run'

interface Run {
  outcome: Outcome
  output: string
}

const NOT_RUN: Run = { outcome: 'not run', output: '' }

interface Verdict {
  guard: Guard
  test: Outcome
  explorer: string
  simulation: string
}

const chosen = GUARDS.filter(({ name }) => name.includes(values.only))
if (chosen.length === 0) {
  console.error(`No guard has '${values.only}' in its name. scripts/guards.ts lists them.`)
  process.exit(1)
}
await provePassing()
const left = [...chosen]
const verdicts: Verdict[] = []
await Promise.all(Array.from({ length: Number(values.processes) }, workThrough))
console.log(`\n${verdicts.map(row).sort().join('\n')}`)
const survivors = verdicts.filter(({ test }) => test !== 'failed')
console.log(
  `\n${verdicts.length} guards taken out, ${survivors.length} of them without a test that fails.`,
)
process.exitCode = survivors.length > 0 ? 1 : 0

/** Runs everything with all guards first: a test that fails then proves nothing. */
async function provePassing(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'hilo-mutants-'))
  try {
    copyTo(folder)
    const tested = await test(folder, [...new Set(chosen.map((guard) => guard.test))])
    const explored = await explore(folder)
    const simulated = await simulate(folder)
    const runs = { 'the tests': tested, 'the explorer': explored, 'the simulation': simulated }
    for (const [what, { outcome, output }] of Object.entries(runs))
      if (outcome !== 'passed' && outcome !== 'not run')
        throw new Error(`Before any guard was taken out, ${what} ${outcome}:\n${output}`)
    console.log(
      `Nothing taken out: tests ${tested.outcome}, explorer ${explored.outcome}, ` +
        `simulation ${simulated.outcome}.`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

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
  copyTo(folder)
  const marked = code.find(({ name }) => name === guard.name)
  if (!marked) throw new Error(`The sources have no comment 'guard: ${guard.name}'.`)
  writeFileSync(join(folder, marked.file), replaceMarked(marked.source, marked, guard.takeOut))
  const tested = await test(folder, [guard.test])
  const isExplored = explored.has(marked.file)
  const found = isExplored ? await explore(folder) : NOT_RUN
  const simulated = await simulate(folder)
  return {
    guard,
    test: tested.outcome,
    explorer: isExplored
      ? told(found, /(\d+)\. .*\s*$/, (events) => `${events} events`)
      : 'outside',
    simulation: told(simulated, /--seed (\d+)/, (seed) => `seed ${seed}`),
  }
}

/** A number in the output of a run: what it found first. */
function told(
  { outcome, output }: Run,
  number: RegExp,
  inWords: (number: string) => string,
): string {
  if (outcome === 'passed') return '–'
  const found = outcome === 'failed' && number.exec(output)?.[1]
  return found ? inWords(found) : outcome
}

function copyTo(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  for (const name of COPIED)
    cpSync(join(ROOT, name), join(folder, name), { recursive: true, filter: isSource })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
}

function isSource(path: string): boolean {
  return !['node_modules', 'dist', 'coverage'].includes(basename(path))
}

function test(folder: string, files: readonly string[]): Promise<Run> {
  return run(folder, 'vitest', ['run', '--project', 'unit*', '--bail', '1', ...files])
}

/** Explores the small bounds until it finds a violation. */
async function explore(folder: string): Promise<Run> {
  if (values.states === '0') return NOT_RUN
  return run(folder, 'tsx', [EXPLORER, '--small', '--states', values.states])
}

async function simulate(folder: string): Promise<Run> {
  if (values.schedules === '0') return NOT_RUN
  const which = ['--schedules', values.schedules, '--from', String(FIRST_SEED)]
  const how = ['--processes', '1', '--until-failure']
  return run(folder, 'tsx', ['scripts/simulate.ts', ...which, ...how])
}

function run(folder: string, command: string, args: readonly string[]): Promise<Run> {
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
    child.on('exit', (code, signal) => {
      // Ended from here, Vitest exits as if tests had failed.
      const wasEnded = signal !== null || child.killed
      resolve({ outcome: wasEnded ? 'did not end' : code === 0 ? 'passed' : 'failed', output })
    })
  })
}

function row({ guard, test, explorer, simulation }: Verdict): string {
  const tests = test === 'failed' ? guard.test : `${guard.test} ${test}`
  return (
    `${test === 'failed' ? '✓' : '✗ SURVIVED'} ${guard.name.padEnd(72)} ` +
    `explorer: ${explorer.padEnd(11)} simulation: ${simulation.padEnd(11)} ${tests}`
  )
}
