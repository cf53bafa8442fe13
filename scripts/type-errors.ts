/**
 * Type-checks and lints many versions of the sources' files in one run: each version stands beside
 * its file under another name, in a copy.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensure, TOOLS } from '../test/support/groups.js'

interface Diagnostic {
  location: { path: string }
}

export interface Version {
  /** Its path from the repository's folder. */
  file: string
  source: string
}

/** A matter of memory. */
const MOST_AT_ONCE = 1_000

/**
 * The linter's rule against a statement that is a promise. It is in the list of the versions that
 * the linter refuses: where an `await` is gone, the compiler often finds nothing.
 */
export const RULE = 'nursery/noFloatingPromises'

/** @returns for each version, in their order, the errors that its file has not */
export function typeErrors(repository: string, versions: readonly Version[]): string[][] {
  const errors: string[][] = []
  while (errors.length < versions.length)
    errors.push(...errorsOf(repository, versions.slice(errors.length).slice(0, MOST_AT_ONCE)))
  return errors
}

function errorsOf(repository: string, versions: readonly Version[]): string[][] {
  const folder = mkdtempSync(join(tmpdir(), 'hilo-types-'))
  try {
    for (const name of ['src', 'server/src'])
      cpSync(join(repository, name), join(folder, name), { recursive: true })
    symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
    const extended = join(repository, 'tsconfig.json')
    const config = { extends: extended, include: ['src', 'server/src'] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const unchanged = [...new Set(versions.map(({ file }) => file))].map((file) => ({
      file,
      source: readFileSync(join(repository, file), 'utf8'),
    }))
    const all = [...versions, ...unchanged]
    for (const [i, { file, source }] of all.entries())
      writeFileSync(join(folder, pathOf(file, i)), source)
    const errors = check(folder)
    for (const path of floating(repository, folder))
      errors.set(path, [...(errors.get(path) ?? []), RULE])
    return versions.map(({ file }, i) => {
      const known = errors.get(
        pathOf(
          file,
          all.findLastIndex((each) => each.file === file),
        ),
      )
      return (errors.get(pathOf(file, i)) ?? []).filter((error) => !known?.includes(error))
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const pathOf = (file: string, i: number): string => file.replace(/\.ts$/, `.version-${i}.ts`)

/** @returns the errors by path, without lines */
function check(folder: string): Map<string, string[]> {
  const tsc = join(folder, 'node_modules/.bin/tsc')
  const { stdout, status, error } = spawnSync(tsc, ['--noEmit', '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  })
  const found = new Map<string, string[]>()
  for (const [, path, text] of stdout?.matchAll(/^(\S+?)\(\d+,\d+\): error (.*)$/gm) ?? [])
    found.set(path!, [...(found.get(path!) ?? []), text!])
  if (error || (status !== 0 && found.size === 0)) throw error ?? new Error(`tsc failed: ${stdout}`)
  return found
}

/** @returns the paths of what the linter refuses */
function floating(repository: string, folder: string): string[] {
  ensure(TOOLS)
  writeFileSync(join(folder, 'biome.json'), '{}')
  const biome = join(repository, TOOLS, 'node_modules/.bin/biome')
  const args = ['lint', `--only=${RULE}`, '--max-diagnostics=none', '--reporter=json', '.']
  const { stdout, error } = spawnSync(biome, args, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  })
  if (error) throw error
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] }
  return diagnostics.map(({ location }) => location.path)
}
