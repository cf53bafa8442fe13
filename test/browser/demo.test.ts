/** What the order desk is for, in Chromium: orders get final ids, online and offline. */
import { expect, test } from 'vitest'
import { syncInBackground } from './chromium.js'
import { create, openDesk, seen, status, switchTo } from './desk-page.js'

test('online, an order gets its final id at once and reaches the table, customer too', async () => {
  const { page, table, counts } = await openDesk()
  await create(page, 'Harbour Café')
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  await seen(page, 'orders/2-A', 'sent')
  expect((await table()).map(({ id, customer }) => [id, customer])).toEqual([
    ['orders/1-A', 'customers/1-A'],
    ['orders/2-A', 'customers/1-A'],
  ])
  expect(await counts()).toEqual({
    orders: { stored: 2, refused: 0, forged: 0, highest: 2 },
    customers: { stored: 1, refused: 0, forged: 0, highest: 1 },
  })
  await page.waitForSelector('[data-figure="distinct"] dd:text("2")')
})

test('offline by the switch, orders wait, survive a reload, and are sent once online', async () => {
  const { page, table } = await openDesk()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  await page.click('#switch')
  await status(page, 'Working offline')
  await create(page, 'North Market')
  await seen(page, 'orders/2-A', 'waiting')
  expect(await table()).toHaveLength(1)

  await page.reload()
  await seen(page, 'orders/2-A', 'waiting')
  await status(page, '1 order waits on this device')
  await create(page, 'North Market')
  await seen(page, 'orders/3-A', 'waiting')

  await page.click('#switch')
  await seen(page, 'orders/2-A', 'sent')
  await seen(page, 'orders/3-A', 'sent')
  expect((await table()).map(({ id }) => id)).toEqual(['orders/1-A', 'orders/2-A', 'orders/3-A'])
})

test('the smallest demo makes ids, and says when none is left', async () => {
  const { page, url, stop } = await openDesk()
  await page.goto(`${url}/demo/minimal/`)
  await page.click('#make')
  await page.waitForSelector('li:text("tickets/1-A")')
  await stop()
  for (let tickets = 2; tickets <= 100; tickets++) {
    await page.click('#make')
    await page.waitForSelector(`li:text("tickets/${tickets}-A")`)
  }
  await page.click('#make')
  await page.waitForSelector('[role="alert"]:text("Connect to the internet")')
  expect(await page.locator('li').count()).toBe(100)
})

test('after a visit the desk loads without its server, and its orders are sent later', async () => {
  const { page, context, url, stop, start, table } = await openDesk()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
  await stop()
  await page.reload()
  await status(page, 'The server does not answer')
  await create(page, 'Harbour Café')
  await seen(page, 'orders/2-A', 'waiting')
  await page.close()
  await start()
  // Every tab is closed: the service worker sends.
  await syncInBackground(await context.newPage(), url, 'orders')
  await expect.poll(async () => (await table()).length, { timeout: 30_000 }).toBe(2)
})

test('receipts are consecutive, offline too; an open one is there after a crash', async () => {
  const { page } = await openDesk()
  const receipt = (id: string, state: string) =>
    page.waitForSelector(`.receipt[data-id="${id}"][data-state="${state}"]`)
  await page.click('#print')
  await receipt('A-000001', 'open')
  await page.click('.receipt[data-id="A-000001"] >> text=Confirm')
  await receipt('A-000001', 'confirmed')
  await switchTo(page, 'offline')
  await page.click('#print')
  await receipt('A-000002', 'open')
  await page.click('#kill-printing')
  await receipt('A-000002', 'open')
  await page.waitForSelector(
    '#receipts-summary:text("2 receipts, no number missing · 1 not confirmed")',
  )
})
