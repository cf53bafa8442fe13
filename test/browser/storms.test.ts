/**
 * Many pages at once, and many reloads: every id is another one, and what is lost on the way is
 * counted.
 */
import { describe, expect, test } from 'vitest'
import { sizeOf } from '../support/sizes.js'
import { openBrowser, type TestPage } from './browser.js'
import { testedEngines } from './engines.js'
import { askAgain, available, expectDistinct, nextId, numberOf, status } from './ids.js'
import { openSite, type Site } from './site.js'

const PAGES = 8
const IDS_PER_PAGE = sizeOf('IDS_PER_PAGE')
const RELOADS = sizeOf('RELOADS')

const makeAtOnce = (count: number) =>
  Promise.all(Array.from({ length: count }, () => window.hilo.nextId('orders')))

async function reloadByItself(site: Site, page: TestPage): Promise<string[]> {
  site.stopLogAt(RELOADS)
  await page.goto(site.url({}, { beforePage: reloadOnAndOn }))
  await expect.poll(() => site.log.length, { timeout: 280_000 }).toBe(RELOADS)
  return site.log
}

/**
 * Reloads the page from outside, as a user does. If a page in WebKit reloads itself in the middle
 * of its worker's transaction, that transaction never ends. Then nobody can write there until the
 * browser is started again.
 */
async function reload(site: Site, page: TestPage): Promise<string[]> {
  const made: string[] = []
  await page.goto(site.url())
  while (made.length < RELOADS) {
    made.push(await page.evaluate(nextId))
    await page.reload()
  }
  return made
}

/** Runs in a page, which makes one id and loads itself again, until the log has enough. */
function reloadOnAndOn(): void {
  addEventListener('load', async () => {
    const id = await window.hilo.nextId('orders')
    const { status } = await fetch('/log', { method: 'POST', body: id })
    if (status === 204) location.reload()
  })
}

/** Numbers that devices were granted, that no page has made into ids, and that no page can. */
async function gapsOf(
  { server }: Site,
  made: readonly string[],
  pages: TestPage[],
): Promise<number> {
  const left = await Promise.all(pages.map((page) => page.evaluate(available)))
  return left.reduce(
    (gaps, count) => gaps - count,
    (await server.outstanding('orders')) - made.length,
  )
}

const report = (what: string, gaps: number) =>
  console.log(`${what}: ${gaps} ${gaps === 1 ? 'gap' : 'gaps'}`)

describe.each(testedEngines())('in $title', ({ name, title }) => {
  test(`${PAGES} pages make ${IDS_PER_PAGE} ids each at once, and all are different`, async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const pages: TestPage[] = []
    for (let i = 0; i < PAGES; i++) pages.push(await browser.newPage())
    await Promise.all(pages.map((page) => page.goto(site.url())))
    const made = (
      await Promise.all(pages.map((page) => page.evaluate(makeAtOnce, IDS_PER_PAGE)))
    ).flat()
    expect(made).toHaveLength(PAGES * IDS_PER_PAGE)
    expectDistinct(made)

    // With its first id, the next page takes over what the others left behind.
    for (const page of pages.slice(1))
      await (name === 'firefox' ? page.goto('about:blank') : page.close())
    await pages[0]!.reload()
    made.push(await pages[0]!.evaluate(nextId))
    await pages[0]!.evaluate(askAgain)
    const gaps = () => gapsOf(site, made, pages.slice(0, 1))
    // A browser that is busy takes a tab away before its note is written. The page that had just
    // made many ids held as many again, and more: these are a gap that the device knows (H3).
    const missing = async () => (await gaps()) - (await pages[0]!.evaluate(status)).gaps.crash
    await expect.poll(missing, { timeout: 20_000 }).toBeLessThanOrEqual(0)
    report(`${title}, ${PAGES} pages × ${IDS_PER_PAGE} ids`, await gaps())
  })

  test(`${RELOADS} reloads, one id each, use consecutive numbers`, async () => {
    const site = await openSite()
    const page = await (await openBrowser(name)).newPage()
    const made = name === 'webkit' ? await reload(site, page) : await reloadByItself(site, page)
    expectDistinct(made)
    const highest = Math.max(...made.map(numberOf))
    report(`${title}, ${RELOADS} reloads`, highest - RELOADS)
    expect(highest).toBe(RELOADS)
  }, 300_000)
})
