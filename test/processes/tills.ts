/**
 * Tills: processes that make ids on a device's file. Those that a test leaves are killed at its
 * end.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'rolldown'
import { onTestFinished } from 'vitest'
import { atFileEnd } from '../support/file-end.js'
import type { Runtime } from './runtimes.js'

export interface Till {
  /** Each id that it had printed before it ended, or until now. */
  ids: string[]
  /** Resolves when it has printed so many ids. */
  printed(count: number): Promise<void>
  kill(signal: NodeJS.Signals): void
  /** Resolves when it has ended. */
  ended: Promise<{ code: number | null; stderr: string }>
}

const ROOT = join(import.meta.dirname, '../..')

/** In the repository, so that programs find its packages; outside of them, so that paths hold. */
const built = join(ROOT, 'test-results', `tills-${process.pid}`)

/** Bundles a program, as an app is. @returns the path of the bundle */
export async function bundle(name: string, text: string): Promise<string> {
  mkdirSync(built, { recursive: true })
  atFileEnd(() => rmSync(built, { recursive: true, force: true }))
  const source = join(built, `${name}.ts`)
  writeFileSync(source, text)
  await build({
    input: { [name]: source },
    platform: 'node',
    tsconfig: join(ROOT, 'tsconfig.json'),
    external: /^(node:|bun:|@photostructure\/)|better-sqlite3/,
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    output: { dir: built, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
  })
  return join(built, `${name}.mjs`)
}

/** Of this repository. */
export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** An empty folder; gone when the test ends. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hilo-tills-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** @param options of the process: its folder, its environment */
export function startTill(
  { command: [program, ...before] }: Pick<Runtime, 'command'>,
  args: readonly string[],
  { cwd = tmpdir(), env = {} }: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Till {
  const child = spawn(program, [...before, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    cwd,
  })
  const ids: string[] = []
  let stderr = ''
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => ids.push(line))
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = endOf(child, () => stderr)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    ids,
    ended,
    kill: (signal) => void child.kill(signal),
    printed: (count) =>
      new Promise((resolve, reject) => {
        const look = () => ids.length >= count && resolve()
        look()
        lines.on('line', look)
        ended.then(({ code }) => {
          look()
          reject(new Error(`The till ended with ${code} after ${ids.length} ids:\n${stderr}`))
        })
      }),
  }
}

async function endOf(child: ChildProcess, stderr: () => string) {
  const [code] = await once(child, 'close')
  return { code: code as number | null, stderr: stderr() }
}
