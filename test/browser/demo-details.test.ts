/**
 * The order desk in Chromium, as a user with a keyboard, a mouse, a screen reader, a small screen,
 * or a bad network meets it.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { complaintsAbout } from './axe.js'
import { syncInBackground } from './chromium.js'
import { openDeskServer } from './desk.js'
import {
  create,
  idsIn,
  openContext,
  openDesk,
  openTab,
  seen,
  status,
  switchTo,
} from './desk-page.js'

test('receipts are consecutive, offline too; an open one is there after a crash', async () => {
  const { page } = await openDesk()
  const receipt = (id: string, state: string) =>
    page.waitForSelector(`.receipt[data-id="${id}"][data-state="${state}"]`)
  await switchTo(page, 'offline')
  await page.click('#print')
  await page.waitForSelector('#receipts-problem:text("needs the server once")')
  await switchTo(page, 'online')
  await page.click('#print')
  await receipt('A-000001', 'open')
  await page.click('.receipt[data-id="A-000001"] >> text=Confirm')
  await receipt('A-000001', 'confirmed')
  await switchTo(page, 'offline')
  await page.click('#print')
  await receipt('A-000002', 'open')
  await page.click('#kill-printing')
  await receipt('A-000002', 'open')
  await page.click('.receipt[data-id="A-000002"] >> text=Cancel')
  await receipt('A-000002', 'cancelled')
  await page.click('#print')
  await receipt('A-000003', 'open')
  await page.waitForSelector('#receipts-summary:text("3 numbers without a hole, 1 not confirmed")')
})

test('a killed tab says afterwards what was lost, once', async () => {
  const { page } = await openDesk()
  await create(page, 'Harbour Café')
  await page.click('#kill')
  await page.waitForSelector(
    '#killed:text("lost the 15 numbers for orders and 15 numbers for cust")',
  )
  await page.reload()
  await page.waitForSelector('#orders[aria-busy="false"]', { state: 'attached' })
  expect(await page.isVisible('#killed')).toBe(false)
})

test('when the server goes away, the desk tries again by itself', async () => {
  const { page, stop, start, table } = await openDesk()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  await stop()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/2-A', 'waiting')
  await status(page, 'The server does not answer')
  await start()
  await seen(page, 'orders/2-A', 'sent')
  await status(page, 'Online.')
  expect(await table()).toHaveLength(2)
})

test('everything can be done with the keyboard', async () => {
  const { page } = await openDesk()
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  await press('Tab', 'Space')
  await status(page, 'Working offline')
  await press('Space')
  await status(page, 'Online.')
  await press('Tab')
  await page.keyboard.type('Harbour Café')
  await press('Tab', 'ArrowDown', 'Tab', 'ArrowUp', 'Enter')
  await seen(page, 'orders/1-A', 'sent')
  expect(await page.textContent('.order-lines')).toBe('2 × Decaf, 500 g')
  // The customer's field has the focus again, for the next order.
  await page.keyboard.type('North Market')
  await press('Enter')
  await seen(page, 'orders/2-A', 'sent')
  await press('Tab', 'Tab', 'Tab', 'Tab')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('ten')
  await press('Enter')
  await seen(page, 'orders/12-A', 'sent')
})

test('two tabs show each other’s orders and share the switch', async () => {
  const { page: first, context, url, table } = await openDesk()
  const second = await openTab(context, url)
  await first.click('#ten')
  await second.click('#ten')
  for (const page of [first, second])
    await page.waitForFunction(
      () => document.querySelectorAll('.order[data-state="sent"]').length === 20,
    )
  expect(new Set(await idsIn(first)).size).toBe(20)
  expect((await idsIn(first)).sort()).toEqual((await idsIn(second)).sort())

  await first.click('#switch')
  await status(second, 'Working offline')
  await create(second, 'Harbour Café')
  await status(first, '1 order waits')
  await second.click('#switch')
  for (const page of [first, second])
    await page.waitForFunction(
      () => document.querySelectorAll('.order[data-state="sent"]').length === 21,
    )
  expect(new Set((await table()).map(({ id }) => id)).size).toBe(21)
})

test('an order is sent though the tab that made it is gone', async () => {
  const { page: first, context, url, table, stop, start } = await openDesk()
  const second = await openTab(context, url)
  await create(first, 'Harbour Café')
  await seen(second, 'orders/1-A', 'sent')
  await stop()
  await create(first, 'Harbour Café')
  await seen(second, 'orders/2-A', 'waiting')
  await first.close()
  await start()
  await seen(second, 'orders/2-A', 'sent')
  expect(await table()).toHaveLength(2)
})

test('the table refuses an id that somebody else used, and the desk says so', async () => {
  const { page, url, counts } = await openDesk()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  await page.click('#switch')
  await create(page, 'Harbour Café')
  await seen(page, 'orders/2-A', 'waiting')
  const thief = {
    id: 'orders/2-A',
    key: '00000000-0000-4000-8000-000000000000',
    createdAt: '2026-01-01T10:00:00.000Z',
    tab: 'xyz',
    customer: 'customers/1-A',
    lines: [{ item: 'Decaf, 500 g', quantity: 1, cents: 1120 }],
    version: 1,
    edit: '00000000-0000-4000-8000-000000000000',
    base: 0,
  }
  await fetch(`${url}/api/orders`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify([thief]),
  })
  await page.click('#switch')
  const refused = await seen(page, 'orders/2-A', 'refused')
  expect(await refused.textContent()).toContain('made by tab xyz')
  await status(page, '1 order needs a decision')

  await page.click('#forge')
  await seen(page, 'orders/1-A', 'refused')
  await page.waitForSelector('[data-figure="duplicates"] dd:text("1")')
  await page.waitForSelector('#forged:text("Refused: 1. Somebody forged 1 order")')
  expect((await counts()).orders).toEqual({ stored: 2, refused: 2, forged: 1, highest: 2 })

  await page.click('.order[data-id="orders/2-A"] button[name="reissue"]')
  await seen(page, 'orders/3-A', 'sent')
  await status(page, '1 order needs a decision')
  expect((await idsIn(page)).sort()).toEqual([
    'orders/1-A',
    'orders/1-A',
    'orders/2-A',
    'orders/3-A',
  ])
})

test('with no ids left the form says so, keeps what was typed, and goes on online', async () => {
  const { page, table } = await openDesk()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  await page.click('#switch')
  const left = async () => Number(await page.textContent('[data-collection="orders"] .meter-count'))
  for (let before = await left(); before >= 10; before = await left()) {
    await page.click('#ten')
    await page.waitForFunction(
      (count) =>
        Number(document.querySelector('[data-collection="orders"] .meter-count')!.textContent) <
        count,
      before,
    )
  }
  await page.click('#ten')
  await page.waitForSelector('#problem-title:text("10 are needed")')
  for (let count = await left(); count > 0; count--) await create(page, 'Harbour Café')

  await page.fill('#customer', 'Garden Bistro')
  await page.press('#customer', 'Enter')
  await page.waitForSelector('#problem-title:text("No ids for orders are left")')
  await page.reload()
  await page.waitForSelector('#orders[aria-busy="false"]')
  expect(await page.inputValue('#customer')).toBe('Garden Bistro')
  await page.press('#customer', 'Enter')
  await page.click('#problem-online')
  await page.waitForSelector('#problem', { state: 'hidden' })
  expect(await page.inputValue('#customer')).toBe('Garden Bistro')
  await page.press('#customer', 'Enter')
  await status(page, 'Every order is in the server’s table')
  await page.waitForFunction(() =>
    document.querySelector('.order-customer')!.textContent!.startsWith('Garden Bistro'),
  )
  await page.waitForFunction(() => !document.querySelector('.order[data-state="waiting"]'))
  const ids = (await table()).map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('a browser that stores nothing is told what the desk needs', async () => {
  const { context, url } = await openDesk()
  await context.addInitScript(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException('The operation is insecure.', 'SecurityError')
    }
  })
  const page = await context.newPage()
  await page.goto(url)
  await page.waitForSelector('#broken:has-text("allow this site to store data")')
  await status(page, 'The desk cannot start')
})

test('on a first visit without ids the desk says what it needs', async () => {
  const { url } = await openDeskServer()
  const context = await openContext()
  await context.route(/\/(databases|api)\//, (route) => route.abort())
  const page = await openTab(context, url)
  await status(page, 'it has to reach the server once')
  await page.fill('#customer', 'Harbour Café')
  await page.press('#customer', 'Enter')
  await page.waitForSelector('#problem-title:text("No ids for customers are left")')
  await context.unroute(/\/(databases|api)\//)
  await page.waitForSelector('#problem', { state: 'hidden' })
  await page.press('#customer', 'Enter')
  await seen(page, 'orders/1-A', 'sent')
})

test('the service worker sends waiting orders once every tab is closed', async () => {
  const { page, context, url, stop, start, table } = await openDesk()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
  await stop()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/2-A', 'waiting')
  await page.close()
  await start()
  await syncInBackground(await context.newPage(), url, 'orders')
  await expect.poll(async () => (await table()).length, { timeout: 30_000 }).toBe(2)
})

test('a newer version of the desk is offered, and starts when the user agrees', async () => {
  const { page, pages } = await openDesk()
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
  expect(await page.isVisible('#update')).toBe(false)
  appendFileSync(join(pages, 'service-worker.js'), '\n// Newer.')
  await page.reload()
  await page.click('#update')
  await page.waitForSelector('#update', { state: 'hidden' })
  await page.waitForSelector('#orders[aria-busy="false"]', { state: 'attached' })
})

test.each([
  ['light', 1280],
  ['dark', 1280],
  ['light', 360],
] as const)('axe finds nothing to complain of: %s, %i pixels', async (colorScheme, width) => {
  const { page } = await openDesk()
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
  await page.setViewportSize({ width, height: 800 })
  expect(await complaintsAbout(page)).toEqual([])
  await page.click('#ten')
  await seen(page, 'orders/10-A', 'sent')
  await page.click('#forge')
  await seen(page, 'orders/10-A', 'refused')
  await page.click('#switch')
  await create(page, 'Harbour Café')
  await seen(page, 'orders/11-A', 'waiting')
  expect(await complaintsAbout(page)).toEqual([])
  await page.click('#inside summary')
  await page.waitForSelector('hilo-inspector')
  expect(await complaintsAbout(page)).toEqual([])
  await page.click('.order[data-id="orders/11-A"] button[name="edit"]')
  await page.click('#editor-add')
  expect(await complaintsAbout(page)).toEqual([])
  await page.keyboard.press('Escape')
  await page.waitForSelector('#editor', { state: 'hidden' })
})

/** Of the order whose button has the focus. */
const focused = (page: Page) =>
  page.evaluate(
    () =>
      `${document.activeElement?.getAttribute('name')} of ` +
      `${document.activeElement?.closest('li')?.dataset.id}`,
  )

/** Resolves once another row stands for this order. */
async function drawnAnew(page: Page, id: string, cause: () => Promise<unknown>): Promise<void> {
  const row = await page.waitForSelector(`.order[data-id="${id}"]`)
  await cause()
  await page.waitForFunction((old) => !old.isConnected, row)
}

test('after the dialog its button has the focus when the row was drawn anew', async () => {
  const { page, context, url } = await openDesk()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  const colleague = await openTab(context, url)
  const editElsewhere = async (quantity: string) => {
    await colleague.click('.order button[name="edit"]')
    await colleague.fill('.line input', quantity)
    await colleague.keyboard.press('Enter')
    await page.waitForSelector(`.order-lines:has-text("${quantity} ×")`)
  }
  for (const [key, quantity] of [
    ['Escape', '3'],
    ['Enter', '4'],
  ] as const) {
    await page.focus('.order button[name="edit"]')
    await page.keyboard.press('Enter')
    await drawnAnew(page, 'orders/1-A', () => editElsewhere(quantity))
    await page.press('.line input', key)
    await page.waitForSelector('#editor', { state: 'hidden' })
    await expect.poll(() => focused(page)).toBe('edit of orders/1-A')
  }
})

test('after the dialog its button keeps the focus when the row is drawn anew later', async () => {
  const { page, context } = await openDesk()
  await create(page, 'Harbour Café')
  await create(page, 'North Market')
  await seen(page, 'orders/2-A', 'sent')
  let letThrough = () => {}
  const held = new Promise<void>((resolve) => (letThrough = resolve))
  await context.route('**/api/orders', async (route) => {
    await held
    await route.continue()
  })
  await page.focus('.order[data-id="orders/1-A"] button[name="edit"]')
  await page.keyboard.press('Enter')
  await page.fill('.line input', '4')
  await page.keyboard.press('Enter')
  await seen(page, 'orders/1-A', 'waiting')
  await expect.poll(() => focused(page)).toBe('edit of orders/1-A')
  await drawnAnew(page, 'orders/1-A', async () => letThrough())
  await seen(page, 'orders/1-A', 'sent')
  expect(await focused(page)).toBe('edit of orders/1-A')
})

test.each([360, 768, 1280])('nothing is cut off or moves sideways at %i pixels', async (width) => {
  const { page } = await openDesk()
  await page.setViewportSize({ width, height: 800 })
  await page.click('#ten')
  await seen(page, 'orders/10-A', 'sent')
  const wide = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('body *')]
      .filter((element) => element.getBoundingClientRect().right > innerWidth)
      .map((element) => element.outerHTML),
  )
  expect(wide).toEqual([])
})
