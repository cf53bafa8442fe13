/** What an id costs in a page that holds a lease, beside what an app would use otherwise. */
import { inEachEngine } from '../browsers.js'
import { AWAIT_FLOOR, type Figure, FLOOR } from '../pages/issuing.js'
import type { Part } from '../part.js'
import { openSite } from '../site.js'
import { count, figure, inEach, median, table, times } from '../text.js'

/** One of them has a goal. */
const MANY = 20_000
const CALLERS = [1, 100, 10_000, MANY, 100_000]
const ROUNDS = 5

/** Calls with `await` are compared with the `await` of a resolved promise. */
const AWAITING = [AWAIT_FLOOR, 'await nextId']

export const issuing: Part = {
  name: 'issuing',
  title: 'Issuing: what an id costs in the page',
  measures: ['src'],
  async run({ isQuick, print, goal }) {
    const site = await openSite()
    const engines: { title: string; figures: Figure[]; callers: Callers[] }[] = []
    const rounds = isQuick ? 1 : ROUNDS
    await inEachEngine(async ({ title, newPage }) => {
      const page = await newPage()
      await page.goto(`${site.url}/workbench.html`)
      await page.evaluate(() => window.workbench.open('issuing'))
      const callers: Callers[] = []
      for (const count of isQuick ? CALLERS.slice(0, 2) : CALLERS) {
        const measured: Omit<Callers, 'count'>[] = []
        for (let round = 0; round < rounds; round++)
          measured.push(await page.evaluate((count) => window.workbench.callers(count), count))
        callers.push({
          count,
          callers: median(measured.map(({ callers }) => callers)),
          nextIds: median(measured.map(({ nextIds }) => nextIds)),
        })
      }
      engines.push({
        title,
        callers,
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
    const slowest = engines[0]!.figures.filter(({ within }) => within !== undefined)
    print(
      table(
        ['9,999 of 10,000 calls take at most', ...engines.map(({ title }) => title)],
        slowest.map(({ name }) => [
          name,
          ...engines.map(({ figures }) => {
            const { within } = figures.find((each) => each.name === name)!
            return `${figure(within! / 1000)} µs`
          }),
        ]),
      ),
    )
    if (!isQuick)
      goal(
        `${count(MANY)} callers of \`nextId\` at once`,
        '< 100 ms',
        inEach(
          engines.map(({ title, callers }) => [
            title,
            `${figure(callers.find(({ count }) => count === MANY)!.callers)} ms`,
          ]),
        ),
      )
    print(
      table(
        ['', 'callers at once', 'of one `nextIds`', 'callers', '`nextIds`'],
        engines.flatMap(({ title, callers }) =>
          callers.map((each) => [
            title,
            count(each.count),
            times(each.callers / each.nextIds),
            `${figure(each.callers)} ms`,
            `${figure(each.nextIds)} ms`,
          ]),
        ),
      ),
    )
  },
}

/** Milliseconds for this many ids. */
interface Callers {
  count: number
  callers: number
  nextIds: number
}
