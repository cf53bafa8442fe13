/** Playwright: the app with its real ids, in a browser whose network the test switches off. */
import { expect, test } from '@playwright/test'

test('orders get final ids, also without a network', async ({ page, context }) => {
  await page.goto('/')
  const newOrder = page.getByRole('button', { name: 'New order' })
  // Not those of the inspector, which is on the page while you develop.
  const orders = page.getByRole('main').getByRole('listitem')
  await newOrder.click()
  await expect(orders).toHaveText([/^orders\/\d+-A$/])
  await context.setOffline(true)
  await newOrder.click()
  await expect(orders).toHaveText([/^orders\/\d+-A$/, /^orders\/\d+-A$/])
})

test('a user reads that no id can be had', async ({ page, context }) => {
  // A new device: nothing is on it, and its server cannot be reached.
  await context.route('**/databases/**', (route) => route.abort())
  await page.goto('/')
  await page.getByRole('button', { name: 'New order' }).click()
  const problem = page.getByRole('main').getByRole('alert')
  await expect(problem).toContainText('no id')
})
