/**
 * The packages as they are published: packed, installed into fresh apps, built by each bundler, and
 * run in a browser under a strict policy.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openAppSite, STRICT_CSP } from '../browser/app-site.js'
import { openBrowser } from '../browser/browser.js'
import { start } from '../browser/process.js'
import { type FreshApps, freshApps } from './fresh-apps.js'
import { REPOSITORY } from './packed.js'

let apps: FreshApps

beforeAll(async () => {
  apps = await freshApps()
}, 600_000)
afterAll(() => apps?.remove(), 60_000)

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

const APPS: App[] = [
  { title: 'Vite', folder: 'vite', build: ['vite', 'build'], output: 'dist' },
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
]

test.each(APPS)('$title', async ({ folder, build, output, path = '/', csp = STRICT_CSP }) => {
  if (build) await apps.run(folder, ...build)
  const site = await openAppSite({
    folder: join(apps.folder, folder, output),
    backend: await startServer(),
    csp,
  })
  expect(await idsMadeAt(site.url + path)).toEqual(['orders/1-A', 'orders/2-A', 'orders/3-A'])
  expect(new Set(site.claimants)).toEqual(new Set([site.workers[0]]))
})

test('Next: a client component makes ids, and a server component may import the package', async () => {
  await apps.run('next', 'next', 'build')
  const next = await startProgram(
    'next',
    ['start', join(apps.folder, 'next'), '--port', '0'],
    /http:\/\/localhost:\d+/,
    {
      HILO_DATA: join(apps.folder, 'next-data'),
    },
  )
  const site = await openAppSite({ backend: next, csp: "worker-src 'self'" })
  expect(await (await fetch(site.url)).text()).toContain('HiloError')
  expect(await idsMadeAt(site.url)).toEqual(['orders/1-A', 'orders/2-A', 'orders/3-A'])
  expect(new Set(site.claimants)).toEqual(new Set([site.workers[0]]))
})

/** What the app at this address leaves in its global `ids`. */
async function idsMadeAt(url: string): Promise<string[]> {
  const page = await (await openBrowser('chromium')).newPage()
  await page.goto(url)
  await expect.poll(() => page.evaluate(() => 'ids' in globalThis), { timeout: 30_000 }).toBe(true)
  return page.evaluate(() => (globalThis as unknown as { ids: Promise<string[]> }).ids)
}

/** The server beside the apps, as `npx offline-hilo-server` starts it. */
const startServer = () =>
  startProgram('offline-hilo-server', [
    '--port',
    '0',
    '--data',
    join(apps.folder, `data-${crypto.randomUUID()}`),
  ])

/** Resolves with the address it prints. */
async function startProgram(
  program: string,
  args: string[],
  ready = /http:\S+/,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const running = await start(apps.bin(program), args, ready, env)
  onTestFinished(() => running.kill())
  return running.ready![0]
}

/** 5.9, 6.0 and 7.0. */
const COMPILERS = ['typescript-5.9', 'typescript', 'typescript-7.0']
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

  test('has no broken reference and nothing that is not exported', async () => {
    const { name } = read('package.json')
    const options = ['--options', `${folder}typedoc.json`, '--out', join(apps.folder, 'api', name)]
    await apps.run(REPOSITORY, 'typedoc', ...options)
  })

  test('has every entry of the package', () => {
    const { exports } = read('package.json')
    const { entryPoints } = read('typedoc.json')
    expect(entryPoints).toHaveLength(Object.keys(exports).length - ['./package.json'].length)
  })
})
