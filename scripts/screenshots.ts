/**
 * `npm run screenshots`: the pictures in README and docs, taken of the real order desk with its
 * server, and of the inspector on a page of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createAdaptorServer } from '@hono/node-server'
import { chromium, type Page } from 'playwright-core'
import { buildDesk } from '../demo/server/build.js'
import { startDesk } from '../demo/server/desk-server.js'
import { createHiloHandler, openLedger } from '../server/src/index.js'
import { bundleSite } from '../test/browser/bundle.js'
import { enginePath } from '../test/browser/engines.js'

const IMAGES = fileURLToPath(new URL('../docs/images', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'order-desk-'))
const pages = join(folder, 'pages')
await buildDesk(pages)
const browser = await chromium.launch({
  executablePath: enginePath('chromium'),
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  await withDesk('offline', offline, { width: 1280, height: 860 })
  await withDesk('online-dark', online, { width: 1280, height: 860, colorScheme: 'dark' })
  await withDesk('phone', offline, { width: 360, height: 780 })
  await withDesk('inside', inside, { width: 1280, height: 1000 })
  await withDesk('four', four, { width: 1600, height: 900 })
  await withDesk('play', play, { width: 1280, height: 1080 })
  await inspector()
} finally {
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
}

interface View {
  width: number
  height: number
  colorScheme?: 'light' | 'dark'
}

async function withDesk(
  name: string,
  work: (page: Page, url: string) => Promise<void>,
  view: View,
): Promise<void> {
  const desk = await startDesk({ pages, database: { data: join(folder, name) } })
  const { width, height, colorScheme = 'light' } = view
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  try {
    await page.goto(desk.url)
    await page.waitForSelector('#orders[aria-busy="false"]', { state: 'attached' })
    await work(page, desk.url)
    const path = join(IMAGES, `order-desk-${name}.png`)
    await page.screenshot({ path })
    console.log(path)
  } finally {
    await context.close()
    await desk.close()
  }
}

async function create(page: Page, customer: string, item: string): Promise<void> {
  await page.fill('#customer', customer)
  await page.selectOption('#item', item)
  await page.click('#new-order [type="submit"]')
  await page.waitForFunction(
    () => document.querySelector<HTMLInputElement>('#customer')!.value === '',
  )
}

async function someOrders(page: Page): Promise<void> {
  await create(page, 'Harbour Café', 'House blend, 1 kg')
  await create(page, 'North Market', 'Paper cups, 500')
  await create(page, 'Harbour Café', 'Decaf, 500 g')
  await page.waitForFunction(
    () => document.querySelectorAll('.order[data-state="sent"]').length === 3,
  )
}

async function offline(page: Page): Promise<void> {
  await someOrders(page)
  await page.click('#switch')
  await page.click('#ten')
  await page.click('.order[data-id="orders/13-A"] [name="repeat"]')
  await page.click('#new-order [type="submit"]')
  await page.waitForSelector('.order[data-id="orders/14-A"][data-state="waiting"]')
  await page.waitForTimeout(300)
}

async function online(page: Page): Promise<void> {
  await someOrders(page)
  await page.click('#storm')
  await page.waitForFunction(
    () => document.querySelector('[data-figure="distinct"] dd')!.textContent === '203',
  )
  await page.waitForSelector('#status:text("Every order is in")')
  await page.evaluate(() => scrollTo(0, 0))
}

async function inside(page: Page): Promise<void> {
  await offline(page)
  await page.click('#inside summary')
  await page.waitForSelector('hilo-inspector')
  await page.evaluate(() => document.querySelector('#inside')!.scrollIntoView())
}

async function four(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/demo/four/`)
  for (let i = 0; i < 4; i++)
    await page
      .frameLocator('iframe')
      .nth(i)
      .locator('#orders[aria-busy="false"]')
      .waitFor({ state: 'attached' })
  await page.click('#storm-all')
  await page.waitForFunction(
    () => document.querySelector('[data-figure="distinct"] dd')!.textContent === '800',
  )
}

/** In the middle of a run, with messages on their way. */
async function play(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/demo/play/#story=network&seed=1`)
  await page.fill('#position', '47')
  await page.evaluate(() => document.querySelector<HTMLElement>('#position')!.blur())
}

/** Three tabs of one device; the inspector is in the first. */
async function inspector(): Promise<void> {
  const files = await bundleSite()
  const ledger = await openLedger({ create: true, dataDir: join(folder, 'inspector') })
  const handle = createHiloHandler({ ledger, open: true })
  const server = createAdaptorServer({
    fetch: (request: Request) => {
      const { pathname } = new URL(request.url)
      const type = pathname.endsWith('.js') ? 'text/javascript' : 'text/html'
      const file = files.get(pathname)
      return file === undefined
        ? handle(request)
        : new Response(file as string, { headers: { 'content-type': type } })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const options = encodeURIComponent(
    JSON.stringify({ collections: { orders: { reserve: 100 }, customers: {} } }),
  )
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/inspector.html?options=${options}`
  const context = await browser.newContext({
    viewport: { width: 1120, height: 900 },
    reducedMotion: 'reduce',
  })
  try {
    const [page, second, third] = [
      await context.newPage(),
      await context.newPage(),
      await context.newPage(),
    ]
    for (const each of [page, second, third]) await each.goto(url)
    await page.evaluate(() => {
      document.querySelector('style')!.remove()
      document.querySelector('hilo-inspector')!.hilo = window.hilo
      return window.hilo.ready
    })
    for (const each of [page, second, third, page])
      await each.evaluate(() => window.hilo.nextIds('orders', 9))
    await second.evaluate(() => window.hilo.nextIds('customers', 3))
    await page.bringToFront()
    await page.locator('.log li').nth(5).waitFor()
    await page.locator('[aria-label="orders"] .leased-here').first().hover()
    await page.waitForTimeout(500)
    const path = join(IMAGES, 'inspector.png')
    await page.locator('hilo-inspector').screenshot({ path })
    console.log(path)
  } finally {
    await context.close()
    server.close()
    await ledger.close()
  }
}
