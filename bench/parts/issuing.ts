/** What an id costs in a page that holds a lease, beside what an app would use otherwise. */
import { inEachEngine } from '../browsers.js'
import { AWAIT_FLOOR, type Figure, FLOOR } from '../pages/issuing.js'
import type { Part } from '../part.js'
import { openSite } from '../site.js'
import { figure, inEach, table, times } from '../text.js'

/** What is awaited is measured against the least that an `await` costs. */
const AWAITING = [AWAIT_FLOOR, 'await nextId']

export const issuing: Part = {
  name: 'issuing',
  title: 'Issuing: what an id costs in the page',
  async run({ isQuick, print, goal }) {
    const site = await openSite()
    const engines: { title: string; figures: Figure[] }[] = []
    await inEachEngine(async ({ title, newPage }) => {
      const page = await newPage()
      await page.goto(`${site.url}/workbench.html`)
      await page.evaluate(() => window.workbench.open('issuing'))
      engines.push({
        title,
        figures: await page.evaluate(
          (count) => window.workbench.issuing(count),
          isQuick ? 1_000 : 1_000_000,
        ),
      })
    })
    await site.close()
    const nanoseconds = (figures: Figure[], name: string) =>
      figures.find((each) => each.name === name)!.nanoseconds
    const beside = (name: string, floor: string) =>
      inEach(
        engines.map(({ title, figures }) => [
          title,
          times(nanoseconds(figures, name) / nanoseconds(figures, floor)),
        ]),
      )
    goal(
      '`nextIdSync`, beside a bare counter in a template',
      '≤ 1.5 ×',
      beside('nextIdSync', FLOOR),
    )
    goal(
      '`await nextId`, beside the `await` of a resolved promise',
      '≤ 3 ×',
      beside('await nextId', AWAIT_FLOOR),
    )
    const rows = engines[0]!.figures.map(({ name }) => {
      const floor = AWAITING.includes(name) ? AWAIT_FLOOR : FLOOR
      return [
        name,
        ...engines.map(({ figures }) =>
          times(nanoseconds(figures, name) / nanoseconds(figures, floor)),
        ),
      ].concat(engines.map(({ figures }) => figure(nanoseconds(figures, name))))
    })
    print(table(['', ...engines.map(({ title }) => title), ...engines.map(() => 'ns each')], rows))
  },
}
