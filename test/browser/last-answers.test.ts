/** Which loads ask the server first whether the device is a copy, in real engines (H32). */
import { describe, expect, test } from 'vitest'
import { openBrowser } from './browser.js'
import { testedEngines } from './engines.js'
import { nextId, nextIds } from './ids.js'
import { openSite } from './site.js'

/**
 * Runs in a worker. Once the log is full, check-ins never leave the device, the page hears so, and
 * the second for which it waits never ends.
 */
function holdWhenTheLogIsFull(): void {
  const [ask, later] = [fetch, setTimeout]
  const told = new BroadcastChannel('held')
  globalThis.setTimeout = ((run: () => void, ms = 0) =>
    later(run, ms === 1_000 ? 2 ** 30 : ms)) as typeof setTimeout
  globalThis.fetch = async (input, init) => {
    if (!String(input).endsWith('/checkin')) return ask(input, init)
    const { ok } = await ask('/log', { method: 'POST', body: 'a check-in' })
    if (ok) return ask(input, init)
    told.postMessage('held')
    return new Promise(() => {})
  }
}

/** Runs in a page. */
function listen(): void {
  const held = new Promise((resolve) => {
    new BroadcastChannel('held').onmessage = () => resolve('asks first')
  })
  Object.assign(window, { held })
}

/** Runs in a page. */
async function howItStarts(): Promise<string> {
  const { held } = window as unknown as { held: Promise<string> }
  return Promise.race([held, window.hilo.nextId('orders').then(() => 'goes on')])
}

/** Runs in a page: the tab that it opens has a copy of its session storage. */
async function howACopyStarts(): Promise<string> {
  const copy = window.open(location.href)!
  await new Promise((resolve) => copy.addEventListener('load', resolve))
  const { held } = copy as unknown as { held: Promise<string> }
  const how = await Promise.race([held, copy.hilo.nextId('orders').then(() => 'goes on')])
  copy.close()
  return how
}

describe.each(testedEngines())('in $title', ({ name }) => {
  test('a reload does not ask; a new load and a duplicated tab do', async () => {
    const site = await openSite()
    const page = await (await openBrowser(name)).newPage()
    const url = site.url({}, { beforePage: listen, beforeWorker: holdWhenTheLogIsFull })
    await page.goto(url)
    await page.evaluate(nextIds, 3)
    await page.goto(url)
    await page.evaluate(nextId)
    expect(site.log.length).toBeGreaterThan(0)
    site.stopLogAt(site.log.length)
    await page.reload()
    expect(await page.evaluate(howItStarts)).toBe(name === 'webkit' ? 'asks first' : 'goes on')
    if (name !== 'webkit') await page.reload()
    expect(await page.evaluate(howACopyStarts)).toBe('asks first')
    await page.goto(url)
    expect(await page.evaluate(howItStarts)).toBe('asks first')
    await page.reload()
    expect(await page.evaluate(howItStarts)).toBe('asks first')
  })
})
