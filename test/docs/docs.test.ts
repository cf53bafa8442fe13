/**
 * Every code block of the documentation: TypeScript is compiled and run against a real server,
 * commands and excerpts exist, links lead somewhere.
 */
import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HiloServer, serve } from '../../server/src/index.js'
import { runCli } from '../../server/test/run-cli.js'
import { type Block, blocksOf, MODULE_LANGUAGES, modulesOf } from './blocks.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const PAGES = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'RELEASING.md', 'server/README.md'],
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map(
    (path) => `docs/${path}`,
  ),
].filter((path) => path.endsWith('.md') && !path.includes('.vitepress/'))

/** The pages whose commands are those of an app of their own. */
const TUTORIALS = ['docs/tutorial.md', 'docs/tutorial-frameworks.md']
const STARTER = 'examples/starter/package.json'

const MODULES = PAGES.flatMap((page) =>
  modulesOf(page.replace(/\.md$/, '').replaceAll('/', '.'), read(page)),
)

/** How the one `Hilo` of an app is made, or why a place has one of its own. */
const MAKERS: Record<string, string> = {
  'README.md': 'the first look',
  'docs/index.md': 'the first look, of the site',
  'docs/getting-started.md': 'the first app',
  'docs/tutorial.md': 'its module, which the recipes import',
  'docs/tutorial-frameworks.md': "with Angular's worker file",
  'docs/recipes/README.md': 'the same module again',
  'docs/recipes/frameworks.md': 'the module where a server renders',
  'docs/guide.md': 'its options',
  'docs/other-counters.md': 'its option `source`',
  'docs/security.md': 'its option `headers`',
  'docs/formats.md': 'its option `formatId`',
  'docs/ravendb.md': 'its options for RavenDB',
  'docs/migrating/from-ravendb-client.md': 'its options for RavenDB',
  'docs/bundlers.md': 'its option `worker`',
  'docs/document-numbers.md': 'a till without a page, and its series',
  'docs/shop-day.md': 'a till, which makes no ids',
  'docs/processes.md': 'an app without a page',
  'docs/recipes/web-worker.md': 'an app in a worker',
  'docs/recipes/background-sync.md': 'a service worker, where no page is',
}

/** Among the sources, so that modules find what they import. Two runs do not meet there. */
const written = join(ROOT, 'test-results', `docs-${process.pid}`)
const cwd = mkdtempSync(join(tmpdir(), 'hilo-docs-'))
let server: HiloServer

beforeAll(async () => {
  mkdirSync(written, { recursive: true })
  for (const { name, text } of MODULES) writeFileSync(join(written, `${name}.tsx`), text)
  writeFileSync(join(written, 'hilo.ts'), read('examples/hilo.ts'))
  const extended = relative(written, join(ROOT, 'tsconfig.json'))
  writeFileSync(
    join(written, 'tsconfig.json'),
    JSON.stringify({ extends: extended, include: ['*.ts', '*.tsx'], exclude: [] }),
  )
  await build({
    input: {
      ...Object.fromEntries(MODULES.map(({ name }) => [name, join(written, `${name}.tsx`)])),
      browser: join(ROOT, 'test/docs/browser.ts'),
      run: join(ROOT, 'test/docs/run.ts'),
    },
    platform: 'node',
    tsconfig: join(ROOT, 'tsconfig.json'),
    external: (id) => !/^([./]|offline-hilo)/.test(id),
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    output: { dir: written, entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
  })
  server = await serve({ create: true, port: 0, dataDir: join(cwd, 'server') })
})
afterAll(async () => {
  await server.close()
  for (const folder of [cwd, written]) rmSync(folder, { recursive: true, force: true })
})

test('all blocks compile', async () => {
  expect(MODULES.length).toBeGreaterThan(10)
  await expect(node(join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', written)).resolves.toBe('')
})

test('an app has one Hilo: its pages import it', () => {
  const makes = ({ text, language }: Block) =>
    MODULE_LANGUAGES.includes(language) && /createHilo(<.*>)?\(/.test(text)
  expect(PAGES.filter((page) => blocksOf(read(page)).some(makes)).sort()).toEqual(
    Object.keys(MAKERS).sort(),
  )
})

/** What readers copy: files that are shipped, and the code of the pages. */
const COPIED = [
  ...['server/deploy', 'examples', 'test/package/apps'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(m?js|tsx?)$/.test(path) && !path.includes('node_modules'))
      .map((path) => [`${folder}/${path}`, read(`${folder}/${path}`)] as const),
  ),
  ...PAGES.map(
    (page) =>
      [
        page,
        blocksOf(read(page))
          .map(({ text }) => text)
          .join('\n'),
      ] as const,
  ),
]

/** The arguments of each call of a function, as they are written. */
const callsOf = (name: string, code: string): string[] =>
  [...code.matchAll(new RegExp(`\\b${name}\\(`, 'g'))].map(({ index }) => {
    const rest = code.slice(index + name.length)
    let depth = 0
    const end = [...rest].findIndex((letter) => {
      depth += Number(letter === '(') - Number(letter === ')')
      return depth === 0
    })
    return rest.slice(0, end + 1)
  })

test('whatever opens a ledger names its place, and whatever answers says who may ask', () => {
  const ledgers = COPIED.flatMap(([path, code]) =>
    callsOf('openLedger', code).map((call) => ({ path, call })),
  )
  const handlers = COPIED.flatMap(([path, code]) =>
    ['createHiloHandler', 'createHiloWorker']
      .flatMap((name) => callsOf(name, code))
      .map((call) => ({ path, call })),
  )
  expect([ledgers.length > 10, handlers.length > 10]).toEqual([true, true])
  expect(ledgers.filter(({ call }) => !/\b(dataDir|databaseUrl)\b/.test(call))).toEqual([])
  expect(handlers.filter(({ call }) => !/\b(tokens|authorize|open|host)\b/.test(call))).toEqual([])
})

describe.concurrent('blocks run', () => {
  test.each(MODULES.filter(({ isRun }) => isRun).map(({ name }) => name))('%s', async (name) => {
    await node(
      '--import',
      pathToFileURL(join(written, 'browser.mjs')).href,
      join(written, 'run.mjs'),
      join(written, `${name}.mjs`),
    )
  })
})

test('files that the pages for contributors name are there', () => {
  const pages = PAGES.filter((page) => /^(docs\/internals\/|CONTRIBUTING)/.test(page))
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.tsx?)`/g)].map(([, path]) => path!),
  )
  expect(named.length).toBeGreaterThan(30)
  const isThere = (path: string) =>
    ['', 'src', 'server/src'].some((folder) => existsSync(join(ROOT, folder, path)))
  expect(named.filter((path) => !isThere(path))).toEqual([])
})

/** Resolves with what it printed; rejects with all it said. */
async function node(...args: string[]): Promise<string> {
  const env = { ...process.env, HILO_SERVER: server.url }
  try {
    return (await run(process.execPath, args, { cwd, env })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${stdout}${stderr}`)
  }
}

describe.each(PAGES)('%s', (page) => {
  const blocks = blocksOf(read(page))

  test('excerpts are in their files', () => {
    for (const { file, text, line } of blocks.filter(({ kind }) => kind === 'excerpt')) {
      const plain = (code: string) =>
        code
          .split('\n')
          .map((each) => each.trim())
          .join('\n')
      expect(plain(read(file!)), `${page}:${line}`).toContain(plain(text))
    }
  })

  test('JSON is JSON', () => {
    for (const { text } of blocks.filter(
      ({ language, kind }) => language === 'json' && kind !== 'excerpt',
    ))
      JSON.parse(text)
  })

  test('commands exist, and their flags', async () => {
    const { scripts } = JSON.parse(read(TUTORIALS.includes(page) ? STARTER : 'package.json'))
    const commands = blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text }) => text.split(/\n|&&/))
    for (const command of commands.map((each) => each.replace(/(^|\s)#.*/, '').trim())) {
      const [, script] = /^npm (?:run )?([\w:]+)/.exec(command) ?? []
      if (script && !NPM_COMMANDS.includes(script))
        expect(Object.keys(scripts), command).toContain(script)
      const [isServer, subcommand = 'serve'] =
        /^(?:npx )?offline-hilo-server(?: ([a-z][\w-]*))?/.exec(command) ?? []
      if (isServer) {
        const help = await helpOf(subcommand)
        for (const [flag] of command.matchAll(/(?<=\s)--[\w-]+/g))
          expect(help, command).toContain(flag)
      }
    }
  })

  test('links lead somewhere', () => {
    const prose = read(page).replace(/^ *```[\s\S]*?^ *```$/gm, '')
    for (const [, target] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target!)) continue
      const [path, anchor] = target!.split('#')
      const file = path === '' ? page : join(dirname(page), path!)
      expect(existsSync(join(ROOT, file)), `${page} links to ${target}`).toBe(true)
      if (anchor) expect(anchorsOf(read(file)), `${page} links to ${target}`).toContain(anchor)
    }
  })
})

/** What npm itself knows. */
const NPM_COMMANDS = ['install', 'create', 'i', 'ci', 'publish', 'version', 'pack', 'pkg']
const help = new Map<string, Promise<string>>()

function helpOf(subcommand: string): Promise<string> {
  const known = help.get(subcommand) ?? runCli([subcommand, '--help']).then(({ stdout }) => stdout)
  help.set(subcommand, known)
  return known
}

/** As GitHub makes them of headings. */
function anchorsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
