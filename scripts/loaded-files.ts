/** Which files of this repository a module loads: itself, and all that it imports at run time. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { moduleImports } from './module-imports.js'

/** @param entry its path from the repository's folder, like the paths that are returned */
export function loadedFiles(repository: string, entry: string): Set<string> {
  const files = new Set([entry])
  // The loop also visits what it adds to the set.
  for (const file of files)
    for (const { specifier, kind } of moduleImports(file, read(repository, file))) {
      if (kind === 'type' || !specifier.startsWith('.')) continue
      const path = join(dirname(file), specifier.replace(/\.js$/, '.ts'))
      if (existsSync(join(repository, path))) files.add(path)
    }
  return files
}

const read = (repository: string, file: string): string =>
  readFileSync(join(repository, file), 'utf8')
