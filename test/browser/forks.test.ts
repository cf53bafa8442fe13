/**
 * A profile is copied, and both copies go on: the second to check in learns of it, drops what it
 * holds, and from then on nothing comes twice.
 */
import { describe, expect, test } from 'vitest'
import { openLastingBrowser, type TestPage } from './browser.js'
import { testedEngines } from './engines.js'
import { available, expectDistinct, nextIds, status } from './ids.js'
import { openSite, type Site } from './site.js'

/** Runs in a worker. Without it, a device that has just checked in would not check in again. */
function anHourLater(): void {
  const now = Date.now
  Date.now = () => now() + 3_600_000
}

/** Runs in a worker, whose check-ins never leave the device. */
function holdCheckIns(): void {
  const ask = fetch
  globalThis.fetch = (input, init) =>
    String(input).endsWith('/checkin') ? new Promise(() => {}) : ask(input, init)
}

/**
 * Runs in a worker, an hour later. Answers take half a second, so that both copies get their first
 * one before either asks again; and however slow this machine is, they come in time.
 */
function meetAtServer(): void {
  const [now, later, ask] = [Date.now, setTimeout, fetch]
  Date.now = () => now() + 3_600_000
  globalThis.setTimeout = ((run: () => void, ms = 0) =>
    later(run, ms === 1_000 ? 60_000 : ms)) as typeof setTimeout
  globalThis.fetch = async (input, init) => {
    const answer = await ask(input, init)
    await new Promise((resolve) => later(resolve, 500))
    return answer
  }
}

/** Runs in a page: is a check-in stored that was not answered? */
async function isCheckingIn(): Promise<boolean> {
  const of = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve) =>
      Object.assign(request, { onsuccess: () => resolve(request.result) }),
    )
  const db = await of((await window.home()).open('offline-hilo'))
  const [record] = await of(db.transaction('collections').objectStore('collections').getAll())
  db.close()
  return record.checkIn !== undefined
}

/** Runs in a page. */
function hearOfForks(): void {
  addEventListener('DOMContentLoaded', () => {
    window.hilo.addEventListener('fork', ({ detail }) =>
      document.documentElement.setAttribute('data-fork', detail.collection),
    )
  })
}

const fork = () => document.documentElement.getAttribute('data-fork')

const checkIns = ({ requests }: Site) =>
  requests.filter(({ path, status }) => path.endsWith('/checkin') && status === 200).length

/** Claims show a token, too. */
const heard = ({ requests }: Site) =>
  requests.filter(({ path, status }) => /\/(checkin|next)$/.test(path) && status! < 300).length

async function openLater(site: Site, page: TestPage): Promise<void> {
  await page.goto(site.url({}, { beforePage: hearOfForks, beforeWorker: anHourLater }))
}

describe.each(testedEngines())('in $title', ({ name }) => {
  test('the second copy hears `fork`, drops its ranges, claims anew: no id twice', async () => {
    const site = await openSite()
    const original = await openLastingBrowser(name)
    const page = await original.newPage()
    await page.goto(site.url({ reserve: 200 }))
    await page.evaluate(() => window.hilo.reserve('orders', 200))
    const before = await page.evaluate(nextIds, 5)
    await original.kill()
    const copy = await openLastingBrowser(name, original)
    await original.restart()

    const first = await original.newPage()
    const known = checkIns(site)
    await openLater(site, first)
    before.push(...(await first.evaluate(nextIds, 5)))
    await expect.poll(() => checkIns(site), { timeout: 20_000 }).toBeGreaterThan(known)

    const second = await copy.newPage()
    await openLater(site, second)
    // Until it reaches the server, it may make the same ids as the other copy.
    await second.evaluate(nextIds, 1)
    await expect.poll(() => second.evaluate(fork), { timeout: 20_000 }).toBe('orders')
    expect((await second.evaluate(status)).gaps.fork).toBeGreaterThanOrEqual(100)

    const made = [...before]
    for (let turn = 0; turn < 3; turn++)
      made.push(
        ...(await Promise.all([first, second].map((each) => each.evaluate(nextIds, 150)))).flat(),
      )
    expect(made).toHaveLength(910)
    expectDistinct(made)
    expect(await first.evaluate(fork)).toBe(null)
    expect(await second.evaluate(available)).toBeGreaterThan(0)
  })

  test('a profile that goes back to a backup hears `fork`, and makes no id twice', async () => {
    const site = await openSite()
    const original = await openLastingBrowser(name)
    const page = await original.newPage()
    await page.goto(site.url({ reserve: 200 }))
    await page.evaluate(() => window.hilo.reserve('orders', 200))
    const made = await page.evaluate(nextIds, 5)
    await original.kill()
    const backup = await openLastingBrowser(name, original)
    await backup.kill()
    await original.restart()

    const used = await original.newPage()
    await openLater(site, used)
    made.push(...(await used.evaluate(nextIds, 1)))
    const known = heard(site)
    made.push(...(await used.evaluate(nextIds, 79)))
    await expect.poll(() => heard(site), { timeout: 30_000 }).toBeGreaterThan(known)
    await original.kill()

    await backup.restart()
    const old = await backup.newPage()
    await openLater(site, old)
    made.push(...(await old.evaluate(nextIds, 80)))
    expect(await old.evaluate(fork)).toBe('orders')
    expect(made).toHaveLength(165)
    expectDistinct(made)
  })

  test('a copy beside its running original makes no id that the server had heard of', async () => {
    const site = await openSite()
    const original = await openLastingBrowser(name)
    const page = await original.newPage()
    await page.goto(site.url({ reserve: 200 }, { beforePage: hearOfForks }))
    await page.evaluate(() => window.hilo.reserve('orders', 200))
    const made = await page.evaluate(nextIds, 5)
    // The copy is made while the original runs.
    const copy = await openLastingBrowser(name, original)
    const known = heard(site)
    made.push(...(await page.evaluate(nextIds, 40)))
    await expect.poll(() => heard(site), { timeout: 30_000 }).toBeGreaterThan(known)

    const other = await copy.newPage()
    const unheard = await page.evaluate(nextIds, 5)
    await openLater(site, other)
    const beside = await Promise.all([page, other].map((each) => each.evaluate(nextIds, 40)))
    const forks = () => Promise.all([page, other].map((each) => each.evaluate(fork)))
    await expect.poll(forks, { timeout: 30_000 }).toContain('orders')
    const ofOriginal = [...unheard, ...beside[0]!]
    const twice = ofOriginal.filter((id) => beside[1]!.includes(id))
    console.info(`${name}, a copy beside its running original: ${twice.length} ids twice`)
    expectDistinct([...made, ...ofOriginal])
    expectDistinct([...made, ...beside[1]!])

    const after = await Promise.all([page, other].map((each) => each.evaluate(nextIds, 150)))
    expectDistinct([...made, ...new Set([...ofOriginal, ...beside[1]!]), ...after.flat()])
  })

  test('two copies with a check-in under way that start at once make no id twice', async () => {
    const site = await openSite()
    const original = await openLastingBrowser(name)
    const page = await original.newPage()
    await page.goto(site.url({ reserve: 200 }, { beforeWorker: holdCheckIns }))
    await page.evaluate(() => window.hilo.reserve('orders', 200))
    const made = await page.evaluate(nextIds, 5)
    await expect.poll(() => page.evaluate(isCheckingIn), { timeout: 20_000 }).toBe(true)
    await original.kill()
    const copy = await openLastingBrowser(name, original)
    await original.restart()

    const pages = [await original.newPage(), await copy.newPage()]
    const starts = site.url({ reserve: 200 }, { beforeWorker: meetAtServer })
    await Promise.all(pages.map((each) => each.goto(starts)))
    made.push(...(await Promise.all(pages.map((each) => each.evaluate(nextIds, 30)))).flat())
    expect(made).toHaveLength(65)
    expectDistinct(made)
  })
})
