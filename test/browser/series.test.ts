/**
 * A tab keeps its sale to itself while it lives. And the whole browser is killed at random moments
 * while its tabs make consecutive numbers, most of the time offline: the series is 1 … n, and each
 * number that a tab reported belongs to its key.
 */
import { describe, expect, test } from 'vitest'
import { createRandom } from '../simulation/random.js'
import { seed, sizeOf } from '../support/sizes.js'
import { openBrowser, openLastingBrowser } from './browser.js'
import { testedEngines } from './engines.js'
import { openSite } from './site.js'

const PAGES = 3
const CRASHES = sizeOf('CRASHES')
const SEED = seed()
/** So many numbers each tab makes while the others do. */
const EACH = 40
/** A crash comes before this many numbers have reached the log. */
const MOST_NUMBERS = 60

/** Runs in a page. */
function makeReceipts(): void {
  addEventListener('load', async () => {
    const receipts = window.consecutive(window.hilo, 'receipts')
    for (let i = 0; ; i++) {
      const key = crypto.randomUUID()
      const { id } = await receipts.next({ key })
      await fetch('/log', { method: 'POST', body: `${key} ${id}` })
      if (i % 3 === 0) await receipts.settle(key, 'confirmed')
      if (i % 3 === 1) await receipts.settle(key, 'cancelled', { reason: 'card declined' })
    }
  })
}

/** Runs in a page. */
const report = () => window.consecutive(window.hilo, 'receipts').report()

/** Runs in a page. */
const next = () => window.consecutive(window.hilo, 'receipts').next({ key: 'first' })

/** Runs in a page. */
async function makeMany(count: number): Promise<number[]> {
  const receipts = window.consecutive(window.hilo, 'receipts')
  const numbers: number[] = []
  for (let i = 0; i < count; i++)
    numbers.push((await receipts.next({ key: crypto.randomUUID() })).number)
  return numbers
}

/** Runs in a page. */
const open = () => window.consecutive(window.hilo, 'receipts').unfinished()

/** Runs in a page. */
const openOfAll = () => window.consecutive(window.hilo, 'receipts').unfinished({ all: true })

describe.each(testedEngines())('in $title', ({ name, title }) => {
  test(
    `${CRASHES} crashes on one profile while ${PAGES} tabs make receipts: no hole, no number twice`,
    async () => {
      console.log(`${title}: TEST_SEED=${SEED}`)
      const random = createRandom(SEED)
      const site = await openSite()
      const browser = await openLastingBrowser(name)
      await browser.restart()
      const first = await browser.newPage()
      await first.goto(site.url())
      expect(await first.evaluate(next)).toMatchObject({ id: 'A-000001', number: 1 })
      await browser.kill()
      for (let i = 0; i < CRASHES; i++) {
        if (i === 1) await site.server.stop()
        await browser.restart()
        const enough = site.log.length + random.between(1, MOST_NUMBERS)
        const opening = Array.from({ length: PAGES }, async () => {
          const page = await browser.newPage()
          await page.goto(site.url({}, { beforePage: makeReceipts }))
        })
        void Promise.allSettled(opening)
        await expect
          .poll(() => site.log.length, { interval: 5, timeout: 30_000 })
          .toBeGreaterThanOrEqual(enough)
        await browser.kill()
      }
      await browser.restart()
      const page = await browser.newPage()
      await page.goto(site.url())
      const reports = await page.evaluate(report)
      expect(reports).toHaveLength(1)
      const { numbers } = reports[0]!
      expect(numbers.map(({ number }) => number)).toEqual(numbers.map((_, i) => i + 1))
      const idOf = new Map(numbers.map(({ key, id }) => [key, id]))
      for (const line of site.log) {
        const [key, id] = line.split(' ')
        expect(idOf.get(key)).toBe(id)
      }
      const unheard = numbers.length - 1 - site.log.length
      const open = numbers.filter(({ state }) => state === 'open').length
      console.log(
        `${title}, ${CRASHES} crashes: ${numbers.length} numbers, ${open} of them open, ` +
          `${unheard} that no tab had told of`,
      )
      expect(unheard).toBeLessThanOrEqual(CRASHES * PAGES)
    },
    60_000 + CRASHES * 45_000,
  )

  test('three tabs at once make no number twice', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const pages = await Promise.all(Array.from({ length: PAGES }, () => browser.newPage()))
    for (const page of pages) await page.goto(site.url())
    await pages[0]!.evaluate(next)
    const made = await Promise.all(pages.map((page) => page.evaluate(makeMany, EACH)))
    const numbers = made.flat().sort((a, b) => a - b)
    expect(numbers).toEqual(numbers.map((_, i) => i + 2))
  })

  test('a sale that a tab is in the middle of is its own, until the tab is gone', async () => {
    const site = await openSite()
    const browser = await openLastingBrowser(name)
    await browser.restart()
    const [selling, starting] = [await browser.newPage(), await browser.newPage()]
    for (const page of [selling, starting]) await page.goto(site.url())
    const { id } = await selling.evaluate(next)
    expect(await starting.evaluate(open)).toEqual([])
    expect(await starting.evaluate(openOfAll)).toMatchObject([{ id, isLiving: true }])
    await selling.close()
    await expect.poll(() => starting.evaluate(open)).toMatchObject([{ id, key: 'first' }])
  })
})
