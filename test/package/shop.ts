/** The shop of docs/tutorial.md as a person uses it, in whatever framework it was made. */
import { rmSync } from 'node:fs'
import { expect, onTestFinished } from 'vitest'
import type { TestPage } from '../browser/browser.js'
import { isFull } from '../support/sizes.js'
import { emptyFolder, execute, REPOSITORY } from './packed.js'
import type { Reader } from './reader.js'

const isReachable = () =>
  execute('npm', ['ping'], REPOSITORY).then(
    () => true,
    () => false,
  )
/** Why the page is not followed, if it is not. */
export const leftOut = !isFull
  ? ' (left out without CI=true: it fetches packages)'
  : (await isReachable())
    ? ''
    : ' (left out: no npm registry answers)'

/** An empty folder; gone when the test ends. */
export function newFolder(): string {
  const folder = emptyFolder()
  // A framework and what it needs are thousands of files.
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }), 120_000)
  return folder
}

/** The built page loads without its server, and what is ordered there arrives later. */
export async function staysOffline(reader: Reader, tab: TestPage): Promise<void> {
  const { url, kill } = reader.running.get('npm start')!
  const before = await stored(url)
  await tab.goto(url)
  await tab.evaluate(async () => void (await navigator.serviceWorker.ready))
  await order(tab, 'Linus')
  await expect.poll(() => stored(url), { timeout: 30_000 }).toHaveLength(before.length + 1)
  // The service worker leaves the API's address alone.
  await tab.goto(`${url}/api/orders`)
  expect(await tab.evaluate(() => document.body.textContent)).toContain('"Linus"')
  await tab.goto(url)
  await kill()
  await tab.reload()
  await order(tab, 'Edsger')
  const last = (await texts(tab)).at(-1)!
  expect(last).toMatch(/^orders\/\d+-A Edsger, waits$/)
  await reader.type('npm start')
  await expect.poll(() => stored(url), { timeout: 30_000 }).toContain(last.replace(', waits', ''))
  // Two orders have one id where the ledger was made anew, and the browser kept its old ids.
  expect(await send(url, { id: last.split(' ')[0]!, customer: 'Alan', madeAt: 'today' })).toBe(409)
}

async function send(url: string, order: object): Promise<number> {
  const body = JSON.stringify(order)
  const headers = { 'content-type': 'application/json' }
  return (await fetch(`${url}/api/orders`, { method: 'POST', headers, body })).status
}

/** What the API has in its database. */
export async function stored(url: string): Promise<string[]> {
  const orders: { id: string; customer: string }[] = await (await fetch(`${url}/api/orders`)).json()
  return orders.map(({ id, customer }) => `${id} ${customer}`)
}

const texts = (tab: TestPage) =>
  tab.evaluate(() => [...document.querySelectorAll('li')].map((each) => each.textContent.trim()))

export const says = (tab: TestPage, lines: string[]) =>
  expect.poll(() => texts(tab), { timeout: 30_000 }).toEqual(lines)

/** An impatient person presses the button three times. Resolves when the order is on the page. */
export async function order(tab: TestPage, customer: string): Promise<void> {
  await expect
    .poll(() => tab.evaluate(() => document.querySelector('form button:enabled') !== null), {
      timeout: 30_000,
    })
    .toBe(true)
  await tab.evaluate(async (customer) => {
    document.querySelector('input')!.value = customer
    const button = document.querySelector('button')!
    for (let clicks = 0; clicks < 3; clicks++) {
      button.click()
      // Each click is a task of its own, between which a framework renders.
      await new Promise((resolve) => setTimeout(resolve))
    }
  }, customer)
  await expect
    .poll(async () => (await texts(tab)).at(-1), { timeout: 30_000 })
    .toContain(` ${customer}, `)
}
