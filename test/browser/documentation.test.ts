/**
 * The documentation as a site, built by VitePress, in Chromium: every link leads somewhere, and
 * people who need help can read it, on a desktop and on a phone.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isInstalled, run, unlessInstalled } from '../support/peers.js'
import { openAppSite } from './app-site.js'
import { complaintsAbout } from './axe.js'
import { openContext } from './desk-page.js'
import { VITEPRESS } from './libraries.js'

const ROOT = join(import.meta.dirname, '../..')
const left = unlessInstalled(VITEPRESS)
const folder = mkdtempSync(join(tmpdir(), 'hilo-site-'))

/** A machine that is busy builds for minutes. */
const BUILD_MS = 600_000

/** VitePress builds nothing where a link is dead. */
beforeAll(() => {
  if (!isInstalled(VITEPRESS)) return
  const program = join(VITEPRESS.folder, 'node_modules/vitepress/bin/vitepress.js')
  run(process.execPath, [program, 'build', 'docs', '--outDir', folder], ROOT, BUILD_MS)
}, BUILD_MS)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SIZES = { desktop: { width: 1280, height: 900 }, phone: { width: 360, height: 780 } }

async function open(path: string, size: keyof typeof SIZES = 'desktop'): Promise<Page> {
  const { url } = await openAppSite({ folder, backend: 'http://127.0.0.1:9', csp: '' })
  const page = await (await openContext()).newPage()
  page.on('pageerror', (error) => expect.unreachable(`the page threw ${error}`))
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.setViewportSize(SIZES[size])
  await page.goto(url + path)
  return page
}

test('npm run site builds with the VitePress that is tested', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  expect(scripts.site).toContain(VITEPRESS.title.replace('VitePress ', 'vitepress@'))
})

test.skipIf(left)(`every link leads to a file of the site${left}`, () => {
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.html'))
    .map((path) => path.replaceAll('\\', '/'))
  expect(pages.length).toBeGreaterThan(30)
  const read = (path: string) => readFileSync(join(folder, path), 'utf8')
  const isThere = (at: URL) => {
    const path = at.pathname.replace(/\/$/, '/index.html')
    if (!existsSync(join(folder, path))) return false
    return at.hash === '' || read(path).includes(`id="${decodeURIComponent(at.hash.slice(1))}"`)
  }
  const dead = pages.flatMap((page) =>
    [...read(page).matchAll(/<a [^>]*href="([^"]+)"/g)]
      .map(([, href]) => new URL(href!, `http://site/${page}`))
      .filter((at) => at.host === 'site' && !isThere(at))
      .map(({ href }) => `${page}: ${href}`),
  )
  expect(dead).toEqual([])
})

test.skipIf(left)(`the first page shows what it is about, live${left}`, async () => {
  const page = await open('/')
  await page.waitForSelector('.VPDoc h1')
  expect(await page.textContent('pre')).toContain("hilo.nextId('orders')")
  const demo = page.frameLocator('iframe[title="Try to make a duplicate"]')
  expect(await demo.locator('.intro').isVisible(), 'the intro, a second time').toBe(false)
  await demo.locator('#step').click()
  await expect.poll(() => demo.locator('#count').textContent()).toMatch(/^Event 1 of \d+$/)
})

const SEARCHES = [
  ['react native', 'React Native, Capacitor, Electron: what was run'],
  ['invoice', 'Invoice, receipt or ticket?'],
  ['exhausted', 'Reference'],
  ['nextId', 'Reference'],
] as const

test.skipIf(left).each(SEARCHES)(
  `who searches for "%s" finds "%s" first${left}`,
  async (...pair) => {
    const [words, first] = pair
    const page = await open('/guide.html')
    await page.click('.VPNavBarSearch button')
    await page.fill('.search-input', words)
    const found = () => page.locator('.result').first().textContent()
    await expect.poll(found, { timeout: 10_000 }).toContain(first)
  },
)

test.skipIf(left)(`programs find every call, and every page in one file${left}`, () => {
  const [calls, full] = ['llms.txt', 'llms-full.txt'].map((path) =>
    readFileSync(join(folder, path), 'utf8'),
  )
  expect(calls).toContain('nextId(collection: CollectionRef, options?: IdOptions): Promise<string>')
  expect(calls).toContain('- [Guide](guide.md): ')
  for (const path of ['guide.md', 'recipes/dexie.md', 'server.md'])
    expect(full).toContain(readFileSync(join(ROOT, 'docs', path), 'utf8'))
})

const LOOKS = [
  ['light', 'desktop'],
  ['dark', 'phone'],
] as const

test.skipIf(left).each(LOOKS)(`people can read it: %s, %s${left}`, async (scheme, size) => {
  const page = await open('/', size)
  await page.emulateMedia({ colorScheme: scheme })
  for (const path of [
    '/',
    '/pages.html',
    '/guide.html',
    '/reference.html',
    '/recipes/',
    '/tutorial.html',
  ]) {
    await page.goto(new URL(path, page.url()).href)
    await page.waitForSelector('.VPDoc h1')
    expect(await complaintsAbout(page), path).toEqual([])
    const wide = () => document.documentElement.scrollWidth > document.documentElement.clientWidth
    expect(await page.evaluate(wide), path).toBe(false)
  }
  await page.goto(new URL('/demo/inspector/', page.url()).href)
  await page.click('#order')
  await page.waitForSelector('[role="status"]:text("orders/1-A")')
  expect(await complaintsAbout(page), 'the inspector').toEqual([])
})
