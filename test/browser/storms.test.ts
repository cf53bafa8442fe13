/** Many pages, many reloads and several devices at once: every id is another one, and what is lost on the way is counted. */
import { describe, expect, test } from 'vitest'
import { openBrowser, type TestPage } from './browser.js'
import { testedEngines } from './engines.js'
import { available, expectDistinct, nextId, numberOf } from './ids.js'
import { openSite, type Site } from './site.js'

const PAGES = 8
const IDS_PER_PAGE = 2_000
/** How often a page reloads: fewer where a reload takes long. An environment variable may ask for as many as there is time for. */
const RELOADS = { chromium: 200, firefox: 100 }
const reloadsOf = (name: 'chromium' | 'firefox') => Number(process.env.HILO_RELOADS ?? RELOADS[name])

const makeAtOnce = (count: number) => Promise.all(Array.from({ length: count }, () => window.hilo.nextId('orders')))

/** Runs in a page, which makes one id and loads itself again, until the log has enough. */
function reloadOnAndOn(): void {
  addEventListener('load', async () => {
    const id = await window.hilo.nextId('orders')
    const { status } = await fetch('/log', { method: 'POST', body: id })
    if (status === 204) location.reload()
  })
}

/** Numbers that devices have, but that were neither made nor are at hand for a page. */
async function gapsOf({ server }: Site, made: readonly string[], pages: TestPage[]): Promise<number> {
  const left = await Promise.all(pages.map((page) => page.evaluate(available)))
  return left.reduce((gaps, count) => gaps - count, (await server.outstanding('orders')) - made.length)
}

/** What a page may hold when nothing happens, and may lose. */
const AT_REST = 16

const report = (what: string, gaps: number) => console.log(`${what}: ${gaps} ${gaps === 1 ? 'gap' : 'gaps'}`)

describe.each(testedEngines())('in $title', ({ name, title }) => {
  test(`${PAGES} pages that make ${IDS_PER_PAGE} ids each, all at once, make different ones`, async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const pages: TestPage[] = []
    for (let i = 0; i < PAGES; i++) pages.push(await browser.newPage())
    await Promise.all(pages.map((page) => page.goto(site.url())))
    const made = (await Promise.all(pages.map((page) => page.evaluate(makeAtOnce, IDS_PER_PAGE)))).flat()
    expect(made).toHaveLength(PAGES * IDS_PER_PAGE)
    expectDistinct(made)

    // What the others leave behind is at hand again with the next page's first id.
    for (const page of pages.slice(1)) await page.close()
    await pages[0]!.reload()
    made.push(await pages[0]!.evaluate(nextId))
    const gaps = () => gapsOf(site, made, pages.slice(0, 1))
    await expect.poll(gaps, { timeout: 20_000 }).toBeLessThanOrEqual(PAGES * AT_REST)
    report(`${title}, ${PAGES} pages × ${IDS_PER_PAGE} ids`, await gaps())
  })

  // A second WebKitGTK does not start while a program drives a first one; and there a page that reloads itself stalls for seconds:
  // its reloads, driven from outside, are in ids.test.ts.
  if (name === 'webkit') return
  const reloads = reloadsOf(name)
  test(`${reloads} reloads, each as soon as one id is made, use consecutive numbers`, async () => {
    const site = await openSite()
    const page = await (await openBrowser(name)).newPage()
    site.stopLogAt(reloads)
    await page.goto(site.url({}, { beforePage: reloadOnAndOn }))
    await expect.poll(() => site.log.length, { timeout: 100_000 }).toBe(reloads)
    expectDistinct(site.log)
    const highest = Math.max(...site.log.map(numberOf))
    report(`${title}, ${reloads} reloads`, highest - reloads)
    expect(highest).toBe(reloads)
  })

  test('two devices that make ids at the same time make different ones', async () => {
    const site = await openSite()
    const devices = [await openBrowser(name), await openBrowser(name)]
    const pages = await Promise.all(devices.map((device) => device.newPage()))
    await Promise.all(pages.map((page) => page.goto(site.url())))
    const made: string[] = []
    for (let turn = 0; turn < 5; turn++) {
      const [first, second] = await Promise.all(pages.map((page) => page.evaluate(makeAtOnce, 300)))
      made.push(...first!, ...second!, await pages[0]!.evaluate(nextId))
    }
    expect(made).toHaveLength(5 * 601)
    expectDistinct(made)
    const gaps = () => gapsOf(site, made, pages)
    await expect.poll(gaps, { timeout: 20_000 }).toBeLessThanOrEqual(2 * AT_REST)
    report(`${title}, two devices`, await gaps())
  })
})
