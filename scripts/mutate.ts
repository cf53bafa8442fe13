/**
 * `npm run mutate`: changes a copy of the sources, one place at a time, and shows that a test
 * notices. It takes out each guard against duplicates in `guards.ts`, and makes each mutant that
 * `mutants.ts` generates. Fails when no test notices, unless `survivors.md` has the reason. A crash
 * notices nothing, so each change has to compile. What the linter refuses is noticed before any
 * test runs. The checkout is never touched.
 *
 *     npm run mutate -- --guards               the guards only; --generated: the mutants only
 *     npm run mutate -- --only 'strict'        those whose name contains this, `H2 ` or `src/core/`
 *     npm run mutate -- --sample 40 --seed 1   as many of the mutants, drawn by the seed
 *     npm run mutate -- --states 100000        explored per guard and corner; 0: none
 *     npm run mutate -- --schedules 500        simulated per guard; 0: none
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path/posix'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { GUARDS, type Guard } from './guards.js'
import type { TestsOfFile } from './judge.js'
import { judging, SOURCES } from './judges.js'
import type { Lane, LaneOptions } from './lane.js'
import { guardedCode, replaceMarked } from './markers.js'
import { drawn, type Mutant, mutantsIn } from './mutants.js'
import { survivors } from './survivors.js'
import { FIRST_SEED, inLanes, isNoticed, row, type Trial, trying, type Verdict } from './trials.js'
import { RULE, typeErrors, type Version } from './type-errors.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Explored and simulated for each mutant that no test notices, in a run of all. */
const FEW = { states: 20_000, schedules: 100 }
/** As the tests have it themselves. */
const GUARD_TEST_MS = 180_000
/** Many a mutant lets a test wait for ever. */
const MUTANT_TEST_MS = 30_000

const { values } = parseArgs({
  options: {
    guards: { type: 'boolean', default: false },
    generated: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    states: { type: 'string', default: '1000000' },
    schedules: { type: 'string', default: '600' },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
})
const [states, schedules, processes] = [values.states, values.schedules, values.processes].map(
  Number,
) as [number, number, number]
const isAsked = ({ name }: { name: string }) => name.includes(values.only)
const attempt = trying(ROOT)

const complaints: string[] = []
const guards = guardTrials(GUARDS.filter(isAsked))
const mutants = values.guards
  ? []
  : SOURCES.flatMap((source) => mutantsIn(ROOT, source)).filter(isAsked)
if (guards.length + mutants.length === 0) {
  console.error(`Nothing has '${values.only}' in its name. scripts/guards.ts lists the guards.`)
  process.exit(1)
}
const reviewed = survivors(ROOT)
const sample = Number(values.sample ?? mutants.length)
// A run of all asks whether those that survive still do. It takes all tests that run their code.
const asked = values.sample ? mutants.filter(({ name }) => !reviewed.has(name)) : mutants
// More than half of them compile.
const candidates = drawn(asked, 2 * sample, Number(values.seed))
const versions = [...guards.map(({ version }) => version), ...candidates.map(sourceOf)]
const errors = typeErrors(ROOT, versions)
for (const [i, { name }] of guards.entries())
  for (const error of errors[i]!)
    complaints.push(`What stands for the guard does not compile: ${name}\n  ${error}`)
const refused = new Set(candidates.filter((_, i) => errors[guards.length + i]!.includes(RULE)))
const compiling = candidates.filter((_, i) => errors[guards.length + i]!.every((e) => e === RULE))
console.log(`${compiling.length} of ${candidates.length} mutants compile.`)
if (!values.generated && guards.length > 0) await tryGuards()
if (compiling.length > 0) await tryMutants(compiling.slice(0, sample))
console.log(complaints.map((complaint) => `\n✗ ${complaint}`).join(''))
process.exitCode = complaints.length > 0 ? 1 : 0

function guardTrials(chosen: readonly Guard[]): Trial[] {
  const code = guardedCode(ROOT)
  return chosen.map(({ name, test, takeOut }) => {
    const marked = code.find((each) => each.name === name)
    if (!marked) throw new Error(`The sources have no comment 'guard: ${name}'.`)
    const version = { file: marked.file, source: replaceMarked(marked.source, marked, takeOut) }
    return { name, version, tests: [{ file: test }], states, schedules, always: true }
  })
}

async function tryGuards(): Promise<void> {
  const named = [...new Set(guards.flatMap(({ tests }) => tests.map(({ file }) => file)))]
  const lanes: LaneOptions = { repository: ROOT, testMs: GUARD_TEST_MS, named }
  await inLanes([named], 1, lanes, provePassing)
  const verdicts = await inLanes(guards, processes, lanes, attempt)
  const survived = verdicts.filter(({ answer }) => !isNoticed(answer))
  complaints.push(...survived.map(row))
  console.log(
    `\n${verdicts.length} guards taken out, ${survived.length} of them without a test that fails.`,
  )
}

/** Runs everything with all guards first: a test that fails then proves nothing. */
async function provePassing(lane: Lane, tests: readonly string[]): Promise<void> {
  const { outcome, file, message } = await lane.test(tests.map((test) => ({ file: test })))
  const runs = {
    'the tests': { outcome, output: `${file}: ${message}` },
    'the explorer': await lane.explore(states),
    'the simulation': await lane.simulate(schedules, FIRST_SEED),
  }
  for (const [what, { outcome, output }] of Object.entries(runs))
    if (outcome !== 'passed' && outcome !== 'not run')
      throw new Error(`Before any guard was taken out, ${what} ${outcome}:\n${output}`)
  console.log('Nothing taken out: nobody notices anything.')
}

function sourceOf({ file, start, end, instead }: Mutant): Version {
  const source = readFileSync(join(ROOT, file), 'utf8')
  return { file, source: source.slice(0, start) + instead + source.slice(end) }
}

async function tryMutants(compiling: readonly Mutant[]): Promise<void> {
  const lanes: LaneOptions = { repository: ROOT, testMs: MUTANT_TEST_MS, named: [] }
  const few = values.sample === undefined ? FEW : { states: 0, schedules: 0 }
  const tests = await judging(ROOT, compiling, (parts, work) =>
    inLanes(parts, processes, lanes, work),
  )
  const trials = compiling.map((mutant, i) => ({
    name: mutant.name,
    version: sourceOf(mutant),
    isRefused: refused.has(mutant),
    tests: tests[i]!,
    ...few,
    always: false,
  }))
  const verdicts = await inLanes(trials, processes, lanes, attempt)
  const noticed = verdicts.filter(({ answer }) => isNoticed(answer))
  await inLanes(byFile(noticed), processes, lanes, checkThatAllPass)
  for (const verdict of verdicts) {
    const isReviewed = reviewed.has(verdict.trial.name)
    if (isNoticed(verdict.answer) === isReviewed)
      complaints.push(`${isReviewed ? 'survivors.md names this: ' : ''}${row(verdict)}`)
  }
  console.table(
    Object.fromEntries(
      SOURCES.map((source) => {
        const here = verdicts.filter(({ trial }) => trial.name.startsWith(source))
        const left = here.filter(({ answer }) => !isNoticed(answer))
        const excused = left.filter(({ trial }) => reviewed.has(trial.name)).length
        const survived = left.length - excused
        return [
          source,
          { tried: here.length, noticed: here.length - left.length, excused, survived },
        ]
      }),
    ),
  )
}

/** The tests that have noticed something, by their file. */
function byFile(verdicts: readonly Verdict[]): TestsOfFile[] {
  const ids = new Map<string, string[]>()
  for (const { file, id } of verdicts.map(({ answer }) => answer))
    if (id) ids.set(file, [...(ids.get(file) ?? []), id])
  return [...ids].map(([file, ids]) => ({ file, ids }))
}

/** A test that fails without a mutant, too, has noticed nothing. */
async function checkThatAllPass(lane: Lane, tests: TestsOfFile): Promise<void> {
  const { outcome, file, test, message } = await lane.test([tests])
  if (outcome !== 'passed')
    complaints.push(`Without a mutant, too, a test ${outcome}: ${file} ${test}\n  ${message}`)
}
