/** What a user does in each of the apps: presses the button that makes an order. */
import { expect } from 'vitest'
import type { TestPage } from '../browser/browser.js'

/** Presses the button, and resolves with the id of the new order. */
export async function newOrder(page: TestPage): Promise<string> {
  const ids = () =>
    page.evaluate(() => [...document.querySelectorAll('li')].map((each) => each.textContent))
  await expect
    .poll(() => page.evaluate(() => document.querySelector('button:enabled') !== null), {
      timeout: 30_000,
    })
    .toBe(true)
  const before = await ids()
  await page.evaluate(() => document.querySelector('button')!.click())
  await expect.poll(async () => (await ids()).length, { timeout: 30_000 }).toBe(before.length + 1)
  return (await ids()).at(-1)!
}
