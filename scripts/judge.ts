/**
 * A process that runs tests of the folder in which it is started, and says how they ended. Vitest
 * starts once; for each question only the files that have changed are read again.
 *
 *     judge.ts 30000 server/test/backup.test.ts
 *
 * A test that takes longer than so many milliseconds has not ended. The files are run although a
 * plain run leaves them out.
 */
import { join, relative } from 'node:path'
import { BaseSequencer, createVitest, type TestCase, type TestSpecification } from 'vitest/node'
import { isCrash } from './crashes.js'

/** Tests of one file, by their ids; all of them without. */
export interface TestsOfFile {
  file: string
  ids?: readonly string[]
}

export interface Question {
  /** Run in this order. */
  tests: readonly TestsOfFile[]
  /** Files that have changed since the last question. */
  changed: readonly string[]
  /** Go on when somebody has noticed? */
  all: boolean
}

export interface RanTest {
  file: string
  id: string
  ms: number
  /** The mutants whose code it has run: see `probes.ts`. */
  reached: readonly number[]
}

export interface Answer {
  /**
   * `failed` by an assertion, or by an error that somebody throws on purpose; `crashed` by nothing
   * but errors of the engine, which notice nothing.
   */
  outcome: 'passed' | 'crashed' | 'did not end' | 'failed'
  file: string
  id?: string
  test: string
  message: string
  ran: RanTest[]
}

type Errors = readonly { name?: string; message: string }[]

declare module 'vitest' {
  interface TaskMeta {
    reached?: number[]
  }
}

const RANK: Answer['outcome'][] = ['passed', 'crashed', 'did not end', 'failed']
/** A loop that never ends keeps also the next test from beginning. */
const LIMITS_OF_SILENCE = 2

class AsAsked extends BaseSequencer {
  override sort = async (files: TestSpecification[]): Promise<TestSpecification[]> => files
}

// As Vitest's command does.
process.env.VITEST = 'true'
process.env.NODE_ENV = 'test'
const root = process.cwd()
const testMs = Number(process.argv[2])
let answer: Answer
let goesOn = false
let silence: NodeJS.Timeout | undefined

const vitest = await createVitest('test', {
  root,
  watch: false,
  project: ['unit', 'unit-isolated'],
  maxWorkers: 1,
  sequence: { sequencer: AsAsked },
  testTimeout: testMs,
  hookTimeout: testMs,
  reporters: [
    {
      onTestModuleStart: ({ moduleId }) => note(moduleId, ''),
      onTestCaseResult: (test) => {
        ended(test)
        const { errors } = test.result()
        note(test.module.moduleId, test.fullName, errors as Errors, test.id)
      },
      onTestSuiteResult: (suite) => note(suite.module.moduleId, suite.fullName, suite.errors()),
      onTestModuleEnd: (module) => note(module.moduleId, '', module.errors()),
    },
  ],
})
for (const { config } of vitest.projects)
  config.setupFiles.push(join(root, 'scripts/note-reached.ts'))

process.on('disconnect', () => process.exit())
process.on('message', async (question: Question) => {
  silence = setTimeout(() => {
    process.send!({ ...answer, outcome: 'did not end', message: 'No other test begins.' })
  }, LIMITS_OF_SILENCE * testMs)
  await run(question)
  clearTimeout(silence)
  process.send!(answer)
})
process.send!('ready')

async function run({ tests, changed, all }: Question): Promise<void> {
  answer = { outcome: 'passed', file: '', test: '', message: '', ran: [] }
  goesOn = all
  for (const file of changed) vitest.invalidateFile(join(root, file))
  const known = await vitest.globTestSpecifications(tests.map(({ file }) => join(root, file)))
  const asked = tests.flatMap(({ file, ids }) =>
    known
      .filter(({ moduleId }) => moduleId === join(root, file))
      .map(({ project, moduleId }) =>
        project.createSpecification(moduleId, ids && { testIds: [...ids] }),
      ),
  )
  const { unhandledErrors } = await vitest.runTestSpecifications(asked)
  note('', 'outside of a test', unhandledErrors as Errors)
  if (answer.outcome === 'passed' && answer.ran.length === 0)
    answer = { ...answer, outcome: 'crashed', message: 'No test ran.' }
}

function ended(test: TestCase): void {
  if (test.result().state === 'skipped') return
  const { id, module } = test
  const ms = test.diagnostic()?.duration ?? 0
  answer.ran.push({
    file: relative(root, module.moduleId),
    id,
    ms,
    reached: test.meta().reached ?? [],
  })
}

/** Keeps what notices best. The run ends when somebody has noticed. */
function note(path: string, test: string, errors: Errors = [], id?: string): void {
  silence?.refresh()
  for (const error of errors) {
    const outcome = isCrash(error)
      ? 'crashed'
      : /timed out in \d+ms/.test(error.message)
        ? 'did not end'
        : 'failed'
    if (RANK.indexOf(outcome) <= RANK.indexOf(answer.outcome)) continue
    const file = relative(root, path)
    answer = { ...answer, outcome, file, test, message: error.message, ...(id && { id }) }
    if (outcome !== 'crashed' && !goesOn) void vitest.cancelCurrentRun('test-failure')
  }
}
