/**
 * The declarations of `dist/`: those of the public entries and what they refer to; none needs a
 * package that consumers do not have.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { moduleImports } from './module-imports.js'

/**
 * Runs `tsc` with tsconfig.build.json, then removes the declarations that no entry of
 * package.json's `exports` reaches.
 */
export function emitDeclarations(dist: string): void {
  const typescript = dirname(fileURLToPath(import.meta.resolve('typescript/package.json')))
  execFileSync(
    process.execPath,
    [join(typescript, 'bin/tsc'), '-p', 'tsconfig.build.json', '--outDir', dist],
    { stdio: 'inherit' },
  )
  const reachable = new Set<string>()
  const { exports, dependencies, peerDependencies } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  )
  const libraries = Object.keys({ ...dependencies, ...peerDependencies })
  for (const entry of Object.values<string | { types: string }>(exports)) {
    if (typeof entry !== 'string')
      collect(resolve(dist, relative('dist', entry.types)), libraries, reachable)
  }
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    const path = join(dist, file)
    if (path.endsWith('.d.ts') && !reachable.has(path)) rmSync(path)
  }
  removeEmptyFolders(dist)
}

function collect(path: string, dependencies: string[], reachable: Set<string>): void {
  if (reachable.has(path)) return
  reachable.add(path)
  if (!existsSync(path))
    throw new Error(
      `${path} does not exist, though package.json or another declaration refers to it.`,
    )
  for (const { specifier } of moduleImports(path, readFileSync(path, 'utf8'))) {
    if (specifier.startsWith('.'))
      collect(resolve(dirname(path), specifier.replace(/\.js$/, '.d.ts')), dependencies, reachable)
    else if (
      !specifier.startsWith('node:') &&
      !dependencies.some((name) => specifier === name || specifier.startsWith(`${name}/`))
    )
      throw new Error(
        `${path} refers to ${specifier}, which is neither a dependency nor a peer of the package.`,
      )
  }
}

function removeEmptyFolders(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeEmptyFolders(join(folder, entry.name))
  if (readdirSync(folder).length === 0) rmdirSync(folder)
}
