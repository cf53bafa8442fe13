/**
 * What starts and bursts cost in Chromium. `test/counts` states it exactly, in a world where each
 * wait has one length. Here waits have any, so these are bounds: half as much again as the most
 * that was seen in a dozen runs, on a machine with twenty other programs at work. There, answers
 * come late and one by one, so more of them need a transaction of their own.
 */
import { expect, test } from 'vitest'
import { type Costs, countCosts, sumOfCosts } from '../support/costs.js'
import { openBrowser, type TestPage } from './browser.js'
import { nextId } from './ids.js'
import { openSite, type Site } from './site.js'

type Bounds = Omit<Costs, 'timers'> & Record<'claims' | 'checkIns' | 'giveBacks', number>

const MOST = {
  start: { strict: 5, relaxed: 1, messages: 15, claims: 2, checkIns: 1, giveBacks: 0 },
  reload: { strict: 9, relaxed: 1, messages: 18, claims: 2, checkIns: 2, giveBacks: 0 },
  reserve: { strict: 12, relaxed: 1, messages: 18, claims: 3, checkIns: 1, giveBacks: 0 },
  oneByOne: { strict: 120, relaxed: 1, messages: 240, claims: 30, checkIns: 2, giveBacks: 0 },
  allAtOnce: { strict: 17, relaxed: 1, messages: 39, claims: 5, checkIns: 2, giveBacks: 0 },
  // Each load asks, unless another page's question is on its way.
  eightPages: { strict: 615, relaxed: 8, messages: 8_403, claims: 156, checkIns: 12, giveBacks: 0 },
  // How many give-backs there are depends on no wait.
  release: { strict: 768, relaxed: 1, messages: 2_112, claims: 2, checkIns: 2, giveBacks: 200 },
} satisfies Record<string, Bounds>

/** The next check-in, and until a minute and a half after a claim a look at who repeats it. */
const TIMERS_AT_REST = 2

const IDS = 10_000

/** Pages of one device that are open at the same time. */
class Pages {
  readonly #site: Site
  readonly #pages: TestPage[]

  private constructor(site: Site, pages: TestPage[]) {
    this.#site = site
    this.#pages = pages
  }

  /** @param collections those that the app lists */
  static async open(count = 1, collections: readonly string[] = ['orders']): Promise<Pages> {
    const [site, browser] = [await openSite(), await openBrowser('chromium')]
    const listed = Object.fromEntries(collections.map((name) => [name, {}]))
    // Two hundred requests at once take long on a busy machine.
    const options = { collections: listed, timeout: 60_000 }
    const url = site.url(options, { beforePage: countCosts, beforeWorker: countCosts })
    const pages: TestPage[] = []
    for (let i = 0; i < count; i++) {
      const page = await browser.newPage()
      await page.goto(url)
      pages.push(page)
    }
    return new Pages(site, pages)
  }

  /** In each page at once. */
  run<R, A = undefined>(act: (arg: A) => R | Promise<R>, arg?: A): Promise<R[]> {
    return Promise.all(this.#pages.map((page) => page.evaluate(act, arg)))
  }

  async reload(): Promise<void> {
    this.#site.requests.length = 0
    for (const page of this.#pages) await page.reload()
  }

  /** Since the pages were loaded. The worker of each has answered already, so it counts, too. */
  async costs(): Promise<Bounds & Costs> {
    const realms = 2 * this.#pages.length
    const sent = (route: string) =>
      this.#site.requests.filter(({ path }) => path.split('?')[0]!.endsWith(route)).length
    return {
      ...(await this.#pages[0]!.evaluate(sumOfCosts, realms)),
      claims: sent('/next'),
      checkIns: sent('/checkin'),
      giveBacks: sent('/return'),
    }
  }

  async expectAtMost(bounds: Bounds): Promise<void> {
    const costs = await this.costs()
    const names = Object.keys(bounds) as (keyof Bounds)[]
    const over = names
      .filter((name) => costs[name] > bounds[name])
      .map((name) => `${costs[name]} ${name}, and at most ${bounds[name]} were expected`)
    expect(over).toEqual([])
  }
}

/** These run in a page, and say how many different ids they got. */
async function oneByOne(count: number): Promise<number> {
  const ids = new Set<string>()
  for (let i = 0; i < count; i++) ids.add(await window.hilo.nextId('orders'))
  return ids.size
}
const allAtOnce = async (count: number) =>
  new Set(await Promise.all(Array.from({ length: count }, () => window.hilo.nextId('orders')))).size

test('a start on an empty device, and a reload with stored ids', async () => {
  const pages = await Pages.open()
  await pages.run(nextId)
  await pages.expectAtMost(MOST.start)
  const timers = async () => (await pages.costs()).timers
  await expect.poll(timers, { timeout: 30_000 }).toBeLessThanOrEqual(TIMERS_AT_REST)
  await pages.reload()
  await pages.run(nextId)
  await pages.expectAtMost(MOST.reload)
})

test('a start, and reserve(500)', async () => {
  const pages = await Pages.open()
  await pages.run(() => window.hilo.reserve('orders', 500))
  await pages.expectAtMost(MOST.reserve)
})

test('10,000 ids of an empty device, each awaited before the next', async () => {
  const pages = await Pages.open()
  expect(await pages.run(oneByOne, IDS)).toEqual([IDS])
  await pages.expectAtMost(MOST.oneByOne)
})

test('10,000 ids of an empty device, by Promise.all', async () => {
  const pages = await Pages.open()
  expect(await pages.run(allAtOnce, IDS)).toEqual([IDS])
  await pages.expectAtMost(MOST.allAtOnce)
})

test('10,000 ids in each of eight pages, each awaited before the next', async () => {
  const pages = await Pages.open(8)
  expect(await pages.run(oneByOne, IDS)).toEqual(Array(8).fill(IDS))
  await pages.expectAtMost(MOST.eightPages)
})

test('a start with 100 collections, and their release()', async () => {
  const pages = await Pages.open(
    1,
    Array.from({ length: 100 }, (_, i) => `collection${i}`),
  )
  await pages.run(() => window.hilo.ready)
  await pages.run(() => window.hilo.release())
  await pages.expectAtMost(MOST.release)
})
