/**
 * Which part of the sources may use which: a table, and the complaints about sources that break it.
 */
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { type ModuleImport, moduleImports } from '../scripts/module-imports.js'

const { dependencies } = JSON.parse(
  readFileSync(new URL('../server/package.json', import.meta.url), 'utf8'),
)
const LIBRARIES = ['node:', ...Object.keys(dependencies)]
const ROOMS = [
  'server/ledger',
  'server/http',
  'server/node',
  'server/sql',
  'server/sqlite',
  'server/addons/postgres',
  'server/addons/upstream',
  'server/addons/bound',
  'server/addons/region',
]

/** Node's modules that every runtime with `fetch` has: workerd, Deno and Bun, too. */
const EVERYWHERE = ['node:buffer', 'node:crypto', 'node:timers']

/**
 * What a part may use besides itself, at run time. In the browser package, types may come from any
 * part, but for `core`, which knows no other.
 */
const MAY_USE: Record<string, string[]> = {
  core: [],
  device: ['core'],
  store: ['core', 'device', 'idb'],
  source: ['core', 'device'],
  worker: ['core', 'device', 'store', 'source', 'client', 'comlink'],
  client: ['core', 'device', 'comlink'],
  'index.ts': ['core', 'device', 'client'],
  'addons/sqlite': ['core', 'device'],
  'addons/testing': ['core', 'device', 'client', 'worker', 'addons/consecutive'],
  'addons/consecutive': ['core', 'device', 'store', 'source'],
  'addons/inspector': [],
  'addons/react.ts': ['react'],
  'addons/raven.ts': ['core', 'pluralize'],
  'addons/format.ts': ['core', 'cdigit', '@noble/ciphers'],
  'addons/textbook.ts': [],
  'server/ledger': ['core', 'device', ...EVERYWHERE, 'zod'],
  'server/http': ['server/ledger', 'core', ...EVERYWHERE, 'hono', 'zod'],
  // What the handler takes from Node.
  'server/node': ['server/http', 'server/ledger', 'node:', 'pino', 'prom-client'],
  // The rows in any database that speaks SQL.
  'server/sql': ['server/ledger', 'core', 'device', ...EVERYWHERE],
  'server/sqlite': ['server/ledger', 'server/sql', 'core', 'node:', '@photostructure/sqlite'],
  'server/addons/postgres': ['server/ledger', 'server/sql', 'core', 'pg'],
  'server/addons/durable-object': [
    'server/http',
    'server/ledger',
    'server/sql',
    ...EVERYWHERE,
    'zod',
    'cloudflare:',
  ],
  // A region is a device: the owner and the source of the browser package run in it.
  'server/addons/region': [
    'server/ledger',
    'server/addons/upstream',
    'core',
    'device',
    'worker',
    'source',
    'store',
    'node:',
    'zod',
  ],
  // What it means for a ledger that an authority elsewhere counts.
  'server/addons/upstream': ['server/ledger', 'core', 'node:', 'zod'],
  'server/addons/bound': [
    'server/ledger',
    'server/addons/upstream',
    'server/sql',
    'core',
    'device',
    'source',
    'zod',
  ],
  'server/cli': [...ROOMS, 'server', ...LIBRARIES],
  server: [...ROOMS, ...LIBRARIES],
}
/** Types, too, come only from what it may use. */
const isStrict = (part: string): boolean =>
  part === 'core' || part === 'device' || part.startsWith('server')

interface Use extends ModuleImport {
  file: string
  /** A file of ours, undefined for a package. */
  target: string | undefined
}

/** @param sources text of each file, by its path in the repository */
export function brokenRules(sources: ReadonlyMap<string, string>): string[] {
  const uses = usesIn(sources)
  return [
    ...uses
      .filter((use) => !isAllowed(use))
      .map(({ file, line, target, specifier }) => {
        return `${file}:${line}: ${partOf(file)} may not use ${target ? partOf(target) : specifier}`
      }),
    ...cycles(uses),
    ...repeated(uses.filter(({ specifier }) => specifier === 'idb')).map(
      ([first, { file, line }]) =>
        `${file}:${line} imports idb, as ${first.file} does: one file owns the database`,
    ),
    ...repeated(uses.filter(isFallback)).map(
      ([first, { file, line, specifier }]) =>
        `${file}:${line} loads ${specifier} on demand, as ${first.file} does: there is one ` +
        'fallback',
    ),
  ]
}

/**
 * What uses what at run time, as arrows of a Mermaid graph: `client --> core`, and dotted for what
 * is loaded on demand or started apart.
 */
export function arrowsBetweenParts(sources: ReadonlyMap<string, string>): string[] {
  const arrows = usesIn(sources).flatMap(({ file, target, kind }) => {
    if (target === undefined || kind === 'type' || partOf(target) === partOf(file)) return []
    return `${partOf(file)} ${kind === 'static' ? '-->' : '-.->'} ${partOf(target)}`
  })
  return [...new Set(arrows)].sort()
}

function usesIn(sources: ReadonlyMap<string, string>): Use[] {
  return [...sources].flatMap(([file, text]) =>
    moduleImports(file, text).map((each) => {
      const isOurs = each.specifier.startsWith('.')
      return {
        ...each,
        file,
        target: isOurs
          ? posix.join(posix.dirname(file), each.specifier).replace(/\.js$/, '.ts')
          : undefined,
      }
    }),
  )
}

function isAllowed(use: Use): boolean {
  const from = partOf(use.file)
  const to = use.target === undefined ? use.specifier : partOf(use.target)
  if (from === to || use.kind === 'worker' || isFallback(use)) return true
  if (use.kind === 'type' && use.target !== undefined && !isStrict(from)) return true
  const isLibrary = use.target === undefined
  return (MAY_USE[from] ?? []).some(
    (name) =>
      to === name ||
      (isLibrary && (name.endsWith(':') ? to.startsWith(name) : to.startsWith(`${name}/`))),
  )
}

/** The owner's code, loaded into the page when no worker can start. */
function isFallback({ file, kind, target }: Use): boolean {
  return (
    kind === 'dynamic' &&
    partOf(file) === 'client' &&
    target !== undefined &&
    partOf(target) === 'worker'
  )
}

/**
 * The part a file belongs to: `core`, `server/http`, `addons/consecutive`. In the browser package a
 * file beside the folders is a part, like `addons/raven.ts`; in the server these are one, `server`.
 */
function partOf(file: string): string {
  const [, isServer, part, rest] = /^(server\/)?src\/((?:addons\/)?[^/]+)(\/.+)?$/.exec(file)!
  if (!isServer) return part!
  return rest === undefined ? 'server' : `server/${part}`
}

/** Each use in another file than the first, with the first. */
function repeated(uses: Use[]): [Use, Use][] {
  const [first] = uses
  return first ? uses.filter(({ file }) => file !== first.file).map((use) => [first, use]) : []
}

/** One complaint per import that leads back to a file it was reached from; types count. */
function cycles(uses: Use[]): string[] {
  const complaints: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: string[]) => {
    if (done.has(file)) return
    for (const { line, target } of uses.filter(
      (use) => use.file === file && (use.kind === 'static' || use.kind === 'type'),
    )) {
      if (target === undefined) continue
      const start = [...path, file].indexOf(target)
      if (start >= 0)
        complaints.push(
          `${file}:${line} closes a cycle: ` +
            `${[...path, file].slice(start).concat(target).join(' → ')}`,
        )
      else visit(target, [...path, file])
    }
    done.add(file)
  }
  for (const { file } of uses) visit(file, [])
  return complaints
}
