/**
 * A page that does what a test tells it: its server, by requests as a page makes them, and a
 * page that comes back.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openLastingBrowser } from './browser.js'
import { testedEngines } from './engines.js'
import { openSite } from './site.js'
import { openToldPage } from './told-page.js'

test('what a page is told after its call was cut off reaches it with its next call', async () => {
  const page = await openToldPage()
  onTestFinished(() => page.end())
  const report = (body: object) =>
    fetch(`${page.blank}/report`, {
      method: 'POST',
      body: JSON.stringify({ document: 'first', ...body }),
    })
  const question = '/next?document=first'
  const cut = connect(Number(new URL(page.blank).port), '127.0.0.1').end(
    `GET ${question} HTTP/1.1\r\nHost: page\r\n\r\n`,
  )
  await once(cut.resume(), 'close')
  await report({})
  await page.opened
  const told = page.evaluate(() => 1)
  const { order, run } = (await (await fetch(page.blank + question)).json()) as {
    order: number
    run: string
  }
  expect(run).toBe(String(() => 1))
  await report({ order, value: 1 })
  expect(await told).toBe(1)
})

const webKit = testedEngines().filter(({ name }) => name === 'webkit')

test.each(webKit)('$title: a page out of the back/forward cache obeys', async ({ name }) => {
  const site = await openSite()
  const page = await (await openLastingBrowser(name)).newPage()
  await page.goto(site.url())
  await page.evaluate(() => void Object.assign(window, { isTheOldPage: true }))
  await page.goto(site.url({ name: 'elsewhere' }))
  await page.evaluate(() => history.back())
  await expect
    .poll(() => page.evaluate(() => 'isTheOldPage' in window), { timeout: 20_000 })
    .toBe(true)
})
