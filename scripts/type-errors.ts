/**
 * Type-checks many versions of the sources' files in one run: each version stands beside its file
 * under another name, in a copy.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Version {
  /** Its path from the repository's folder. */
  file: string
  source: string
}

/** A matter of memory. */
const MOST_AT_ONCE = 1_000

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
