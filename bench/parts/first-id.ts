/** How soon a page has its first id: after a reload, and in a browser that has just started. */
import type { TestPage } from '../../test/browser/browser.js'
import { type BenchBrowser, inEachEngine } from '../browsers.js'
import type { Part } from '../part.js'
import { openSite, type Site } from '../site.js'
import { figure, median, table, times } from '../text.js'

/** Reloads of one page before it is the other's turn: what else the machine does hits both. */
const TURN = 5

type Milliseconds = Record<'first-id' | 'floor', number[]>

export const firstId: Part = {
  name: 'first-id',
  title: 'The first id, from a stored range',
  async run({ isQuick, print }) {
    const site = await openSite()
    const rows: string[][] = []
    const row = (title: string, what: string, ours: readonly number[], floor: readonly number[]) =>
      rows.push([`${what}, ${title}`, times(median(ours) / median(floor)), `${figure(median(ours))} ms`, `${figure(median(floor))} ms`])
    await inEachEngine(async (browser) => {
      const { title, engine } = browser
      const reloads = await afterReloads(browser, site, isQuick ? 1 : 6)
      row(title, 'after a reload', reloads['first-id'], reloads.floor)
      if (engine.hasLastingProfile) {
        const starts = await afterStarts(browser, site, isQuick ? 1 : 30)
        row(title, 'after a cold start', starts['first-id'], starts.floor)
      }
      const imports = await importing(browser, site, isQuick ? 3 : 100)
      row(title, 'importing the package, beside an empty module', imports.script, imports.empty)
    })
    await site.close()
    print(table(['median', 'ratio', 'offline-hilo', 'floor'], rows))
  },
}

async function afterReloads(browser: BenchBrowser, site: Site, turns: number): Promise<Milliseconds> {
  const page = await browser.newPage()
  const all: Milliseconds = { 'first-id': [], floor: [] }
  for (let turn = 0; turn < turns; turn++) {
    for (const name of ['first-id', 'floor'] as const) {
      // The first visit claims a range; from then on one is stored.
      await visit(page, site, name)
      for (let i = 0; i < TURN; i++) {
        await page.reload()
        all[name].push(await page.evaluate(() => window.firstId))
      }
    }
  }
  await page.close()
  return all
}

async function afterStarts(browser: BenchBrowser, site: Site, starts: number): Promise<Milliseconds> {
  const all: Milliseconds = { 'first-id': [], floor: [] }
  for (let i = 0; i < starts; i++) {
    for (const name of ['first-id', 'floor'] as const) {
      await browser.restart()
      all[name].push(await visit(await browser.newPage(), site, name))
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
  const result = await page.evaluate((arg) => window.workbench.importing(arg), { script: '/package.js', rounds })
  await page.close()
  return result
}
