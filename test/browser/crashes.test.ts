/**
 * The whole browser is killed at random moments while its pages make ids: none is made twice, and
 * no more is lost than pages may hold.
 */
import { describe, expect, test } from 'vitest'
import { createRandom } from '../simulation/random.js'
import { seed, sizeOf } from '../support/sizes.js'
import { openLastingBrowser, type TestBrowser } from './browser.js'
import { testedEngines } from './engines.js'
import { askAgain, expectDistinct, nextId, status } from './ids.js'
import { openSite, type Site } from './site.js'

const PAGES = 4
/** Each page makes this many ids, tells the log of them, and goes on. */
const BATCH = 5
/** What a page may hold when nothing happens, and may lose. */
const AT_REST = 16
/** A busy page may hold this many times what it made in its last second. */
const LOOK_AHEAD = 4
const CRASHES = sizeOf('CRASHES')
const SEED = seed()
/**
 * A crash comes before this many ids have reached the log. So it can come while a page only just
 * starts, and as late as the pages' second lease and claim.
 */
const MOST_IDS = 200

/** Runs in a page. */
function makeIdsOnAndOn(): void {
  addEventListener('load', async () => {
    for (;;) {
      const ids = await window.hilo.nextIds('orders', 5)
      await fetch('/log', { method: 'POST', body: ids.join('\n') })
    }
  })
}

/** Runs in a page: how many numbers this device can still issue or give back. */
async function atHand(): Promise<number> {
  const { segments } = await window.hilo.inspect('orders')
  const left = segments.filter(
    ({ kind, isThisPage }) => kind !== 'issued' && (kind !== 'leased' || isThisPage),
  )
  return left.reduce((sum, { from, to }) => sum + to - from + 1, 0)
}

async function crash(site: Site, browser: TestBrowser, afterIds: number): Promise<void> {
  await browser.restart()
  const enough = site.log.length + afterIds
  const opening = Array.from({ length: PAGES }, async () => {
    const page = await browser.newPage()
    await page.goto(site.url({}, { beforePage: makeIdsOnAndOn }))
  })
  // Some calls never end, because of the crash. So nobody waits for them.
  void Promise.allSettled(opening)
  await expect
    .poll(() => site.log.length, { interval: 5, timeout: 30_000 })
    .toBeGreaterThanOrEqual(enough)
  await browser.kill()
}

describe.each(testedEngines())('in $title', ({ name, title }) => {
  test(
    `${CRASHES} crashes on one profile while ${PAGES} pages make ids: all distinct, and the ` +
      'gaps are known',
    async () => {
      console.log(`${title}: TEST_SEED=${SEED}`)
      const random = createRandom(SEED)
      const site = await openSite()
      const browser = await openLastingBrowser(name)
      for (let i = 0; i < CRASHES; i++) await crash(site, browser, random.between(0, MOST_IDS))
      expectDistinct(site.log)

      await browser.restart()
      const page = await browser.newPage()
      await page.goto(site.url())
      const made = [...site.log, await page.evaluate(nextId)]
      expectDistinct(made)

      await page.evaluate(askAgain)

      // Each page may have issued a last batch that did not reach the log.
      const unheard = CRASHES * PAGES * BATCH
      const gaps = async () =>
        (await site.server.outstanding('orders')) - made.length - (await page.evaluate(atHand))
      const known = async () =>
        Object.values((await page.evaluate(status)).gaps).reduce((sum, count) => sum + count)
      await expect
        .poll(async () => (await gaps()) - (await known()), { timeout: 20_000 })
        .toBeLessThanOrEqual(unheard)
      console.log(
        `${title}, ${CRASHES} crashes: ${made.length} ids, ${await gaps()} gaps, of which ` +
          `the status knows ${await known()}`,
      )
      // All crashed pages together made no more than this.
      const most = made.length + unheard
      const held = CRASHES * PAGES * AT_REST + LOOK_AHEAD * most
      expect(await gaps()).toBeLessThanOrEqual(held + unheard)
    },
    60_000 + CRASHES * 45_000,
  )

  test(`a crash takes at most ${AT_REST} ids of a page at rest; the status has them`, async () => {
    const site = await openSite()
    const browser = await openLastingBrowser(name)
    const made: string[] = []
    for (let i = 0; i < PAGES; i++) {
      const page = await browser.newPage()
      await page.goto(site.url())
      made.push(await page.evaluate(nextId))
    }
    await browser.kill()
    await browser.restart()
    const page = await browser.newPage()
    await page.goto(site.url())
    made.push(await page.evaluate(nextId))
    expectDistinct(made)
    const crashed = async () => (await page.evaluate(status)).gaps.crash
    await expect.poll(crashed, { timeout: 20_000 }).toBeGreaterThan(0)
    // The device cannot know that each page had issued one of its ids.
    expect(await crashed()).toBeLessThanOrEqual(PAGES * (AT_REST + 1))
    await page.evaluate(askAgain)
    const gaps = async () =>
      (await site.server.outstanding('orders')) - made.length - (await page.evaluate(atHand))
    await expect.poll(gaps, { timeout: 20_000 }).toBeLessThanOrEqual(PAGES * AT_REST)
  })
})
