/**
 * The order desk in Chromium for tests: a desk with its own data in a browser that has never seen
 * it, and what a user does and sees there.
 */
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { atFileEnd } from '../support/file-end.js'
import { openDeskServer } from './desk.js'
import { enginePath } from './engines.js'
import { atMostTwice } from './launch.js'

let browser: Promise<Browser> | undefined

function launch(): Promise<Browser> {
  const launched = atMostTwice(() =>
    chromium.launch({
      executablePath: enginePath('chromium'),
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--disable-background-networking',
        '--disable-component-update',
      ],
    }),
  )
  atFileEnd(async () => {
    browser = undefined
    await (await launched).close()
  })
  return launched
}

/** A browser that has never seen a desk. */
export async function openContext(): Promise<BrowserContext> {
  browser ??= launch()
  const context = await (await browser).newContext()
  onTestFinished(() => context.close())
  return context
}

/** A desk with its own data, in a browser that has never seen it. */
export async function openDesk() {
  const { orders: table, ...server } = await openDeskServer()
  const context = await openContext()
  return { ...server, table, context, page: await openTab(context, server.url) }
}

async function openTab(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  page.on('pageerror', (error) => expect.unreachable(`the page threw ${error}`))
  await page.goto(url)
  await page.waitForSelector('#orders[aria-busy="false"]', { state: 'attached' })
  return page
}

export async function create(page: Page, customer: string): Promise<void> {
  await page.fill('#customer', customer)
  await page.press('#customer', 'Enter')
  await page.waitForFunction(
    () => document.querySelector<HTMLInputElement>('#customer')!.value === '',
  )
}

/** Clicks the offline switch, and waits until it shows the change. */
export async function switchTo(page: Page, to: 'online' | 'offline'): Promise<void> {
  await page.click('#switch')
  await page.waitForSelector(`#switch[aria-checked="${to === 'online'}"]`)
}

export const seen = (page: Page, id: string, state: string) =>
  page.waitForSelector(`.order[data-id="${id}"][data-state="${state}"]`)
export const status = (page: Page, text: string) => page.waitForSelector(`#status:text("${text}")`)
