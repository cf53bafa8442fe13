/** `npm run screenshots`: the pictures in README and docs, taken of the real order desk with its server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Page } from 'playwright-core'
import { buildDesk } from '../demo/server/build.js'
import { startDesk } from '../demo/server/desk-server.js'
import { enginePath } from '../test/browser/engines.js'

const IMAGES = fileURLToPath(new URL('../docs/images', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'order-desk-'))
const pages = join(folder, 'pages')
await buildDesk(pages)
const browser = await chromium.launch({ executablePath: enginePath('chromium'), args: ['--no-sandbox', '--disable-gpu'] })
try {
  await withDesk('offline', offline, { width: 1280, height: 860 })
  await withDesk('online-dark', online, { width: 1280, height: 860, colorScheme: 'dark' })
  await withDesk('phone', offline, { width: 360, height: 780 })
  await withDesk('four', four, { width: 1600, height: 900 })
} finally {
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
}

interface View {
  width: number
  height: number
  colorScheme?: 'light' | 'dark'
}

async function withDesk(name: string, work: (page: Page, url: string) => Promise<void>, view: View): Promise<void> {
  const desk = await startDesk({ pages, database: { data: join(folder, name) } })
  const { width, height, colorScheme = 'light' } = view
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' })
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
  await page.waitForFunction(() => document.querySelector<HTMLInputElement>('#customer')!.value === '')
}

async function someOrders(page: Page): Promise<void> {
  await create(page, 'Harbour Café', 'House blend, 1 kg')
  await create(page, 'North Market', 'Paper cups, 500')
  await create(page, 'Harbour Café', 'Decaf, 500 g')
  await page.waitForFunction(() => document.querySelectorAll('.order[data-state="sent"]').length === 3)
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
  await page.waitForFunction(() => document.querySelector('[data-figure="distinct"] dd')!.textContent === '203')
  await page.waitForSelector('#status:text("Every order is in")')
  await page.evaluate(() => scrollTo(0, 0))
}

async function four(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/demo/four/`)
  for (let i = 0; i < 4; i++) await page.frameLocator('iframe').nth(i).locator('#orders[aria-busy="false"]').waitFor({ state: 'attached' })
  await page.click('#storm-all')
  await page.waitForFunction(() => document.querySelector('[data-figure="distinct"] dd')!.textContent === '800')
}
