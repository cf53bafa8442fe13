/**
 * The promise of the package, in real browsers against the real server: final ids online and
 * offline, and none of them twice.
 */
import { describe, expect, test } from 'vitest'
import { openBrowser } from './browser.js'
import { testedEngines } from './engines.js'
import { openSite } from './site.js'

const numberOf = (id: string) => Number(/^orders\/(\d+)-A$/.exec(id)?.[1])
const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)
const ids = (from: number, count: number) =>
  numbers(from, count).map((number) => `orders/${number}-A`)

/** A busy machine may take its time. */
const PATIENCE = { timeout: 30_000 }

/** Run in a page. */
const nextId = () => window.hilo.nextId('orders')
const nextIds = (count: number) => window.hilo.nextIds('orders', count)
const available = () => window.hilo.status('orders').available

describe.each(testedEngines())('in $title', ({ name }) => {
  test('a reload goes on where the page stopped', async () => {
    const site = await openSite()
    const page = await (await openBrowser(name)).newPage()
    await page.goto(site.url())
    expect(await page.evaluate(nextIds, 5)).toEqual(ids(1, 5))
    await page.reload()
    expect(await page.evaluate(nextIds, 5)).toEqual(ids(6, 5))
  })

  test('offline, ids last as long as the reserve; then calls fail until it is online', async () => {
    const site = await openSite()
    const page = await (await openBrowser(name)).newPage()
    await page.goto(site.url({ collections: { orders: { reserve: 100 } } }))
    await page.evaluate(() => window.hilo.ready)
    const count = await page.evaluate(available)
    expect(count).toBeGreaterThanOrEqual(100)
    await site.server.stop()

    const { made, code } = await page.evaluate(async () => {
      const made: string[] = []
      for (;;) {
        try {
          made.push(await window.hilo.nextId('orders'))
        } catch (error) {
          return { made, code: (error as { code: string }).code }
        }
      }
    })
    expect(made).toEqual(ids(1, count))
    expect(code).toBe('exhausted')

    await site.server.start()
    expect(await page.evaluate(nextId)).toBe(`orders/${count + 1}-A`)
  })

  test('ids made offline survive a reload of the page: none is made again', async () => {
    const site = await openSite()
    const page = await (await openBrowser(name)).newPage()
    await page.goto(site.url({ collections: { orders: { reserve: 100 } } }))
    await page.evaluate(() => window.hilo.ready)
    await site.server.stop()
    const before = await page.evaluate(nextIds, 10)
    await page.reload()
    expect([...before, ...(await page.evaluate(nextIds, 10))]).toEqual(ids(1, 20))
  })

  test('a page that comes out of the back/forward cache makes no id of another page', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const [page, other] = [await browser.newPage(), await browser.newPage()]
    await page.goto(site.url())
    const made = await page.evaluate(nextIds, 5)
    await page.evaluate(() =>
      addEventListener('pageshow', (event) =>
        Object.assign(window, { isFromCache: event.persisted }),
      ),
    )
    await page.goto(site.url({ name: 'elsewhere' }))
    await other.goto(site.url())
    made.push(...(await other.evaluate(nextIds, 40)))
    await page.evaluate(() => history.back())
    await expect
      .poll(() => page.evaluate(() => 'isFromCache' in window && window.isFromCache), PATIENCE)
      .toBe(true)
    made.push(...(await page.evaluate(nextIds, 40)), ...(await other.evaluate(nextIds, 5)))
    expect(made.every((id) => numberOf(id) >= 1)).toBe(true)
    expect(new Set(made).size).toBe(90)
  })
})
