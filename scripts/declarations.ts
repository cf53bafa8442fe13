/**
 * Collects the declarations of a package: those of its public entries and of all that they refer
 * to. Fails if one needs a file or a package that the package's users do not have.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { moduleImports } from './module-imports.js'
import { isOneOf, type Package } from './packages.js'

/** From a folder of the server's sources to those of the core, which are in its `dist`, too. */
const FROM_SERVER = '../../src/'

/** No app uses a type of these by name, so no editor shows what their comments say. */
const UNNAMED = [
  'wire',
  'activity',
  'http',
  'links',
  'online',
  'register-check',
  'rows',
  'server',
  'storage',
]

/**
 * Runs `tsc` with tsconfig.build.json once for all packages, then copies to each `dist` the
 * declarations that an entry of that package reaches. The core is a part of both.
 */
export function emitDeclarations(packages: Package[]): void {
  const typescript = dirname(fileURLToPath(import.meta.resolve('typescript/package.json')))
  const emitted = mkdtempSync(join(tmpdir(), 'hilo-declarations-'))
  try {
    execFileSync(
      process.execPath,
      [join(typescript, 'bin/tsc'), '-p', 'tsconfig.build.json', '--outDir', emitted],
      { stdio: 'inherit' },
    )
    for (const each of packages) {
      const root = join(emitted, each.sources)
      const core = join(emitted, 'src/core')
      const reached = new Set<string>()
      for (const entry of each.declarations)
        collect(join(root, `${entry}.d.ts`), each, [root, core], reached)
      for (const file of reached) {
        const copy = join(each.dist, relative(file.startsWith(root) ? root : dirname(core), file))
        const text = readFileSync(file, 'utf8').replaceAll(FROM_SERVER, '')
        const isShown = !UNNAMED.includes(basename(copy, '.d.ts'))
        mkdirSync(dirname(copy), { recursive: true })
        writeFileSync(copy, isShown ? text : text.replace(/^ *\/\*\*.*?\*\/\n/gms, ''))
      }
    }
  } finally {
    rmSync(emitted, { recursive: true, force: true })
  }
}

/** Adds this declaration, and all that it refers to, to `reached`. */
function collect(path: string, of: Package, roots: [string, core: string], reached: Set<string>) {
  if (reached.has(path)) return
  reached.add(path)
  const file = join(of.sources, relative(roots[0], path))
  if (!roots.some((root) => path.startsWith(root + sep)))
    throw new Error(
      `A public declaration of ${of.name} needs ${file}, which is not part of that package. ` +
        `Declare the type in ${of.sources}, or keep it out of what is exported.`,
    )
  if (!existsSync(path))
    throw new Error(
      `${file} does not exist, though package.json or another declaration refers to it.`,
    )
  for (const { specifier } of moduleImports(path, readFileSync(path, 'utf8'))) {
    if (specifier.startsWith('.'))
      collect(resolve(dirname(path), specifier.replace(/\.js$/, '.d.ts')), of, roots, reached)
    else if (!specifier.startsWith('node:') && !isOneOf(of.libraries, specifier))
      throw new Error(
        `${file} refers to ${specifier}, which is neither a dependency nor a peer of ${of.name}.`,
      )
  }
}
