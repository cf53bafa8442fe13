/** How soon a page has its first id: after a reload, and in a browser that has just started. */
import type { TestPage } from '../../test/browser/browser.js'
import { type BenchBrowser, inEachEngine } from '../browsers.js'
import type { Part } from '../part.js'
import { openSite, type Site } from '../site.js'
import { figure, inEach, median, table, times } from '../text.js'

/**
 * Reloads of one page before it is the other page's turn. The turns are short, so that other work
 * of the machine slows both down.
 */
const TURN = 5
/**
 * After the first id, a page claims and checks in. The next page is opened only after this time:
 * before, it might find no stored range.
 */
const REST_MS = 300

type Milliseconds = Record<'first-id' | 'floor', number[]>

/** Most of it passes before a worker's first statement: see docs/internals/performance.md. */
const GOAL = '≤ 1.5 ×'

export const firstId: Part = {
  name: 'first-id',
  title: 'The first id, from a stored range',
  measures: ['src'],
  async run({ isQuick, print, goal }) {
    const site = await openSite()
    const rows: string[][] = []
    const ratios: Record<'reload' | 'start' | 'import', [string, string][]> = {
      reload: [],
      start: [],
      import: [],
    }
    const row = (title: string, what: string, ours: readonly number[], floor: readonly number[]) =>
      rows.push([
        `${what}, ${title}`,
        times(median(ours) / median(floor)),
        `${figure(median(ours))} ms`,
        `${figure(median(floor))} ms`,
      ])
    const ratio = ({ 'first-id': ours, floor }: Milliseconds) => times(median(ours) / median(floor))
    await inEachEngine(async (browser) => {
      const { title, engine } = browser
      const reloads = await afterReloads(browser, site, isQuick ? 1 : 6, isQuick ? 0 : REST_MS)
      row(title, 'after a reload', reloads['first-id'], reloads.floor)
      ratios.reload.push([title, ratio(reloads)])
      if (engine.hasLastingProfile) {
        const starts = await afterStarts(browser, site, isQuick ? 1 : 30, isQuick ? 0 : REST_MS)
        row(title, 'after a cold start', starts['first-id'], starts.floor)
        ratios.start.push([title, ratio(starts)])
      }
      const imports = await importing(browser, site, isQuick ? 3 : 100)
      row(title, 'importing the package, beside an empty module', imports.script, imports.empty)
      ratios.import.push([title, `${figure(median(imports.script) - median(imports.empty))} ms`])
    })
    await site.close()
    goal(
      'the first id after a reload, beside one strict transaction of a bare worker',
      GOAL,
      inEach(ratios.reload),
    )
    goal('the same after a cold start of the browser', GOAL, inEach(ratios.start))
    goal('importing the package, beside an empty module', '< 1 ms more', inEach(ratios.import))
    print(table(['median', 'ratio', 'offline-hilo', 'floor'], rows))
  },
}

async function afterReloads(
  browser: BenchBrowser,
  site: Site,
  turns: number,
  rest: number,
): Promise<Milliseconds> {
  const page = await browser.newPage()
  const all: Milliseconds = { 'first-id': [], floor: [] }
  for (let turn = 0; turn < turns; turn++) {
    for (const name of ['first-id', 'floor'] as const) {
      // The first visit claims a range; from then on one is stored.
      await visit(page, site, name)
      await new Promise((resolve) => setTimeout(resolve, rest))
      for (let i = 0; i < TURN; i++) {
        await page.reload()
        all[name].push(await page.evaluate(() => window.firstId))
        await new Promise((resolve) => setTimeout(resolve, rest))
      }
    }
  }
  await page.close()
  return all
}

async function afterStarts(
  browser: BenchBrowser,
  site: Site,
  starts: number,
  rest: number,
): Promise<Milliseconds> {
  const all: Milliseconds = { 'first-id': [], floor: [] }
  for (let i = 0; i < starts; i++) {
    for (const name of ['first-id', 'floor'] as const) {
      await browser.restart()
      all[name].push(await visit(await browser.newPage(), site, name))
      await new Promise((resolve) => setTimeout(resolve, rest))
    }
  }
  return all
}

async function visit(page: TestPage, site: Site, name: keyof Milliseconds): Promise<number> {
  await page.goto(`${site.url}/${name}.html`)
  return page.evaluate(() => window.firstId)
}

async function importing(browser: BenchBrowser, site: Site, rounds: number) {
  const page = await browser.newPage()
  await page.goto(`${site.url}/workbench.html`)
  const result = await page.evaluate((arg) => window.workbench.importing(arg), {
    script: '/package.js',
    rounds,
  })
  await page.close()
  return result
}
