/**
 * What `npm install` of one of the packages brings into an empty folder, and that it works there.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'rolldown'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { start } from '../browser/process.js'
import { RUNTIMES } from '../processes/runtimes.js'
import { emptyFolder, execute, install } from './packed.js'

const packed = inject('packed')
let folder: string
let added: number

/** All tests of one package look at one folder, into which only that package was installed. */
/** Every relative link of the package's own texts leads to a file of it. */
function deadLinks(name: string): string[] {
  const root = join(folder, 'node_modules', name)
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(md|txt)$/.test(path))
    .flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
        .map(([, link]) => link!)
        .filter((link) => !/^\w+:/.test(link) && !existsSync(join(root, dirname(path), link)))
        .map((link) => `${path}: ${link}`),
    )
}

function installAlone(name: 'browser' | 'server'): void {
  beforeAll(async () => {
    folder = emptyFolder()
    added = await install(folder, packed[name].tarball)
  }, 600_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
}

describe('offline-hilo', () => {
  installAlone('browser')

  test('adds one package, of less than a megabyte', () => {
    expect(added).toBe(1)
    expect(packed.browser.unpackedSize).toBeLessThan(1_000_000)
  })

  test('carries every call with an example, and no link of its texts is dead', () => {
    expect(packed.browser.files.map(({ path }) => path)).toContain('docs/llms.txt')
    expect(deadLinks('offline-hilo')).toEqual([])
  })

  test('has no native code, and no script that runs at installation', () => {
    const strange = packed.browser.files.filter(
      ({ path }) => !/\.(js|d\.ts|json|md|txt)$|^LICENSE$/.test(path),
    )
    expect(strange).toEqual([])
    const manifest = join(folder, 'node_modules/offline-hilo/package.json')
    const { dependencies = {}, scripts } = JSON.parse(readFileSync(manifest, 'utf8'))
    expect(dependencies).toEqual({})
    expect(Object.keys(scripts).filter((name) => /install$/.test(name))).toEqual([])
  })

  test('has one class of errors, which those of every entry are of', async () => {
    writeFileSync(
      join(folder, 'errors.mjs'),
      `import { createHilo, HiloError } from 'offline-hilo'
      import { createHilo as createInWorker } from 'offline-hilo/worker'
      import { consecutive } from 'offline-hilo/consecutive'
      import { nextHiSource } from 'offline-hilo/source'
      import { sqliteStore } from 'offline-hilo/sqlite'
      import { createHilo as inTests } from 'offline-hilo/testing'
      const calls = [createHilo, createInWorker, consecutive, nextHiSource, sqliteStore, inTests]
      for (const call of calls)
        try {
          call({ reserve: -1 })
        } catch (error) {
          console.log(error instanceof HiloError)
        }`,
    )
    expect(await execute(process.execPath, ['errors.mjs'], folder)).toBe('true\n'.repeat(6))
  })

  test.each(RUNTIMES.map((each) => [each.title + each.leftOut, each] as const))(
    'is imported by one name, with its store, in %s',
    async (_, { command: [program, ...before], leftOut }) => {
      if (leftOut) return
      writeFileSync(
        join(folder, 'app.mjs'),
        `import { createHilo } from 'offline-hilo'
        import { sqliteStore } from 'offline-hilo/sqlite'
        console.log(typeof createHilo, typeof sqliteStore)`,
      )
      expect(await execute(program, [...before, 'app.mjs'], folder)).toBe('function function\n')
    },
  )

  test.each(RUNTIMES.map((each) => [each.title + each.leftOut, each] as const))(
    'tells a process that it has nowhere to store ids, and lets it end, in %s',
    async (_, { command: [program, ...before], leftOut }) => {
      if (leftOut) return
      writeFileSync(
        join(folder, 'nowhere.mjs'),
        `import { createHilo } from 'offline-hilo'
        const hilo = createHilo({ url: 'http://127.0.0.1:9', collections: { orders: {} } })
        await hilo.nextId('orders').catch(({ message }) => console.log(message))`,
      )
      expect(await execute(program, [...before, 'nowhere.mjs'], folder)).toMatch(
        /^No id was made: .*`store`/,
      )
    },
    60_000,
  )
})

describe('offline-hilo-server', () => {
  installAlone('server')

  test('carries the pages, and no link of them is dead', () => {
    const paths = packed.server.files.map(({ path }) => path)
    expect(paths).toEqual(
      expect.arrayContaining(['docs/README.md', 'docs/guide.md', 'docs/llms.txt']),
    )
    expect(deadLinks('offline-hilo-server')).toEqual([])
  })

  test('serves with one command, from a ledger in ./hilo-data', async () => {
    const server = await start(
      'npx',
      ['offline-hilo-server', '--port', '0'],
      /http:\/\/[\w.:]+/,
      {},
      folder,
    )
    onTestFinished(() => server.kill())
    const [url] = server.ready!
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const claimed = await fetch(`${url}/databases/Shop/hilo/next?tag=orders`)
    expect(claimed.status).toBe(201)
    expect(await claimed.json()).toMatchObject({ Prefix: 'orders/', Low: 1, High: 32 })
    expect(existsSync(join(folder, 'hilo-data/hilo.db'))).toBe(true)
  })

  test('does without the browser package', () => {
    expect(existsSync(join(folder, 'node_modules/@photostructure/sqlite'))).toBe(true)
    expect(existsSync(join(folder, 'node_modules/offline-hilo'))).toBe(false)
  })

  test('is bundled for Cloudflare without a driver of SQLite or PostgreSQL', async () => {
    const worker = join(folder, 'worker.mjs')
    writeFileSync(
      worker,
      `import { createHiloWorker } from 'offline-hilo-server/durable-object'
      const hilo = createHiloWorker({ databases: ['Shop'] })
      export const HiloDatabase = hilo.Database
      export default { fetch: hilo.fetch }`,
    )
    const { output } = await build({
      input: worker,
      platform: 'neutral',
      external: [/^node:/, /^cloudflare:/],
      resolve: { conditionNames: ['workerd', 'worker', 'browser', 'import'], mainFields: [] },
      onLog: (_, { message }) => {
        throw new Error(`rolldown: ${message}`)
      },
      write: false,
    })
    const [{ imports, moduleIds }] = output
    expect(imports.sort()).toEqual([
      'cloudflare:workers',
      'node:buffer',
      'node:crypto',
      'node:timers',
    ])
    const packages = moduleIds.map((id) => /.*node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(id)?.[1])
    expect(new Set(packages)).toEqual(new Set([undefined, 'offline-hilo-server', 'hono', 'zod']))
  })
})

const DOCUMENTS = ['README.md', 'LICENSE', 'docs/llms.txt']

test.each([
  { name: 'browser', documents: [...DOCUMENTS, 'ThirdPartyNotices.txt'] },
  { name: 'server', documents: [...DOCUMENTS, 'CHANGELOG.md', 'docs/guide.md', 'docs/README.md'] },
] as const)('the $name package has its documents', ({ name, documents }) => {
  const paths = packed[name].files.map(({ path }) => path)
  expect(paths).toEqual(expect.arrayContaining([...documents]))
})
