/** Both packages as npm packs them, and installs of one alone into an empty folder. */
import { execFile } from 'node:child_process'
import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isFull } from '../support/sizes.js'
import { isBuilt } from './built.js'

export interface Packed {
  /** Path of the tarball. */
  tarball: string
  /** Bytes of all its files. */
  unpackedSize: number
  files: { path: string }[]
}

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** Packs both packages into a folder; builds them first, unless the build that is there is new. */
export async function packBoth(into: string): Promise<{ browser: Packed; server: Packed }> {
  if (!isBuilt(REPOSITORY))
    await execute(process.execPath, ['--import', 'tsx', 'scripts/build.ts'], REPOSITORY)
  const [browser, server] = await Promise.all([pack('.', into), pack('server', into)])
  return { browser, server }
}

async function pack(folder: string, into: string): Promise<Packed> {
  const args = ['pack', '--json', '--pack-destination', into, `./${folder}`]
  const [{ filename, unpackedSize, files }] = JSON.parse(await execute('npm', args, REPOSITORY))
  return { tarball: join(into, filename), unpackedSize, files }
}

/**
 * Installs packages, and what the folder itself depends on; its development dependencies only with
 * `CI=true`. Resolves with how many packages that added.
 */
export async function install(folder: string, ...tarballs: string[]): Promise<number> {
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--json']
  const dev = isFull ? '--include=dev' : '--omit=dev'
  const args = ['install', ...options, dev, ...tarballs]
  return JSON.parse(await execute('npm', args, folder)).added
}

export function emptyFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'hilo-package-')))
}

/** Resolves with what the program wrote to standard output; rejects with all it said. */
export function execute(program: string, args: string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    // Tools that see a test runner's environment behave as in a test.
    const env = {
      ...process.env,
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
      VITEST: '',
      VITE_USER_NODE_ENV: '',
    }
    execFile(program, args, { cwd, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (error)
        reject(new Error(`${program} ${args.join(' ')} failed in ${cwd}:\n${stdout}\n${stderr}`))
      else resolve(stdout)
    })
  })
}
