/**
 * Fresh apps: a folder outside this repository with the apps of `apps/`, their tools, and this
 * package as npm packs and installs it.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface FreshApps {
  folder: string
  /** Path of a program that was installed there. */
  bin(program: string): string
  /**
   * Runs such a program, or one with a path, in the folder of one app, or in another one. Rejects
   * with all it said.
   */
  run(app: string, program: string, ...args: string[]): Promise<void>
  remove(): void
}

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const APPS = fileURLToPath(new URL('apps', import.meta.url))

export async function freshApps(): Promise<FreshApps> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hilo-apps-')))
  const bin = (program: string) => join(folder, 'node_modules/.bin', program)
  cpSync(APPS, folder, { recursive: true, filter: (path) => !path.includes('node_modules') })
  await execute(process.execPath, ['--import', 'tsx', 'scripts/build.ts'], REPOSITORY)
  const packed = await execute('npm', ['pack', '--json', '--pack-destination', folder], REPOSITORY)
  const [{ filename }] = JSON.parse(packed)
  await execute(
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${filename}`],
    folder,
  )
  return {
    folder,
    bin,
    run: async (app, program, ...args) =>
      void (await execute(
        isAbsolute(program) ? program : bin(program),
        args,
        resolve(folder, app),
      )),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Resolves with what it wrote to standard output. */
function execute(program: string, args: string[], cwd: string): Promise<string> {
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
