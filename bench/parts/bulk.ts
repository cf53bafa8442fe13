/** A million ids in one page of an empty device, and a reserve of a hundred thousand in another. */
import { inEachEngine } from '../browsers.js'
import type { Part } from '../part.js'
import { openSite } from '../site.js'
import { count, figure, inEach, table } from '../text.js'

export const bulk: Part = {
  name: 'bulk',
  title: 'Bulk: many ids from an empty device',
  measures: ['src'],
  async run({ isQuick, print, goal }) {
    const ids = isQuick ? 1_000 : 1_000_000
    const reserve = isQuick ? 1_000 : 100_000
    const site = await openSite()
    const rows: string[][] = []
    const requests: { bulk: [string, string][]; reserve: [string, string][] } = {
      bulk: [],
      reserve: [],
    }
    await inEachEngine(async ({ title, newPage }) => {
      const page = await newPage()
      await page.goto(`${site.url}/workbench.html`)
      await page.evaluate(() => window.workbench.open('bulk'))
      const start = site.claims()
      const at = Date.now()
      const end = await page.evaluate((order) => window.workbench.issue(order), {
        collection: title,
        count: ids,
        at,
      })
      const transactions = await page.evaluate(() => window.workbench.transactions(1))
      const claims = site.claims() - start
      rows.push([
        `${count(ids)} ids, ${title}`,
        String(claims),
        count(transactions),
        `${count(end - at)} ms`,
      ])
      requests.bulk.push([title, String(claims)])
      await page.close()
      const other = await newPage()
      await other.goto(`${site.url}/workbench.html`)
      await other.evaluate(() => window.workbench.open('reserve'))
      const before = site.claims()
      const milliseconds = await other.evaluate((order) => window.workbench.reserve(order), {
        collection: `reserved in ${title}`,
        count: reserve,
      })
      const reserves = String(site.claims() - before)
      requests.reserve.push([title, reserves])
      rows.push([
        `reserve(${count(reserve)}) of a new page, ${title}`,
        reserves,
        count(await other.evaluate(() => window.workbench.transactions(1))),
        `${figure(milliseconds)} ms`,
      ])
      await other.close()
    })
    await site.close()
    goal(`requests for ${count(ids)} ids from an empty device`, '≤ 20', inEach(requests.bulk))
    goal(`requests of \`reserve(${count(reserve)})\``, '1', inEach(requests.reserve))
    print(table(['', 'requests', 'strict transactions', 'time'], rows))
  },
}
