/** The starter's page in Chromium: what somebody sees who orders while something is missing. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAppSite, STRICT_CSP } from './app-site.js'
import { complaintsAbout } from './axe.js'
import { openContext } from './desk-page.js'
import { openHiloServer } from './hilo-server.js'

const inRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'hilo-starter-'))

beforeAll(async () => {
  await build({
    configFile: false,
    root: inRoot('examples/starter'),
    logLevel: 'error',
    resolve: { alias: { 'offline-hilo': inRoot('src/index.ts') } },
    build: { outDir: folder, emptyOutDir: true, modulePreload: { polyfill: false } },
    worker: { format: 'es' },
  })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Shop {
  page: Page
  /** Stops the server of the ids. */
  stop(): Promise<void>
}

/** @param before runs in the page, before its own code */
async function openShop(before = () => {}): Promise<Shop> {
  const { url, stop } = await openHiloServer()
  const post = () => [201] as [number]
  const site = await openAppSite({ folder, backend: url, csp: STRICT_CSP, post })
  const page = await (await openContext()).newPage()
  page.on('pageerror', (error) => expect.unreachable(`the page threw ${error}`))
  await page.addInitScript(before)
  await page.goto(site.url)
  return { page, stop }
}

async function order(page: Page, customer: string): Promise<void> {
  await page.fill('input', customer)
  await page.press('input', 'Enter')
}

const typed = (page: Page) => page.inputValue('input')

test('without an id, it says what to do, and what was typed stays', async () => {
  const { page, stop } = await openShop()
  await order(page, 'Ada')
  await page.waitForSelector('li:text("orders/1-A Ada, sent")')
  expect(await complaintsAbout(page)).toEqual([])
  await stop()
  for (let orders = 2; orders <= 200; orders++) {
    await order(page, 'Grace')
    await page.waitForSelector(`li:text("orders/${orders}-A Grace")`)
  }
  await order(page, 'Grace')
  await page.waitForSelector('[role=alert]:text("Connect to the internet")')
  expect(await typed(page)).toBe('Grace')
  expect(await page.locator('li').count()).toBe(200)
  expect(await page.textContent('[role=status]')).toBe('0 ids left for offline work')
})

test('before the ids are known, nobody reads that none is left', async () => {
  const { page } = await openShop(() => {
    const read: string[] = []
    Object.assign(globalThis, { read })
    const look = () => read.push(document.querySelector('[role=status]')?.textContent ?? '')
    new MutationObserver(look).observe(document, { subtree: true, childList: true })
  })
  for (const visit of ['first', 'second']) {
    await page.waitForSelector('[role=status]:text("200 ids left")')
    const read = await page.evaluate('read')
    expect(read, `${visit} visit`).toContain('… ids left for offline work')
    expect(read, `${visit} visit`).not.toContain('0 ids left for offline work')
    await page.reload()
  }
})

test('where the browser stores nothing, it says so, and what was typed stays', async () => {
  const { page } = await openShop(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException('The operation is insecure.', 'SecurityError')
    }
  })
  await page.waitForSelector('[role=alert]:text("This browser stores nothing")')
  await order(page, 'Ada')
  await page.waitForSelector('[role=alert]:text("That did not work")')
  expect(await typed(page)).toBe('Ada')
})
