/**
 * Builds both packages, with their declarations: `dist/`, browser modules in which bundlers still
 * find the worker by its relative URL, and `server/dist/`, the server and its command line. Fails
 * if anything is missing.
 */
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { build, type Plugin } from 'rolldown'
import { emitDeclarations } from './declarations.js'
import { withoutUnused } from './left-out.js'
import { moduleImports } from './module-imports.js'
import { BROWSER_PACKAGE, isOneOf, type Package, SERVER_PACKAGE } from './packages.js'
import { copyPages } from './pages.js'

/** What a page loads on demand: files in `dist` without `.js`. */
const ON_DEMAND = [
  'client/observer',
  'client/online-calls',
  'client/warnings',
  'addons/consecutive/online',
  'addons/consecutive/reading',
  'worker/here',
]

interface Bundle {
  package: Package
  /**
   * File in `dist` without `.js`, and its source. Without `chunks`, what refers to files of
   * another bundle lies in the folder of the last.
   */
  entries: Record<string, string>
  /**
   * Folder in `dist` for code that these entries share or load on demand. Undefined: each entry is
   * one file with all its code.
   */
  chunks?: string
  /** The file of what the entries have in common, and of what they would load later. */
  common?: { name: string; test: RegExp }
  /**
   * Uses the page's class `HiloError`, so that `instanceof` holds. Otherwise the bundle has a copy
   * of the class.
   */
  sharesErrors?: boolean
  /** Loads {@link ON_DEMAND} later. A service worker cannot, so its entry contains that code. */
  loadsOnDemand?: boolean
}

/**
 * Bundled separately, because a worker is another realm: page and worker need no common files, and
 * the page must not load more. For the same reason, what a page loads on demand is bundled apart: a
 * bundler would cut what it has in common with the page out of the page's file.
 */
const BUNDLES: Bundle[] = [
  {
    package: BROWSER_PACKAGE,
    entries: {
      'client/index': 'src/index.ts',
      'addons/raven': 'src/addons/raven.ts',
      'addons/format': 'src/addons/format.ts',
      'addons/react': 'src/addons/react.ts',
      'source/index': 'src/source/index.ts',
      'addons/textbook': 'src/addons/textbook.ts',
      'store/store': 'src/store/store.ts',
      'store/testing': 'src/store/testing.ts',
      'core/errors': 'src/core/errors.ts',
    },
    chunks: 'client',
    loadsOnDemand: true,
  },
  ...ON_DEMAND.map((name) => ({
    package: BROWSER_PACKAGE,
    entries: { [name]: `src/${name}.ts` },
    // Errors of the owner become the page's when they are rebuilt from plain data.
    sharesErrors: name !== 'worker/here',
  })),
  {
    package: BROWSER_PACKAGE,
    entries: { 'addons/sqlite/index': 'src/addons/sqlite/index.ts' },
    sharesErrors: true,
  },
  {
    package: BROWSER_PACKAGE,
    entries: { 'addons/consecutive/index': 'src/addons/consecutive/index.ts' },
    sharesErrors: true,
    loadsOnDemand: true,
  },
  {
    package: BROWSER_PACKAGE,
    entries: { 'addons/consecutive/chain': 'src/addons/consecutive/chain.ts' },
    sharesErrors: true,
  },
  {
    package: BROWSER_PACKAGE,
    entries: { 'addons/inspector/index': 'src/addons/inspector/index.ts' },
  },
  // Built apart: otherwise the bundler would cut the page's files into more parts. An app in a
  // worker tells errors by the class of the main entry, too.
  {
    package: BROWSER_PACKAGE,
    entries: {
      'worker/index': 'src/worker/index.ts',
      'addons/testing': 'src/addons/testing/index.ts',
    },
    common: { name: 'worker/hilo', test: /^(?!.*\/src\/addons\/(testing|consecutive)\/)/ },
    sharesErrors: true,
  },
  { package: BROWSER_PACKAGE, entries: { 'worker/entry': 'src/worker/entry.ts' } },
  // What the server shares with the client, like the capacity table, becomes part of its files.
  {
    package: SERVER_PACKAGE,
    entries: {
      index: 'server/src/index.ts',
      cli: 'server/src/cli/main.ts',
      'addons/durable-object/index': 'server/src/addons/durable-object/index.ts',
    },
    chunks: 'chunks',
  },
]

const PACKAGES = [BROWSER_PACKAGE, SERVER_PACKAGE]

const missing = BUNDLES.flatMap((bundle) => Object.values(bundle.entries)).filter(
  (source) => !existsSync(source),
)
if (missing.length > 0) throw new Error(`Nothing was built: ${missing.join(', ')} does not exist.`)
for (const each of PACKAGES) rmSync(each.dist, { recursive: true, force: true })
for (const bundle of BUNDLES) await emit(bundle)
chmodSync(join(SERVER_PACKAGE.dist, 'cli.js'), 0o755)
// npm packs only what is inside the folder of a package.
for (const file of ['LICENSE', 'CHANGELOG.md'])
  copyFileSync(file, join(SERVER_PACKAGE.folder, file))
copyPages()
emitDeclarations(PACKAGES)
for (const each of PACKAGES) checkReferences(each)

async function emit(bundle: Bundle): Promise<void> {
  const { package: of, entries, chunks, common, sharesErrors, loadsOnDemand } = bundle
  const isForNode = of === SERVER_PACKAGE
  const folder = chunks ?? dirname(Object.keys(entries).at(-1)!)
  const { output: files } = await build({
    input: entries,
    platform: isForNode ? 'node' : 'browser',
    external: (specifier) => isInstalled(of, specifier),
    plugins: [
      ...(sharesErrors ? [errorsOfThePage(folder)] : []),
      ...(loadsOnDemand ? [filesOnDemand(folder)] : []),
      withoutUnused(),
    ],
    transform: { target: isForNode ? 'node20.19' : 'es2022' },
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    // Comments with the paths of modules would tell where the packages were built.
    experimental: { attachDebugInfo: 'none' },
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(`rolldown: ${log.message}`)
    },
    output: {
      dir: of.dist,
      entryFileNames: '[name].js',
      chunkFileNames: common ? '[name].js' : `${chunks}/[name].js`,
      codeSplitting: common ? { groups: [common] } : chunks !== undefined,
      comments: { legal: true, annotation: true, jsdoc: false },
    },
  })
  checkNotices(
    of,
    files.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : [])),
  )
}

/**
 * Leaves out what a page loads on demand: it is in files of its own.
 * @param folder in `dist`, of the file that loads them
 */
function filesOnDemand(folder: string): Plugin {
  const files = new Map(
    ON_DEMAND.map((name) => [resolve(`src/${name}.ts`), reference(folder, name)]),
  )
  return {
    name: 'on-demand',
    resolveDynamicImport(specifier, importer) {
      const source = String(specifier).replace(/\.js$/, '.ts')
      const id = importer && files.get(resolve(dirname(importer), source))
      return id ? { id, external: true } : null
    },
  }
}

/** How a file in a folder of `dist` refers to another file there. */
function reference(folder: string, name: string): string {
  const path = relative(folder, `${name}.js`)
  return path.startsWith('.') ? path : `./${path}`
}

/** Leaves out `src/core/errors.ts`, which is a file of its own in `dist`. */
function errorsOfThePage(folder: string): Plugin {
  const errors = resolve('src/core/errors.ts')
  return {
    name: 'errors-of-the-page',
    resolveId(specifier, importer) {
      const isErrors =
        importer && resolve(dirname(importer), specifier.replace(/\.js$/, '.ts')) === errors
      return isErrors ? { id: reference(folder, 'core/errors'), external: true } : null
    },
  }
}

/** Checks that the licence of every library in our files lies beside them. */
function checkNotices({ folder }: Package, modules: string[]): void {
  const file = join(folder, 'ThirdPartyNotices.txt')
  const notices = existsSync(file) ? readFileSync(file, 'utf8') : ''
  for (const module of modules) {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1]
    if (name && !notices.includes(`\n${name} (`))
      throw new Error(`${name} is bundled, but its licence is not in ${file}.`)
  }
}

/**
 * What our files may import where the package is installed: its libraries; on the server, Node, and
 * in a Durable Object what Cloudflare has built in.
 */
function isInstalled(of: Package, specifier: string): boolean {
  return (
    isOneOf(of.libraries, specifier) ||
    (of === SERVER_PACKAGE && /^(node|cloudflare):/.test(specifier))
  )
}

/** Checks that every file that ours refer to exists, and that the page refers to its worker. */
function checkReferences(of: Package): void {
  const { dist } = of
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
        isInstalled(of, specifier) || (specifier.startsWith('.') && existsSync(target))
      if (!isThere)
        throw new Error(
          `${join(dist, file)}:${line} refers to ${specifier}, which an app will not have.`,
        )
      if (kind === 'worker') workers.add(`${dirname(file)} ${relative(dist, target)}`)
    }
  }
  if (of === BROWSER_PACKAGE && !workers.has('client worker/entry.js'))
    throw new Error("No file in dist/client says new URL('../worker/entry.js', import.meta.url).")
}
