/** What a consecutive number costs offline, beside one bare strict commit. */
import { inEachEngine } from '../browsers.js'
import type { Part } from '../part.js'
import { openSite } from '../site.js'
import { figure, inEach, median, table, times } from '../text.js'

export const series: Part = {
  name: 'series',
  title: 'Series: what a consecutive number costs, offline',
  async run({ isQuick, print, goal }) {
    const site = await openSite()
    const measured: { title: string; bare: number; next: number }[] = []
    await inEachEngine(async ({ title, newPage }) => {
      const page = await newPage()
      await page.goto(`${site.url}/workbench.html`)
      await page.evaluate(() => window.workbench.open('series'))
      const { bare, next } = await page.evaluate(
        (count) => window.workbench.series(count),
        isQuick ? 10 : 1_000,
      )
      measured.push({ title, bare: median(bare), next: median(next) })
    })
    await site.close()
    goal(
      'a consecutive number with its key, beside one bare strict commit',
      '≤ 1.3 ×',
      inEach(measured.map(({ title, bare, next }) => [title, times(next / bare)])),
    )
    print(
      table(
        ['', 'ratio', 'number with its key', 'bare strict commit'],
        measured.map(({ title, bare, next }) => [
          title,
          times(next / bare),
          `${figure(next)} ms`,
          `${figure(bare)} ms`,
        ]),
      ),
    )
  },
}
