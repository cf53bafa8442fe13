/**
 * Devices that share a document, in real browsers on different profiles. The worker asks its page
 * for ranges, and the page has the source.
 */
import { expect, test } from 'vitest'
import { openBrowser } from './browser.js'
import { expectDistinct, nextIds, numberOf } from './ids.js'
import { openSite } from './site.js'

const DOCUMENT = '/databases/{database}/docs?id=Raven/Hilo/{collection}'
/** An id without a node tag: a document names no node. */
const withNode = (ids: string[]) => ids.map((id) => `${id}-A`)

test('two browsers on one document never make the same id, and no claim is sent', async () => {
  const site = await openSite()
  const url = site.url({}, { document: DOCUMENT })
  const pages = await Promise.all([1, 2].map(async () => (await openBrowser('chromium')).newPage()))
  await Promise.all(pages.map((page) => page.goto(url)))
  const made: string[] = []
  for (let round = 0; round < 10; round++)
    made.push(...(await Promise.all(pages.map((page) => page.evaluate(nextIds, 100)))).flat())
  await pages[0]!.reload()
  made.push(...(await Promise.all(pages.map((page) => page.evaluate(nextIds, 100)))).flat())
  expectDistinct(withNode(made))
  expect(made).toHaveLength(2200)
  expect(Math.min(...withNode(made).map(numberOf))).toBe(1)
  expect(await site.server.max('orders')).toBeGreaterThanOrEqual(
    Math.max(...withNode(made).map(numberOf)),
  )
  expect(site.requests.filter(({ path }) => path.includes('/hilo/'))).toEqual([])
})

test('what one page stores is there for the next one, offline too', async () => {
  const site = await openSite()
  const page = await (await openBrowser('chromium')).newPage()
  await page.goto(site.url({ collections: { orders: { reserve: 100 } } }, { document: DOCUMENT }))
  await page.evaluate(() => window.hilo.ready)
  expect(await page.evaluate(nextIds, 3)).toEqual(['orders/1', 'orders/2', 'orders/3'])
  await site.server.stop()
  await page.reload()
  expect(await page.evaluate(nextIds, 3)).toEqual(['orders/4', 'orders/5', 'orders/6'])
})
