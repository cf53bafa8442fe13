/**
 * One counter for pages of a browser and for processes of Node, Bun and Deno, all at the same time.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RUNTIMES } from '../processes/runtimes.js'
import { bundle, newFolder, read, startTill } from '../processes/tills.js'
import { sizeOf } from '../support/sizes.js'
import { openBrowser } from './browser.js'
import { expectDistinct, nextIds } from './ids.js'
import { openSite } from './site.js'

const COUNT = sizeOf('IDS_PER_PAGE')
const leftOut = RUNTIMES.map((each) => each.leftOut).join('')

test(`pages and processes make different ids at the same time${leftOut}`, async () => {
  const till = await bundle('till', read('test/processes/till.ts'))
  const site = await openSite()
  const file = join(newFolder(), 'ids.db')
  const browser = await openBrowser('chromium')
  const pages = await Promise.all([browser.newPage(), browser.newPage()])
  for (const page of pages) await page.goto(site.url({ database: 'Shop' }))
  const tills = RUNTIMES.filter((each) => each.leftOut === '').map((runtime) =>
    startTill(runtime, [till, runtime.driver, file, site.server.url, String(COUNT)]),
  )
  await Promise.all(tills.map((each) => each.printed(1)))
  const inPages = await Promise.all(pages.map((page) => page.evaluate(nextIds, COUNT)))
  for (const each of tills) expect(await each.ended).toEqual({ code: 0, stderr: '' })
  const ids = [...inPages.flat(), ...tills.flatMap((each) => each.ids)]
  expectDistinct(ids)
  expect(ids).toHaveLength(COUNT * (pages.length + tills.length))
})
