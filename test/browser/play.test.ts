/** The page that plays a seed, in Chromium, used with a mouse, with keys, and on a small screen. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { complaintsAbout } from './axe.js'
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

/** Steps until a message is on its way. */
async function firstMessage(page: Page): Promise<void> {
  while ((await page.locator('#messages li').count()) === 0) await page.click('#step')
}

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

test('a message is lost by its button, and the link plays the same run', async () => {
  const page = await openPlayer('#story=network&seed=7')
  await firstMessage(page)
  await page.click('.message button')
  await page.waitForSelector('#story li:not([hidden]) .own')
  expect(await text(page, '#event')).toMatch(/ is lost\.$/)
  expect(page.url()).toMatch(/&own=\d+\.\d+$/)
  await toTheEnd(page)
  const story = await page.locator('#story li').allTextContents()
  const outcome = await text(page, '#outcome')

  await page.reload()
  await toTheEnd(page)
  expect(await page.locator('#story li').allTextContents()).toEqual(story)
  expect(await text(page, '#outcome')).toBe(outcome)
  await page.click('#undo')
  expect(page.url()).toMatch(/#story=network&seed=7$/)
})

test('axe complains of nothing, dark and on a small screen', async () => {
  const page = await openPlayer('#story=copied&seed=1')
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
  await page.setViewportSize({ width: 360, height: 800 })
  await page.click('#choose summary')
  await firstMessage(page)
  expect(await complaintsAbout(page)).toEqual([])
  await toTheEnd(page)
  expect(await complaintsAbout(page)).toEqual([])
})
