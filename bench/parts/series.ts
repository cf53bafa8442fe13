/** What a consecutive number costs offline, beside one bare strict commit. */
import { inEachEngine } from '../browsers.js'
import type { Part } from '../part.js'
import { openSite } from '../site.js'
import { figure, inEach, table, times } from '../text.js'

export const series: Part = {
  name: 'series',
  title: 'Series: what a consecutive number costs, offline',
  measures: ['src'],
  async run({ isQuick, print, goal }) {
    const site = await openSite()
    const measured: { title: string; bare: number; next: number; chained: number }[] = []
    await inEachEngine(async ({ title, newPage }) => {
      const page = await newPage()
      await page.goto(`${site.url}/workbench.html`)
      await page.evaluate(() => window.workbench.open('series'))
      const { bare, next, chained } = await page.evaluate(
        (count) => window.workbench.series(count),
        isQuick ? 10 : 1_000,
      )
      measured.push({ title, bare: mean(bare), next: mean(next), chained: mean(chained) })
    })
    await site.close()
    goal(
      'a consecutive number with its key, beside one bare strict commit',
      '≤ 1.3 ×',
      inEach(measured.map(({ title, bare, next }) => [title, times(next / bare)])),
    )
    goal(
      'the same with a link of a chain',
      '≤ 1.5 ×',
      inEach(measured.map(({ title, bare, chained }) => [title, times(chained / bare)])),
    )
    print(
      table(
        ['', 'ratio', 'number with its key', 'and with its link', 'bare strict commit'],
        measured.map(({ title, bare, next, chained }) => [
          title,
          `${times(next / bare)}, ${times(chained / bare)}`,
          `${figure(next)} ms`,
          `${figure(chained)} ms`,
          `${figure(bare)} ms`,
        ]),
      ),
    )
  },
}

/** Some clocks tell whole milliseconds only, so a median would, too. */
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length
