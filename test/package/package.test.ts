/**
 * The packages as they are published: packed, installed into fresh apps, built by each bundler, and
 * run in a browser under a strict policy. Only Vite, and no bundler at all, without `CI=true`.
 */
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openAppSite, STRICT_CSP } from '../browser/app-site.js'
import { openBrowser } from '../browser/browser.js'
import { start } from '../browser/process.js'
import { isFull } from '../support/sizes.js'
import { type FreshApps, freshApps } from './fresh-apps.js'
import { newOrder } from './new-order.js'
import { REPOSITORY } from './packed.js'
import { stepsOf } from './reader.js'

let apps: FreshApps

beforeAll(async () => {
  apps = await freshApps()
}, 600_000)
afterAll(() => apps?.remove(), 600_000)

interface App {
  title: string
  folder: string
  /** Program and arguments that build it. */
  build?: [program: string, ...args: string[]]
  /** Where its files are, in `folder`. */
  output: string
  path?: string
  /** Default: strict. */
  csp?: string
}

const BUNDLED: App[] = [
  { title: 'webpack 5', folder: 'webpack', build: ['webpack'], output: '.' },
  { title: 'Rollup', folder: 'rollup', build: ['rollup', '--config'], output: '.' },
  {
    title: 'esbuild, with a worker file of the app’s own',
    folder: 'esbuild',
    build: [
      'esbuild',
      'main.js',
      'hilo-worker.js',
      '--bundle',
      '--splitting',
      '--format=esm',
      '--outdir=dist',
    ],
    output: '.',
  },
  // Parcel writes an import map into the page, which is an inline script.
  {
    title: 'Parcel',
    folder: 'parcel',
    build: ['parcel', 'build', 'index.html', '--no-cache', '--dist-dir', 'dist'],
    output: 'dist',
    csp: "worker-src 'self'",
  },
]
const APPS: App[] = [
  { title: 'Vite', folder: 'vite', build: ['vite', 'build'], output: 'dist' },
  {
    title: 'no bundler, with an import map',
    folder: 'no-bundler',
    output: '..',
    path: '/no-bundler/',
    csp: "worker-src 'self'",
  },
  {
    title: 'no bundler, under a strict policy',
    folder: 'no-bundler',
    output: '..',
    path: '/no-bundler/strict.html',
  },
  {
    title: 'no bundler, under a policy with trusted types',
    folder: 'no-bundler',
    output: '..',
    path: '/no-bundler/trusted-types.html',
    csp: `${STRICT_CSP}; require-trusted-types-for 'script'`,
  },
]

test.each([...APPS, ...(isFull ? BUNDLED : [])])(
  '$title',
  async ({ folder, build, output, path = '/', csp = STRICT_CSP }) => {
    if (build) await apps.run(folder, ...build)
    const site = await openAppSite({
      folder: join(apps.folder, folder, output),
      backend: (await startServer()).url,
      csp,
    })
    expect(await idsMadeAt(site.url + path)).toEqual(['orders/1-A', 'orders/2-A', 'orders/3-A'])
    expect(new Set(site.claimants)).toEqual(new Set([site.workers[0]]))
  },
)

describe('the first app of the documentation', () => {
  /** @param added a folder with files of its own, which are put over those of the first app */
  function newFirstApp(name: string, added?: string): string {
    const folder = join(apps.folder, name)
    for (const from of ['first-app', added].filter((each) => each !== undefined))
      cpSync(join(apps.folder, from), folder, { recursive: true })
    return folder
  }

  test('has the types of Vite’s template', () => apps.run('first-app', 'tsc'))

  test('makes ids beside the dev server, shows them in the inspector, and offline', async () => {
    const folder = newFirstApp('first-app-in-dev')
    const server = await startServer()
    const config = join(folder, 'vite.config.ts')
    writeFileSync(config, readFileSync(config, 'utf8').replace('http://127.0.0.1:8080', server.url))
    const vite = await startProgram('vite', ['--port', '0'], folder)
    const site = await openAppSite({ backend: vite.url, csp: "worker-src 'self'" })
    const page = await (await openBrowser('chromium')).newPage()
    await page.goto(site.url)
    expect(await newOrder(page)).toBe('orders/1-A')
    expect(new Set(site.claimants)).toEqual(new Set([site.workers[0]]))
    const inspected = () =>
      page.evaluate(() => document.querySelector('hilo-inspector')!.shadowRoot!.textContent)
    await expect.poll(inspected, { timeout: 30_000 }).toContain('orders')
    await server.kill()
    await page.reload()
    expect(await newOrder(page)).toBe('orders/2-A')
  })

  test('loads and makes ids with the network off, by a service worker by hand', async () => {
    const folder = newFirstApp('offline-by-hand-app', 'offline-by-hand')
    await apps.run(folder, 'vite', 'build')
    await apps.run(folder, process.execPath, 'make-service-worker.js')
    const { url: backend } = await startServer()
    const site = await openAppSite({ folder: join(folder, 'dist'), backend, csp: STRICT_CSP })
    const page = await (await openBrowser('chromium')).newPage()
    await page.goto(site.url)
    expect(await newOrder(page)).toBe('orders/1-A')
    const cached = await page.evaluate(async () => {
      await navigator.serviceWorker.ready
      const all = await Promise.all((await caches.keys()).map((name) => caches.open(name)))
      const requests = await Promise.all(all.map((cache) => cache.keys()))
      return requests.flat().map(({ url }) => new URL(url).pathname)
    })
    // Without the worker’s own file, the ids would be made in the page.
    expect(cached).toContain(site.workers[0])
    site.close()
    await page.reload()
    expect(await newOrder(page)).toBe('orders/2-A')
  })
})

test('an app of the code in llms.txt alone compiles, makes ids, and each call runs', async () => {
  const folder = join(apps.folder, 'llms')
  const files = [
    ...stepsOf('docs/llms.txt', '## An app', '## The calls'),
    ...stepsOf('docs/llms.txt', '## The calls', '## Other entries'),
  ].filter((step) => step.kind === 'file')
  for (const { path, text } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const sources = files.map(({ path }) => path).filter((path) => path.endsWith('.ts'))
  expect(sources).toEqual(['vite.config.ts', 'src/hilo.ts', 'src/main.ts', 'src/calls.ts'])
  const tsc = join(apps.folder, 'node_modules/typescript-7.0/bin/tsc')
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022']
  const modules = ['--module', 'esnext', '--moduleResolution', 'bundler']
  await apps.run(folder, process.execPath, tsc, ...flags, ...modules, ...sources)
  appendFileSync(join(folder, 'src/main.ts'), "\nwindow.runCalls = () => import('./calls')\n")
  await apps.run(folder, 'vite', 'build')
  const { url: backend } = await startServer()
  const site = await openAppSite({ folder: join(folder, 'dist'), backend, csp: STRICT_CSP })
  const page = await (await openBrowser('chromium')).newPage()
  await page.goto(site.url)
  await page.evaluate(() => {
    document.querySelector('input')!.value = 'Ada'
    document.querySelector('button')!.click()
  })
  const list = () => page.evaluate(() => document.querySelector('ul')!.textContent)
  await expect.poll(list, { timeout: 30_000 }).toBe('orders/1-A Ada, ')
  const runCalls = () =>
    (window as unknown as { runCalls(): Promise<object> }).runCalls().then(Object.keys)
  expect((await page.evaluate(runCalls)).sort()).toEqual(['end', 'signOut'])
})

/** What the app at this address leaves in its global `ids`. */
async function idsMadeAt(url: string): Promise<string[]> {
  const page = await (await openBrowser('chromium')).newPage()
  await page.goto(url)
  await expect.poll(() => page.evaluate(() => 'ids' in globalThis), { timeout: 30_000 }).toBe(true)
  return page.evaluate(() => (globalThis as unknown as { ids: Promise<string[]> }).ids)
}

/** The server beside the apps, with a ledger of its own. */
const startServer = () =>
  startProgram('offline-hilo-server', [
    '--port',
    '0',
    '--data',
    join(apps.folder, `data-${crypto.randomUUID()}`),
    '--first',
  ])

/** Resolves with the address that it prints. */
async function startProgram(
  program: string,
  args: string[],
  cwd?: string,
): Promise<{ url: string; kill(): Promise<void> }> {
  const environment = { NO_COLOR: '1', FORCE_COLOR: undefined }
  const { ready, kill } = await start(
    apps.bin(program),
    args,
    /http:\/\/[\w.]+:\d+/,
    environment,
    cwd,
  )
  onTestFinished(kill)
  return { url: ready![0], kill }
}

/** 7.0; 6.0 and 5.9. */
const COMPILERS = ['typescript-7.0', ...(isFull ? ['typescript', 'typescript-5.9'] : [])]
const RESOLUTIONS: [name: string, ...flags: string[]][] = [
  ['bundler', '--module', 'esnext', '--moduleResolution', 'bundler'],
  ['nodenext', '--module', 'nodenext'],
]

describe.each(COMPILERS)('the types, by %s', (compiler) => {
  test.each(RESOLUTIONS)('with moduleResolution %s', async (_, ...flags) => {
    const tsc = join(apps.folder, 'node_modules', compiler, 'bin/tsc')
    const projects = ['tsconfig.json', 'tsconfig.server.json']
    await Promise.all(
      projects.map((project) => apps.run('types', process.execPath, tsc, '-p', project, ...flags)),
    )
  })
})

describe.each(['', 'server/'])('the API reference of ./%s', (folder) => {
  const read = (file: string) => JSON.parse(readFileSync(join(REPOSITORY, folder, file), 'utf8'))

  test.runIf(isFull)('has no broken reference, and nothing that is not exported', async () => {
    const { name } = read('package.json')
    const options = ['--options', `${folder}typedoc.json`, '--out', join(apps.folder, 'api', name)]
    await apps.run(REPOSITORY, 'typedoc', ...options)
  })

  test('has every entry of the package', () => {
    const { exports } = read('package.json')
    const { entryPoints } = read('typedoc.json')
    expect(entryPoints).toHaveLength(Object.keys(exports).length - ['./package.json'].length)
    const here = (path: string) => existsSync(join(REPOSITORY, folder, path))
    expect(entryPoints.filter((path: string) => !here(path))).toEqual([])
  })
})
