/** The package as it is published: an app's bundler finds its worker, and it makes ids. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openBrowser } from './browser.js'
import { openSite } from './site.js'

test('an app bundled with the built package makes ids in its worker', async () => {
  const dist = mkdtempSync(join(tmpdir(), 'hilo-dist-'))
  onTestFinished(() => rmSync(dist, { recursive: true }))
  execFileSync(process.execPath, ['--import', 'tsx', 'scripts/build.ts', dist])
  const site = await openSite(join(dist, 'client/index.js'))
  const page = await (await openBrowser('chromium')).newPage()
  await page.goto(site.url())
  expect(await page.evaluate(() => window.hilo.nextIds('orders', 3))).toEqual(['orders/1-A', 'orders/2-A', 'orders/3-A'])
  const scripts = [...site.files].join('\n')
  expect(scripts).toMatch(/\/entry-/)
  // The owner's code for pages whose worker does not start.
  expect(scripts).not.toMatch(/\/here-/)
})
