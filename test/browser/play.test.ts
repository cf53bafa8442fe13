/** The page that plays a seed, in Chromium: a run is played to its end. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDeskServer } from './desk.js'
import { openContext } from './desk-page.js'

async function openPlayer(hash: string): Promise<Page> {
  const { url } = await openDeskServer()
  const page = await (await openContext()).newPage()
  page.on('pageerror', (error) => expect.unreachable(`the page threw ${error}`))
  await page.goto(`${url}/demo/play/${hash}`)
  await page.waitForSelector('#count:text("Event 0")')
  return page
}

const text = async (page: Page, selector: string) => (await page.textContent(selector))!
const toTheEnd = (page: Page) => page.press('#position', 'End')

test('a run is played to its end, in which no id was issued twice', async () => {
  const page = await openPlayer('#story=network&seed=7')
  await page.selectOption('#speed', 'fast')
  await page.click('#play')
  await page.waitForSelector('#count:text("Event 3")')
  await page.click('#play')
  expect(await text(page, '#play')).toBe('Play')
  await toTheEnd(page)
  expect(await text(page, '#outcome-title')).toContain('None twice.')
  await page.click('#back')
  expect(await page.isVisible('#outcome')).toBe(false)
})
