/** The packages of this repository: where each is, and which files its package.json names. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Package {
  name: string
  /** Where its package.json and its README are. */
  folder: string
  sources: string
  /** The folder of what is built from the sources. */
  dist: string
  /** The packages that an app has if it uses this one: its dependencies and its peers. */
  libraries: string[]
  /** The declarations of its entries, without `dist/` and `.d.ts`. */
  declarations: string[]
}

export const BROWSER_PACKAGE = read('.')
export const SERVER_PACKAGE = read('server')

/** Whether an import leads to one of these packages, or into it. */
export function isOneOf(packages: string[], specifier: string): boolean {
  return packages.some((name) => specifier === name || specifier.startsWith(`${name}/`))
}

function read(folder: string): Package {
  const file = readFileSync(join(folder, 'package.json'), 'utf8')
  const { name, exports, dependencies = {}, peerDependencies = {} } = JSON.parse(file)
  return {
    name,
    folder,
    sources: join(folder, 'src'),
    dist: join(folder, 'dist'),
    libraries: Object.keys({ ...dependencies, ...peerDependencies }),
    declarations: Object.values<string | { types: string }>(exports).flatMap((entry) =>
      typeof entry === 'string' ? [] : [entry.types.replace(/^\.\/dist\/(.*)\.d\.ts$/, '$1')],
    ),
  }
}
