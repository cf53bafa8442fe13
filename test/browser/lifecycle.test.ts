/**
 * Pages that are hidden, left, duplicated or closed, or that come back: what they held is used
 * elsewhere, and once.
 */
import { describe, expect, test } from 'vitest'
import { leave, openBrowser, openPrerenderingPage } from './browser.js'
import { testedEngines } from './engines.js'
import {
  available,
  expectDistinct,
  isAllOffered,
  nextId,
  nextIds,
  numberOf,
  status,
} from './ids.js'
import { openSite, type Site } from './site.js'

/** With `reserve: 0`, a page that closes gives back what it has not used. */
const KEEP_NOTHING = { collections: { orders: { reserve: 0 } } }
/**
 * A page of the same site with a storage of its own. It stays open, because Firefox often loses
 * what the last tab of a site sends while it closes.
 */
const ELSEWHERE = { name: 'elsewhere' }

/**
 * Runs in a page, which then takes itself for hidden or visible. Each engine has another way to
 * cover a window, and a page sees the same.
 * @returns how many ids the page holds then
 */
function show(visibility: 'hidden' | 'visible'): number {
  Object.defineProperty(document, 'visibilityState', { value: visibility, configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
  return window.hilo.status('orders').leased
}

/** Runs in a page. */
const listenForReturn = () =>
  addEventListener('pageshow', (event) => Object.assign(window, { isFromCache: event.persisted }))
const hasNothingToKeep = () => window.hilo.status('orders').reserve === 0
const isFromCache = () => (window as { isFromCache?: boolean }).isFromCache ?? false

/**
 * Runs in a page that has itself prerendered, and in the prerendered one, which asks for an id.
 * When it has asked, the user goes there.
 */
function prerenderMyself(): void {
  const said: string[] = []
  if (!('prerendering' in document && document.prerendering)) {
    const url = `${location.href}&again`
    addEventListener('storage', () => location.assign(url))
    const prerender = [{ urls: [url], eagerness: 'immediate' }]
    const rules = Object.assign(document.createElement('script'), {
      type: 'speculationrules',
      textContent: JSON.stringify({ prerender }),
    })
    document.head.append(rules)
    return
  }
  const Real = Worker
  window.Worker = class extends Real {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options)
      said.push('worker')
    }
  }
  document.addEventListener('prerenderingchange', () => said.push('shown'))
  addEventListener('DOMContentLoaded', async () => {
    const asked = window.hilo.nextId('orders')
    said.push('asked')
    localStorage.setItem('asked', 'yes')
    said.push(await asked)
    await fetch('/log', { method: 'POST', body: said.join('\n') })
  })
}

const returns = ({ requests }: Site, since = 0) =>
  requests.slice(since).filter(({ path }) => path.includes('/return')).length

/** Runs in a page, which makes ids and opens a second one with a copy of its session storage. */
function openTwice(): void {
  addEventListener('load', async () => {
    if (!sessionStorage.getItem('isOpen')) {
      const first = await window.hilo.nextIds('orders', 5)
      sessionStorage.setItem('isOpen', JSON.stringify(first))
      await fetch('/log', { method: 'POST', body: first.join('\n') })
      window.open(location.href)
    }
    const made = await window.hilo.nextIds('orders', 50)
    await fetch('/log', { method: 'POST', body: made.join('\n') })
  })
}

/** Runs in a page. The page that it opens shares its thread. @returns an id of that page */
async function openAnother(): Promise<string> {
  const other = window.open(location.href)!
  await new Promise((resolve) => other.addEventListener('load', resolve))
  Object.assign(window, { other })
  return other.hilo.nextId('orders')
}

/** Runs in a page: closes the other one, which cannot hear of it before the thread is free. */
function closeWhileBusy(ms: number): void {
  const { other } = window as unknown as { other: Window }
  setTimeout(() => {
    other.close()
    const end = performance.now() + ms
    while (performance.now() < end);
  })
}

describe.each(testedEngines())('in $title', ({ name }) => {
  test('a hidden page parks its numbers, and only another page issues them', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const page = await browser.newPage()
    await page.goto(site.url())
    const made = await page.evaluate(nextIds, 5)
    // At once, because a hidden page may be killed at any moment.
    expect(await page.evaluate(show, 'hidden')).toBe(0)
    const other = await browser.newPage()
    await other.goto(site.url())
    made.push(...(await other.evaluate(nextIds, 10)))
    expect(numberOf(made[5]!)).toBe(6)
    await page.evaluate(show, 'visible')
    made.push(...(await page.evaluate(nextIds, 30)), ...(await other.evaluate(nextIds, 30)))
    expectDistinct(made)
  })

  test('a page that comes back by the back button makes none of the ids it gave back', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const [page, other] = [await browser.newPage(), await browser.newPage()]
    await other.goto(site.url(ELSEWHERE))
    await page.goto(site.url(KEEP_NOTHING))
    const made = await page.evaluate(nextIds, 5)
    await expect.poll(() => page.evaluate(isAllOffered), { timeout: 20_000 }).toBe(true)
    await page.evaluate(listenForReturn)
    await page.goto(site.url(ELSEWHERE))
    await expect.poll(() => site.server.outstanding('orders'), { timeout: 20_000 }).toBe(5)
    // Another device gets what was given back.
    made.push(...(await other.evaluate(nextIds, 20)))
    expect(numberOf(made[5]!)).toBe(6)
    await page.evaluate(() => history.back())
    await expect.poll(() => page.evaluate(hasNothingToKeep), { timeout: 20_000 }).toBe(true)
    // Firefox does not cache a page whose worker waits for a server or holds a lock. It loads that
    // page anew.
    if (name !== 'firefox')
      await expect.poll(() => page.evaluate(isFromCache), { timeout: 20_000 }).toBe(true)
    made.push(...(await page.evaluate(nextIds, 20)), ...(await other.evaluate(nextIds, 20)))
    expectDistinct(made)
  })

  test('a page that closes late leaves no number missing on one that started before', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const [opener, next] = [await browser.newPage(), await browser.newPage()]
    await opener.goto(site.url())
    const made = [await opener.evaluate(openAnother)]
    await next.goto('about:blank')
    await opener.evaluate(closeWhileBusy, 4_000)
    await next.goto(site.url())
    made.push(await next.evaluate(nextId))
    expectDistinct(made)
    // What is granted and not issued, the next page can issue. It knows a gap where the browser
    // ended the page before that wrote its note, as it does on a busy machine.
    const missing = async () => {
      const { gaps } = await next.evaluate(status)
      const left = (await next.evaluate(available)) + gaps.crash
      return (await site.server.outstanding('orders')) - made.length - left
    }
    await expect.poll(missing, { timeout: 30_000 }).toBeLessThanOrEqual(0)
  })

  test('a page opened with a copy of the session storage makes ids of its own', async () => {
    const site = await openSite()
    const page = await (await openBrowser(name)).newPage()
    await page.goto(site.url({}, { beforePage: openTwice }))
    await expect.poll(() => site.log.length, { timeout: 20_000 }).toBe(105)
    expectDistinct(site.log)
  })

  test('a lost give-back comes back with the next check-in, for the next page to use', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    await (await browser.newPage()).goto(site.url(ELSEWHERE))
    const page = await browser.newPage()
    await page.goto(site.url(KEEP_NOTHING))
    const made = await page.evaluate(nextIds, 5)
    await expect.poll(() => page.evaluate(isAllOffered), { timeout: 20_000 }).toBe(true)
    await site.server.stop()
    await leave(page, name, site.url(ELSEWHERE))
    await expect.poll(() => returns(site), { timeout: 20_000 }).toBeGreaterThan(0)
    await site.server.start()

    const next = await browser.newPage()
    await next.goto(site.url(KEEP_NOTHING))
    const makeOne = async () => {
      made.push(await next.evaluate(nextId))
      return numberOf(made.at(-1)!)
    }
    await expect.poll(makeOne, { timeout: 20_000 }).toBe(6)
    made.push(...(await next.evaluate(nextIds, 100)))
    expectDistinct(made)
  })
})

test('a prerendered page has its worker, and ids, once its user is there', async () => {
  const site = await openSite()
  await openPrerenderingPage(site.url({}, { beforePage: prerenderMyself }))
  await expect.poll(() => site.log, { timeout: 60_000 }).toHaveLength(4)
  expect(site.log).toEqual(['asked', 'shown', 'worker', expect.stringMatching(/^orders\//)])
})
