/**
 * Tells whether the build that is there is newer than everything that it is made of, as it is after
 * `npm run check`. When in doubt it is not.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** A folder's own time tells of files that were removed. */
const SOURCES = [
  'src',
  'server/src',
  'scripts',
  'docs',
  'package.json',
  'package-lock.json',
  'server/package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'LICENSE',
  'CHANGELOG.md',
]
/** Emptied first by a build. */
const BUILDS = ['dist', 'server/dist']
/** Written last by a build. */
const LAST = 'server/dist/index.d.ts'

export function isBuilt(root: string): boolean {
  try {
    statSync(join(root, LAST))
    const newest = Math.max(...timesOf(root, SOURCES))
    return timesOf(root, BUILDS).every((time) => time > newest)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

function timesOf(root: string, paths: readonly string[]): number[] {
  return paths.flatMap((path) => {
    const at = join(root, path)
    const self = statSync(at)
    const inside = self.isDirectory()
      ? readdirSync(at, { recursive: true, encoding: 'utf8' })
          .filter((each) => !each.includes('node_modules'))
          .map((each) => statSync(join(at, each)))
      : []
    return [self, ...inside].map(({ mtimeMs }) => mtimeMs)
  })
}
