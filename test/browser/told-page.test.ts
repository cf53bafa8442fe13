/** A page that is told what to do, played by requests as a page makes them. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
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
