/**
 * Storage that is missing, hangs, is full, is cleared or upgraded: a page goes on or says why not,
 * and no id comes twice.
 */
import { describe, expect, test } from 'vitest'
import { leave, openBrowser, openWithoutCookies } from './browser.js'
import { testedEngines } from './engines.js'
import { expectDistinct, nextIds, readyToGiveBack, status } from './ids.js'
import { openSite } from './site.js'

/** Longer than the storage may take to open. */
const PATIENT = { timeout: 30_000 }

/** Runs in a page or a worker. */
function withoutIndexedDb(): void {
  Object.defineProperty(globalThis, 'indexedDB', { value: undefined })
}

/** Runs in a page. The ids, or the code with which the call failed. */
const idsOrCode = (count: number) =>
  window.hilo.nextIds('orders', count).catch((error: { code: string }) => error.code)

/** Runs in a page, as one of the next version would. The version of the database then. */
async function upgrade(): Promise<number> {
  const request = (await window.home()).open('offline-hilo', 2)
  await new Promise((resolve, reject) =>
    Object.assign(request, { onsuccess: resolve, onerror: reject }),
  )
  return request.result.version
}

const makeReceipt = () =>
  window
    .consecutive(window.hilo, 'receipts')
    .next({ key: 'first' })
    .catch((error: Error) => error.message)

/** Runs in a page. The name of the error, if it throws. */
function openChannel(): string {
  try {
    return String(new BroadcastChannel('any'))
  } catch (error) {
    return (error as Error).name
  }
}

describe.each(testedEngines().filter(({ name }) => name !== 'webkit'))(
  'in $title with cookies blocked',
  ({ name }) => {
    test('ids live in memory, each page gives back what it has not used', async () => {
      const site = await openSite()
      const browser = await openWithoutCookies(name as 'chromium' | 'firefox')
      const [page, other] = [await browser.newPage(), await browser.newPage()]
      await page.goto(site.url())
      if (name === 'firefox') expect(await page.evaluate(openChannel)).toBe('SecurityError')
      const made = await page.evaluate(nextIds, 5)
      expect((await page.evaluate(status)).storage).toBe('memory')
      expect(await page.evaluate(makeReceipt)).toContain('Allow this site cookies')
      await page.evaluate(() => window.hilo.release())
      expect(await site.server.outstanding('orders')).toBe(5)
      made.push(...(await page.evaluate(nextIds, 5)))
      await other.goto(site.url())
      made.push(...(await other.evaluate(nextIds, 5)))
      for (const each of [page, other]) await each.evaluate(() => window.hilo.close())
      expect(await site.server.outstanding('orders')).toBe(15)
      expectDistinct(made)
    })
  },
)

describe.each(testedEngines())('in $title', ({ name }) => {
  test('without IndexedDB ids live in memory, the status says so, and all go back', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const page = await browser.newPage()
    await page.goto(site.url({}, { beforePage: withoutIndexedDb, beforeWorker: withoutIndexedDb }))
    const made = await page.evaluate(nextIds, 5)
    expectDistinct(made)
    expect((await page.evaluate(status)).storage).toBe('memory')
    await page.evaluate(readyToGiveBack, 5)
    await leave(page, name, site.url({ name: 'elsewhere' }))
    await expect.poll(() => site.server.outstanding('orders'), { timeout: 20_000 }).toBe(5)
  })

  test('an IndexedDB that does not open is done without until it does', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const [holder, page] = [await browser.newPage(), await browser.newPage()]
    await holder.goto(site.url({ name: 'other' }))
    // Whoever opens the database waits for this deletion, and it never ends: a connection is open.
    await holder.evaluate(async () => {
      const home = await window.home()
      const request = home.open('offline-hilo')
      await new Promise((resolve) => Object.assign(request, { onsuccess: resolve }))
      // A connection that nobody holds is closed with the garbage, and the deletion ends.
      Object.assign(window, { held: request.result })
      await new Promise((resolve) =>
        Object.assign(home.deleteDatabase('offline-hilo'), { onblocked: resolve }),
      )
    })
    await page.goto(site.url(PATIENT))
    const made = await page.evaluate(nextIds, 40)
    expect((await page.evaluate(status)).storage).toBe('memory')
    await holder.evaluate(() => (window as unknown as { held: IDBDatabase }).held.close())
    const storage = async () => (await page.evaluate(status)).storage
    await expect.poll(storage, { timeout: 30_000 }).toBe('best-effort')
    made.push(...(await page.evaluate(nextIds, 40)))
    await page.reload()
    made.push(...(await page.evaluate(nextIds, 40)))
    expectDistinct(made)
  })

  test('storage that is cleared under two running pages: both go on with new numbers', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const pages = [await browser.newPage(), await browser.newPage()]
    const made: string[] = []
    for (const page of pages) {
      await page.goto(site.url())
      made.push(...(await page.evaluate(nextIds, 20)))
    }
    const { command, evaluate } = pages[0]!
    if (command)
      await command('Storage.clearDataForOrigin', {
        origin: new URL(site.url()).origin,
        storageTypes: 'all',
      })
    else
      await evaluate(async () => {
        await new Promise((resolve) =>
          Object.assign(indexedDB.deleteDatabase('offline-hilo'), { onsuccess: resolve }),
        )
      })
    for (const page of [...pages, ...pages]) made.push(...(await page.evaluate(nextIds, 60)))
    for (const page of pages) await page.reload()
    for (const page of pages) made.push(...(await page.evaluate(nextIds, 20)))
    expect(made).toHaveLength(320)
    expectDistinct(made)
  })

  test('after an upgrade by a newer version an old page stops, and says why', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const [old, newer] = [await browser.newPage(), await browser.newPage()]
    await old.goto(site.url())
    await old.evaluate(nextIds, 5)
    await newer.goto(site.url({ name: 'other' }))
    await newer.evaluate(upgrade)
    expect(await old.evaluate(idsOrCode, 100)).toBe('outdated')
    expect(await old.evaluate(idsOrCode, 100)).toBe('outdated')
  })

  test('an upgrade waits for no page in the back/forward cache, which then stops', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const [old, newer] = [await browser.newPage(), await browser.newPage()]
    await old.goto(site.url())
    await old.evaluate(nextIds, 5)
    await old.goto(site.url({ name: 'elsewhere' }))
    await newer.goto(site.url({ name: 'other' }))
    expect(await newer.evaluate(upgrade)).toBe(2)
    await old.evaluate(() => history.back())
    const isBack = () => 'hilo' in window && !location.search.includes('elsewhere')
    await expect.poll(() => old.evaluate(isBack), { timeout: 20_000 }).toBe(true)
    expect(await old.evaluate(idsOrCode, 100)).toBe('outdated')
  })
})

/** Only in Chromium can a test set the quota. */
test('in Chromium, a full disk is named, costs no duplicate, and is used again later', async () => {
  const site = await openSite()
  const page = await (await openBrowser('chromium')).newPage()
  const { origin } = new URL(site.url())
  await page.command!('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1_000_000 })
  await page.goto(site.url())
  const made = await page.evaluate(nextIds, 5)
  await page.evaluate(fillStorage)
  const makeOrFail = async () => {
    const answer = await page.evaluate(idsOrCode, 100)
    if (typeof answer === 'string') return answer
    made.push(...answer)
    return 'made'
  }
  await expect.poll(makeOrFail, { timeout: 20_000 }).toBe('storage-failed')
  await page.command!('Storage.overrideQuotaForOrigin', { origin })
  made.push(...(await page.evaluate(nextIds, 500)))
  await page.reload()
  made.push(...(await page.evaluate(nextIds, 50)))
  expectDistinct(made)
})

/** Runs in a page: fills the home of the device. */
async function fillStorage(): Promise<void> {
  const home = await window.home()
  const db: IDBDatabase = await new Promise((resolve) => {
    const request = home.open('filler')
    request.onupgradeneeded = () =>
      request.result.createObjectStore('fill', { autoIncrement: true })
    request.onsuccess = () => resolve(request.result)
  })
  const isStored = (bytes: number) =>
    new Promise<boolean>((resolve) => {
      const tx = db.transaction('fill', 'readwrite')
      tx.objectStore('fill').add(crypto.getRandomValues(new Uint8Array(bytes)))
      tx.oncomplete = () => resolve(true)
      tx.onabort = () => resolve(false)
    })
  for (const bytes of [50_000, 5_000, 500])
    for (let tries = 0; tries < 500 && (await isStored(bytes)); tries++);
}
