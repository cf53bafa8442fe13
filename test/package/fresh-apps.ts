/**
 * Fresh apps: a folder outside this repository with the apps of `apps/`, their tools, and both
 * packages as npm packs and installs them.
 */
import { cpSync, rmSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { emptyFolder, execute, install } from './packed.js'

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

const APPS = fileURLToPath(new URL('apps', import.meta.url))

export async function freshApps(): Promise<FreshApps> {
  const folder = emptyFolder()
  const bin = (program: string) => join(folder, 'node_modules/.bin', program)
  cpSync(APPS, folder, { recursive: true, filter: (path) => !path.includes('node_modules') })
  const { browser, server } = inject('packed')
  await install(folder, browser.tarball, server.tarball)
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
