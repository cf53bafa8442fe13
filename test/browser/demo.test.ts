/** What the order desk is for, in Chromium: orders get final ids, online and offline. */
import { expect, test } from 'vitest'
import { create, openDesk, seen, status } from './desk-page.js'

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

test('when the browser says that it is offline, the desk sends no request', async () => {
  const { page, context, table } = await openDesk()
  await create(page, 'Harbour Café')
  await seen(page, 'orders/1-A', 'sent')
  await context.setOffline(true)
  await status(page, 'No network')
  await page.click('#ten')
  await seen(page, 'orders/11-A', 'waiting')
  await context.setOffline(false)
  await status(page, 'Every order is in the server’s table')
  expect(await table()).toHaveLength(11)
})

test('the smallest demo makes an id', async () => {
  const { page, url } = await openDesk()
  await page.goto(`${url}/demo/minimal/`)
  await page.click('#make')
  await page.waitForSelector('li:text("tickets/1-A")')
})
