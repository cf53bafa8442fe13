/**
 * The device's home: a storage bucket of its own where the engine has buckets, and what another
 * home holds stays in use.
 */
import { describe, expect, test } from 'vitest'
import { openBrowser } from './browser.js'
import { testedEngines } from './engines.js'
import { expectDistinct, nextId, nextIds, status } from './ids.js'
import { openSite } from './site.js'

/** Runs in a page or a worker: as a browser that has no buckets yet. */
function withoutBuckets(): void {
  Object.defineProperty(navigator, 'storageBuckets', { value: undefined })
}

/** Runs in a page or a worker: as a browser that cannot open a bucket now. */
function withFailingBuckets(): void {
  const { prototype } = (globalThis as unknown as { StorageBucketManager: { prototype: object } })
    .StorageBucketManager
  Object.assign(prototype, {
    open: () => Promise.reject(new DOMException('Unknown error', 'UnknownError')),
  })
}

const BEFORE = { beforePage: withoutBuckets, beforeWorker: withoutBuckets }
const FAILING = { beforePage: withFailingBuckets, beforeWorker: withFailingBuckets }

/** Runs in a page: the names of the databases in the default storage, and in the bucket. */
const homes = async () => {
  const namesIn = async (factory: IDBFactory) =>
    (await factory.databases()).map(({ name }) => name!.split('[')[0]).sort()
  const home = await window.home()
  return [await namesIn(indexedDB), home === indexedDB ? [] : await namesIn(home)]
}

/** Runs in a page. */
const nextReceipt = async (key: string) => {
  const receipts = window.consecutive(window.hilo, 'receipts', { device: 'Till', series: 'R1' })
  return (await receipts.next({ key })).number
}

describe.each(testedEngines())('in $title', ({ name }) => {
  test('the device and its series are in the home that the engine has for them', async () => {
    const site = await openSite()
    const page = await (await openBrowser(name)).newPage()
    await page.goto(site.url())
    await page.evaluate(nextId)
    await page.evaluate(nextReceipt, 'a')
    const both = ['offline-hilo', 'offline-hilo-series']
    const expected = name === 'chromium' ? [[], both] : [both, []]
    expect(await page.evaluate(homes)).toEqual(expected)
  })
})

/** Runs in a page: the app writes, with 60,000 writes ahead, until the page is closed. */
const writeInBulk = async () => {
  const request = indexedDB.open('app', 1)
  request.onupgradeneeded = () => request.result.createObjectStore('rows')
  await new Promise((resolve) => Object.assign(request, { onsuccess: resolve }))
  const rows = request.result.transaction('rows', 'readwrite').objectStore('rows')
  const write = (i: number) => {
    rows.put('x'.repeat(300), i).onsuccess = () => write(i)
  }
  for (let i = 0; i < 60_000; i++) write(i)
}

test('stored ids do not wait for the app’s own bulk write', async () => {
  const site = await openSite()
  const browser = await openBrowser('chromium')
  const [page, app] = [await browser.newPage(), await browser.newPage()]
  await page.goto(site.url())
  await page.evaluate(nextId)
  await app.goto(site.url({ name: 'other' }))
  await app.evaluate(writeInBulk)
  await page.reload()
  // Resolves when it is stored, however busy the machine is. In the app's storage, it does not.
  await page.evaluate(() => window.hilo.reserve('orders', 100, { timeout: Infinity }))
  const ids = await page.evaluate(nextIds, 100)
  expect((await page.evaluate(status)).storage).toBe('best-effort')
  expectDistinct(ids)
})

test('a browser that learns buckets goes on with what it has stored, offline too', async () => {
  const site = await openSite()
  const page = await (await openBrowser('chromium')).newPage()
  await page.goto(site.url({}, BEFORE))
  const made = await page.evaluate(nextIds, 5)
  await page.evaluate(() => window.hilo.reserve('orders', 100))
  const receipt = await page.evaluate(nextReceipt, 'a')
  await site.server.stop()
  await page.goto(site.url())
  made.push(...(await page.evaluate(nextIds, 100)))
  expectDistinct(made)
  expect(await page.evaluate(nextReceipt, 'a')).toBe(receipt)
  const [inDefault, inBucket] = await page.evaluate(homes)
  expect(inDefault).toHaveLength(2)
  expect(inBucket).toEqual([])
})

test('a bucket that does not open for once: no second device begins', async () => {
  const site = await openSite()
  const page = await (await openBrowser('chromium')).newPage()
  await page.goto(site.url())
  const made = await page.evaluate(nextIds, 5)
  await page.evaluate(() => window.hilo.reserve('orders', 100))
  await page.goto(site.url({}, FAILING))
  made.push(...(await page.evaluate(nextIds, 5)))
  expect((await page.evaluate(status)).storage).toBe('memory')
  await site.server.stop()
  await page.goto(site.url())
  made.push(...(await page.evaluate(nextIds, 100)))
  expectDistinct(made)
  expect(await page.evaluate(homes)).toEqual([[], ['offline-hilo']])
})

test('where buckets never open, the device is in the default storage', async () => {
  const site = await openSite()
  const page = await (await openBrowser('chromium')).newPage()
  const url = site.url({}, FAILING)
  await page.goto(url)
  const made = await page.evaluate(nextIds, 5)
  expect((await page.evaluate(status)).storage).toBe('best-effort')
  await page.goto(url)
  made.push(...(await page.evaluate(nextIds, 5)))
  expectDistinct(made)
  expect(made.at(-1)).toBe('orders/10-A')
})
