/**
 * The program's commands in the process of the tests: they see arguments, an environment and a
 * folder of their own, and what they print, and how they end, is given back. A process that is
 * started for each takes a quarter of a second of a processor.
 */
import type { EventEmitter } from 'node:events'
import { run } from '../src/cli/program.js'

export interface CliRun {
  code: number | null
  stdout: string
  stderr: string
}

/** Of a command that is not to see the settings of whoever runs the tests. */
export const environmentWith = (added: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(HILO_|DATABASE_URL$)/.test(name)),
  ),
  ...added,
})

/** What the program listens to until its process ends. */
const LISTENED: [EventEmitter, string][] = [
  [process, 'SIGTERM'],
  [process, 'SIGHUP'],
  [process, 'SIGINT'],
  [process.stdout, 'error'],
  [process.stderr, 'error'],
]

let last: Promise<unknown> = Promise.resolve()

/** Runs a command to its end. One after the other: they share what a process has once. */
export function runCli(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  cwd = process.cwd(),
): Promise<CliRun> {
  const ended = last.then(() => runAlone(args, environment, cwd))
  last = ended.catch(() => {})
  return ended
}

async function runAlone(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  cwd: string,
): Promise<CliRun> {
  const { argv, env, exit, exitCode, stdout, stderr } = process
  const [printed, said] = [printer(), printer()]
  const before = { cwd: process.cwd(), stdout: stdout.write, stderr: stderr.write }
  const listeners = LISTENED.map(([emitter, event]) => emitter.listeners(event))
  let code: number | undefined
  process.argv = [process.execPath, 'offline-hilo-server', ...args]
  process.env = environmentWith(environment)
  process.chdir(cwd)
  process.exitCode = undefined
  process.exit = (given) => {
    code ??= Number(given ?? process.exitCode ?? 0)
    for (const output of [printed, said]) output.isEnded = true
    throw new Error('The process has ended.')
  }
  stdout.write = printed.write
  stderr.write = said.write
  try {
    await run()
    code ??= Number(process.exitCode ?? 0)
  } finally {
    Object.assign(process, { argv, env, exit, exitCode })
    stdout.write = before.stdout
    stderr.write = before.stderr
    process.chdir(before.cwd)
    LISTENED.forEach(([emitter, event], i) => {
      for (const listener of emitter.listeners(event))
        if (!listeners[i]!.includes(listener)) emitter.off(event, listener as () => void)
    })
  }
  return { code, stdout: printed.text, stderr: said.text }
}

/** Keeps what is written until the process would have ended. */
function printer() {
  const kept = {
    text: '',
    isEnded: false,
    write: (text: string | Uint8Array) => {
      if (!kept.isEnded) kept.text += text
      return true
    },
  }
  return kept
}
