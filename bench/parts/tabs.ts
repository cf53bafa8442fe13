/**
 * Many pages of one device that make ids at the same time: what they cost each other, the storage
 * and the server.
 */
import type { TestPage } from '../../test/browser/browser.js'
import { type BenchBrowser, inEachEngine } from '../browsers.js'
import type { Part } from '../part.js'
import { openSite, type Site } from '../site.js'
import { count, figure, inEach, median, table, times } from '../text.js'

const PAGES = [1, 2, 4, 8]
/** Enough for all pages to hear of it. */
const LEAD_MS = 500

interface Figures {
  milliseconds: number
  transactions: number
  claims: number
}

export const tabs: Part = {
  name: 'tabs',
  title: 'Many tabs: pages that make ids at the same time',
  measures: ['src'],
  async run({ isQuick, print, goal }) {
    const each = isQuick ? 100 : 10_000
    const rounds = isQuick ? 1 : 3
    const pageCounts = isQuick ? [1, 2] : PAGES
    const most = pageCounts.at(-1)!
    const transactions: [string, string][] = []
    const site = await openSite()
    const rows: string[][] = []
    const ratios: [string, string][] = []
    await inEachEngine(async (browser) => {
      for (const pages of pageCounts) {
        const together: Figures[] = []
        const alone: Figures[] = []
        for (let round = 0; round < rounds; round++) {
          together.push(await issueTogether(browser, site, pages, each))
          alone.push(await issueTogether(browser, site, 1, pages * each))
        }
        const of = (figures: Figures[], key: keyof Figures) =>
          median(figures.map((figure) => figure[key]))
        const ratio = of(together, 'milliseconds') / of(alone, 'milliseconds')
        const thousands = (pages * each) / 1_000
        if (pages === most) {
          ratios.push([browser.title, times(ratio)])
          transactions.push([browser.title, figure(of(together, 'transactions') / thousands)])
        }
        rows.push([
          browser.title,
          String(pages),
          times(ratio),
          figure(of(together, 'transactions') / thousands),
          figure(of(together, 'claims') / thousands),
          `${count(of(together, 'milliseconds'))} ms`,
          `${count(of(alone, 'milliseconds'))} ms`,
        ])
      }
    })
    await site.close()
    print(`${count(each)} ids per page, each awaited before the next, from an empty device.`)
    print(
      table(
        [
          '',
          'pages',
          'of one page making all',
          'transactions per 1,000',
          'claims per 1,000',
          'together',
          'one page',
        ],
        rows,
      ),
    )
    goal(
      `${most} pages that make ids at once, beside one page that makes them all`,
      '≤ 1.5 ×',
      inEach(ratios),
    )
    goal('transactions per 1,000 ids of theirs', '≤ 2', inEach(transactions))
  },
}

let devices = 0

async function issueTogether(
  browser: BenchBrowser,
  site: Site,
  pageCount: number,
  each: number,
): Promise<Figures> {
  const pages: TestPage[] = []
  const name = `tabs${devices++}`
  for (let i = 0; i < pageCount; i++) {
    const page = await browser.newPage()
    await page.goto(`${site.url}/workbench.html`)
    await page.evaluate((name) => window.workbench.open(name), name)
    pages.push(page)
  }
  const [claims, at] = [site.claims(), Date.now() + LEAD_MS]
  const ends = await Promise.all(
    pages.map((page) =>
      page.evaluate((order) => window.workbench.issue(order), {
        collection: name,
        count: each,
        at,
      }),
    ),
  )
  const transactions = await pages[0]!.evaluate(
    (count) => window.workbench.transactions(count),
    pageCount,
  )
  for (const page of pages) await page.close()
  return { milliseconds: Math.max(...ends) - at, transactions, claims: site.claims() - claims }
}
