/**
 * Emits `dist/`, or the folder given as argument, with the package's content: browser modules in
 * which bundlers still find the worker by its relative URL, the server, declarations. Fails rather
 * than leave anything out.
 */
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { build } from 'rolldown'
import { emitDeclarations } from './declarations.js'
import { moduleImports } from './module-imports.js'

interface Bundle {
  /** File in `dist` without `.js`, and its source. */
  entries: Record<string, string>
  platform: 'browser' | 'node'
  /**
   * Where code goes that is loaded on demand or shared by these entries; undefined: every entry
   * stands alone, in one file.
   */
  chunks?: string
}

/**
 * Bundled apart, because a worker is another realm: what page and worker share need not be one
 * file, and the page must not carry more.
 */
const BUNDLES: Bundle[] = [
  {
    entries: {
      'client/index': 'src/index.ts',
      raven: 'src/raven.ts',
      format: 'src/format.ts',
      react: 'src/react.ts',
      'source/index': 'src/source/index.ts',
      textbook: 'src/textbook.ts',
    },
    platform: 'browser',
    chunks: 'client',
  },
  { entries: { 'inspector/index': 'src/inspector/index.ts' }, platform: 'browser' },
  { entries: { 'worker/here': 'src/worker/here.ts' }, platform: 'browser' },
  { entries: { 'worker/index': 'src/worker/index.ts' }, platform: 'browser' },
  { entries: { 'worker/entry': 'src/worker/entry.ts' }, platform: 'browser' },
  {
    entries: { 'server/index': 'src/server/index.ts', 'server/cli': 'src/server/cli.ts' },
    platform: 'node',
    chunks: 'server',
  },
]

const packageJson = JSON.parse(readFileSync('package.json', 'utf8'))
const dependencies = Object.keys(packageJson.dependencies)
/** What an app that uses the entry for it has anyway. */
const peers = Object.keys(packageJson.peerDependencies)
const dist = resolve(process.argv[2] ?? 'dist')

const missing = BUNDLES.flatMap((bundle) => Object.values(bundle.entries)).filter(
  (source) => !existsSync(source),
)
if (missing.length > 0) throw new Error(`Nothing was built: ${missing.join(', ')} does not exist.`)
rmSync(dist, { recursive: true, force: true })
for (const bundle of BUNDLES) await emit(bundle)
chmodSync(join(dist, 'server/cli.js'), 0o755)
emitDeclarations(dist)
checkReferences()

async function emit({ entries, platform, chunks }: Bundle): Promise<void> {
  const { output } = await build({
    input: entries,
    platform,
    // The server's libraries come with the package; a browser gets everything in our files.
    external:
      platform === 'node'
        ? isLibrary
        : (specifier) => isFallback(specifier) || peers.includes(specifier),
    transform: { target: platform === 'node' ? 'node20.19' : 'es2022' },
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(`rolldown: ${log.message}`)
    },
    output: {
      dir: dist,
      entryFileNames: '[name].js',
      chunkFileNames: `${chunks}/[name].js`,
      codeSplitting: chunks !== undefined,
      comments: { legal: true, annotation: true, jsdoc: false },
    },
  })
  checkNotices(output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : [])))
}

/** Every package whose code became part of our files has its licence in ThirdPartyNotices.txt. */
function checkNotices(modules: string[]): void {
  const notices = readFileSync('ThirdPartyNotices.txt', 'utf8')
  for (const module of modules) {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1]
    if (name && !notices.includes(`\n${name} (`))
      throw new Error(`${name} is bundled, but its licence is not in ThirdPartyNotices.txt.`)
  }
}

/**
 * What a page loads only where no worker starts: a file of its own, so that the page's is one file
 * without it.
 */
function isFallback(specifier: string): boolean {
  return specifier === '../worker/here.js'
}

/** What the server finds where it is installed: Node and the package's dependencies. */
function isLibrary(specifier: string): boolean {
  return (
    specifier.startsWith('node:') ||
    dependencies.some((name) => specifier === name || specifier.startsWith(`${name}/`))
  )
}

/**
 * All that our files refer to is there: files, and for the server its libraries. The page refers to
 * its worker.
 */
function checkReferences(): void {
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js'),
  )
  const workers = new Set<string>()
  for (const file of files) {
    for (const { specifier, line, kind } of moduleImports(
      file,
      readFileSync(join(dist, file), 'utf8'),
    )) {
      const target = resolve(dist, dirname(file), specifier)
      const isThere =
        (file.startsWith('server') && isLibrary(specifier)) ||
        peers.includes(specifier) ||
        (specifier.startsWith('.') && existsSync(target))
      if (!isThere)
        throw new Error(`dist/${file}:${line} refers to ${specifier}, which will not be there.`)
      if (kind === 'worker') workers.add(`${dirname(file)} ${relative(dist, target)}`)
    }
  }
  if (!workers.has('client worker/entry.js'))
    throw new Error("No file in dist/client says new URL('../worker/entry.js', import.meta.url).")
}
