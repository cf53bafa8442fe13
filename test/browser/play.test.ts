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
  const complaint = () =>
    page.evaluate(() => document.querySelector<HTMLInputElement>('#seed')!.validationMessage)
  await page.fill('#seed', 'seven')
  await page.press('#seed', 'Enter')
  expect(await complaint()).toBe('A seed is a whole number from 1 to 999999.')
  await page.fill('#seed', '8')
  await page.press('#seed', 'Enter')
  expect(await complaint()).toBe('')
  expect(page.url()).toMatch(/#story=network&seed=8$/)
})

test.each(['dragged away', 'by its button', 'by the Delete key'])(
  'a message is lost, %s, and the link plays the same run',
  async (how) => {
    const page = await openPlayer('#story=network&seed=7')
    await firstMessage(page)
    if (how === 'dragged away') {
      await page.hover('.message p')
      await page.mouse.down()
      await page.mouse.move(900, 120, { steps: 4 })
      await page.mouse.up()
    } else if (how === 'by its button') await page.click('.message button')
    else await page.press('.message button', 'Delete')
    await page.waitForSelector('#story li:not([hidden]) .own')
    expect(await text(page, '#event')).toMatch(/ is lost\.$/)
    expect(page.url()).toMatch(/&own=\d+\.\d+$/)
    const shownAsLost = page.locator('#story li:not([hidden]) .flight.lost')
    expect(await shownAsLost.count()).toBeGreaterThan(0)
    await page.click('#back')
    expect(await shownAsLost.count()).toBe(0)
    await toTheEnd(page)
    const story = await page.locator('#story li').allTextContents()
    const outcome = await text(page, '#outcome')

    await page.reload()
    await toTheEnd(page)
    expect(await page.locator('#story li').allTextContents()).toEqual(story)
    expect(await text(page, '#outcome')).toBe(outcome)
    await page.click('#undo')
    expect(page.url()).toMatch(/#story=network&seed=7$/)
  },
)

test('many seeds without a guard show a duplicate, and the page goes to it', async () => {
  const page = await openPlayer('#story=forgetful&seed=1')
  await page.click('#many')
  await page.waitForSelector('#many-result:has-text("the promise is broken")')
  await page.click('#many-result button')
  await toTheEnd(page)
  expect(await text(page, '#outcome-title')).toBe('The promise is broken.')
})

test.each([
  ['light', 1280],
  ['dark', 360],
] as const)(
  'axe complains of nothing and nothing is cut off: %s, %i pixels',
  async (colorScheme, width) => {
    const page = await openPlayer('#story=copied&seed=1')
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 800 })
    await page.click('#choose summary')
    await firstMessage(page)
    expect(await complaintsAbout(page)).toEqual([])
    await toTheEnd(page)
    expect(await complaintsAbout(page)).toEqual([])
    const wide = await page.evaluate(() =>
      [...document.querySelectorAll('main *')]
        .filter((element) => element.getBoundingClientRect().right > innerWidth)
        .map((element) => element.outerHTML),
    )
    expect(wide).toEqual([])
  },
)
