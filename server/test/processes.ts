/**
 * The server as a process of its own, as people run it. Processes that a test leaves are killed at
 * the end of the file.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { build, type RolldownOutput } from 'rolldown'
import { atFileEnd } from '../../test/support/file-end.js'
import { type CliRun, environmentWith } from './run-cli.js'

export interface ServerProcess {
  url: string
  /** SIGKILL, as a crash. */
  kill(): Promise<void>
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
  /** What it wrote to stderr so far. */
  log(): string
  /** What it wrote to stdout so far. */
  printed(): string
}

const ROOT = join(import.meta.dirname, '../..')
/** Among the packages, so that it finds them. */
const built = join(ROOT, 'node_modules/.offline-hilo-tests', String(process.pid))
let building: Promise<RolldownOutput> | undefined

/**
 * Bundled once, as the package is: translating TypeScript at each start takes longer than most
 * tests.
 */
export function buildServer(): Promise<RolldownOutput> {
  if (!building)
    atFileEnd(() => {
      building = undefined
      rmSync(built, { recursive: true, force: true })
    })
  building ??= build({
    input: { cli: join(ROOT, 'server/src/cli/main.ts'), index: join(ROOT, 'server/src/index.ts') },
    platform: 'node',
    external: /^[^./]/,
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    output: { dir: built, entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
  })
  return building
}

/** The program's file. */
export async function cliFile(): Promise<string> {
  await buildServer()
  return join(built, 'cli.mjs')
}

async function start(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  before: readonly string[] = [],
  cwd?: string,
) {
  const [command, ...rest] = [...before, process.execPath, await cliFile(), ...args]
  const child = spawn(command!, rest, {
    env: environmentWith({ HILO_DRAIN: '0', ...environment }),
    cwd,
  })
  atFileEnd(() => child.kill('SIGKILL'))
  return child
}

/**
 * Runs a command to its end, as a process of its own: what it prints arrives, and the process ends.
 * Where this is not the point, `runCli` takes a tenth of the time.
 */
export async function spawnCli(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<CliRun> {
  const child = await start(args, environment)
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

/**
 * Makes the ledger where there is none.
 * @param before a command that runs the command behind it
 */
export async function startProcess(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  before: readonly string[] = [],
): Promise<ServerProcess> {
  const child = await start(['serve', '--first', ...args], environment, before)
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (line) => resolve(/http:\S+/.exec(String(line))![0]))
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}:\n${stderr}`)))
  })
  const end = async (signal: NodeJS.Signals) => {
    const exited = once(child, 'close')
    child.kill(signal)
    return (await exited)[0] as number | null
  }
  return {
    url,
    kill: async () => {
      await end('SIGKILL')
    },
    stop: () => end('SIGTERM'),
    log: () => stderr,
    printed: () => stdout,
  }
}
