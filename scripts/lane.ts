/** A copy of the sources, in which one change at a time is made and judged. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { GROUPS } from '../test/support/groups.js'
import type { Answer, Question, TestsOfFile } from './judge.js'
import type { Version } from './type-errors.js'

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
/** A run that takes longer is ended. It proves nothing. */
const TOO_LONG_MS = 600_000

type Outcome = Answer['outcome'] | 'not run'

export interface Run {
  outcome: Outcome
  output: string
}

const NOT_RUN: Run = { outcome: 'not run', output: '' }

export interface LaneOptions {
  repository: string
  /** A test that takes longer has not ended. */
  testMs: number
  /** Files of tests that run although a plain run leaves them out. */
  named: readonly string[]
}

export class Lane {
  readonly #options: LaneOptions
  readonly #folder = mkdtempSync(join(tmpdir(), 'hilo-mutants-'))
  #judge: ChildProcess | undefined
  readonly #changed = new Set<string>()

  constructor(options: LaneOptions) {
    this.#options = options
    for (const name of COPIED) this.#copy(name)
    for (const group of ['', ...GROUPS]) {
      const modules = join(options.repository, group, 'node_modules')
      if (existsSync(modules)) symlinkSync(modules, join(this.#folder, group, 'node_modules'))
    }
  }

  /** While the work runs, these files have other sources. */
  async with<T>(versions: readonly Version[], work: () => Promise<T>): Promise<T> {
    for (const { file, source } of versions) {
      writeFileSync(join(this.#folder, file), source)
      this.#changed.add(file)
    }
    try {
      return await work()
    } finally {
      for (const { file } of versions) {
        this.#copy(file)
        this.#changed.add(file)
      }
    }
  }

  /** @param all whether to go on when somebody has noticed */
  async test(tests: readonly TestsOfFile[], { all = false } = {}): Promise<Answer> {
    this.#judge ??= await this.#start()
    const question: Question = { tests, all, changed: [...this.#changed] }
    this.#changed.clear()
    const told = next(this.#judge)
    this.#judge.send(question)
    const answer = (await told) as Answer | null
    if (answer && answer.outcome !== 'did not end') return answer
    this.#end()
    return answer ?? nothing('did not end', 'The process that runs the tests has ended.')
  }

  /** Explores the small bounds until it finds a violation. */
  async explore(states: number): Promise<Run> {
    if (states === 0) return NOT_RUN
    return this.#run(['scripts/model.ts', '--small', '--states', String(states)])
  }

  async simulate(schedules: number, firstSeed: number): Promise<Run> {
    if (schedules === 0) return NOT_RUN
    const which = ['--schedules', String(schedules), '--from', String(firstSeed)]
    return this.#run(['scripts/simulate.ts', ...which, '--processes', '1', '--until-failure'])
  }

  remove(): void {
    this.#end()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #copy(name: string): void {
    cpSync(join(this.#options.repository, name), join(this.#folder, name), {
      recursive: true,
      filter: (path) => !['node_modules', 'dist', 'coverage'].includes(basename(path)),
    })
  }

  async #start(): Promise<ChildProcess> {
    const { testMs, named } = this.#options
    const judge = fork('scripts/judge.ts', [String(testMs), ...named], {
      cwd: this.#folder,
      execArgv: ['--import', 'tsx'],
      // Random tests at their small size.
      env: { ...process.env, CI: '', NO_COLOR: '1' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    let said = ''
    judge.stderr!.on('data', (text) => {
      said = `${said}${text}`.slice(-5_000)
    })
    if ((await next(judge)) !== 'ready')
      throw new Error(`The process that runs the tests has ended:\n${said}`)
    return judge
  }

  #end(): void {
    // What the tests have started ends with it.
    this.#judge?.kill('SIGKILL')
    this.#judge = undefined
  }

  #run(args: readonly string[]): Promise<Run> {
    return new Promise((resolve, reject) => {
      const child = spawn(join(this.#folder, 'node_modules/.bin/tsx'), args, {
        cwd: this.#folder,
        env: { ...process.env, NO_COLOR: '1' },
        timeout: TOO_LONG_MS,
      })
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (text) => {
          output += text
        })
      child.on('error', reject)
      child.on('exit', (code, signal) => {
        const outcome = signal ? 'did not end' : code === 0 ? 'passed' : 'failed'
        resolve({ outcome, output })
      })
    })
  }
}

export const nothing = (outcome: Answer['outcome'], message: string): Answer => ({
  outcome,
  message,
  file: '',
  test: '',
  ran: [],
})

/** @returns what the process says next; null if it ends */
async function next(child: ChildProcess): Promise<unknown> {
  const settled = new AbortController()
  const { signal } = settled
  const ended = once(child, 'exit', { signal }).then(() => [null])
  const [said] = await Promise.race([once(child, 'message', { signal }), ended])
  settled.abort()
  return said
}
