/**
 * A page without its worker, or without what lets tabs talk to each other, goes on making ids. No
 * id is made twice.
 */
import { describe, expect, test } from 'vitest'
import { openBrowser } from './browser.js'
import { testedEngines } from './engines.js'
import { expectDistinct, nextIds, status } from './ids.js'
import { openSite, type Site } from './site.js'

/** Longer than a worker may keep silent. */
const PATIENT = { timeout: 30_000 }
/** Shorter: a worker that failed to start says so at once. */
const HASTY = { timeout: 7_000 }

/** Runs in a page: makes its worker reachable for the test. */
function keepWorker(): void {
  const Real = Worker
  window.Worker = class extends Real {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options)
      Object.assign(window, { theWorker: this })
    }
  }
}

/** Runs in a page or a worker. */
function isolateTab(): void {
  for (const prototype of [globalThis.Navigator?.prototype, Object.getPrototypeOf(navigator)])
    delete prototype?.locks
  delete (globalThis as { BroadcastChannel?: unknown }).BroadcastChannel
}

/** Runs in a page: its app keeps what it is warned of. */
function keepWarnings(): void {
  const warnings: string[] = []
  console.warn = (text: string) => warnings.push(text)
  Object.assign(window, { warnings })
}

const warnings = () => (window as unknown as { warnings: string[] }).warnings

describe.each(testedEngines())('in $title', ({ name }) => {
  test.each([
    ['a content security policy forbids workers', { csp: "worker-src 'none'" }, HASTY],
    ["the worker's file is not there", { worker: '/missing.js' }, HASTY],
    ['the worker never answers', { worker: '/silent.js' }, PATIENT],
  ])(
    '%s: ids are made in the page, stored as ever, and a page with a worker goes on',
    async (_, surroundings, options) => {
      const site = await openSite()
      const page = await (await openBrowser(name)).newPage()
      await page.goto(site.url(options, surroundings))
      const made = await page.evaluate(nextIds, 40)
      expect(await page.evaluate(status)).toMatchObject({ online: true, storage: 'best-effort' })
      // The page has loaded the owner's code, which is in the file `here-….js`.
      expect([...site.files].join('\n')).toMatch(/\/here-/)
      await page.goto(site.url(PATIENT))
      made.push(...(await page.evaluate(nextIds, 40)))
      expect(made).toHaveLength(80)
      expectDistinct(made)
    },
  )

  test.each<[string, Parameters<Site['url']>[1], RegExp]>([
    [
      'a content security policy forbids workers',
      { csp: "worker-src 'none'" },
      // Some engines throw, with a reason of their own.
      /content security policy .*\(worker-src\)[.?] See docs/,
    ],
    [
      "HTML comes instead of the worker's file",
      { worker: '/' },
      /: text\/html comes instead of its file: \S+\/\. See docs/,
    ],
    [
      "the worker's file is not there",
      { worker: '/missing.js' },
      /: its file answers 404: \S+\/missing\.js\. See docs/,
    ],
  ])('%s: the console says so, once', async (_, surroundings, reason) => {
    const site = await openSite()
    const page = await (await openBrowser(name)).newPage()
    await page.goto(site.url(HASTY, { ...surroundings, beforePage: keepWarnings }))
    await page.evaluate(nextIds, 40)
    await expect.poll(() => page.evaluate(warnings)).toHaveLength(1)
    await page.evaluate(nextIds, 40)
    expect(await page.evaluate(warnings)).toEqual([expect.stringMatching(reason)])
    expect(await page.evaluate(warnings)).toEqual([
      expect.stringMatching(/^offline-hilo: no worker runs, so this page makes ids itself: /),
    ])
  })

  test('a policy that forbids the server of ids: the error names it, and what to add', async () => {
    const site = await openSite()
    const page = await (await openBrowser(name)).newPage()
    const csp = "worker-src 'none'; connect-src 'none'"
    await page.goto(site.url(HASTY, { csp }))
    const failure = await page.evaluate(() =>
      window.hilo.nextId('orders').catch(({ code, message }) => [code, message]),
    )
    expect(failure).toEqual([
      'no-hilo-server',
      expect.stringContaining(
        'The content security policy of the page forbids this address: add it to `connect-src`.',
      ),
    ])
  })

  test('a worker that is killed during a call is replaced, and no id comes twice', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const [page, other] = [await browser.newPage(), await browser.newPage()]
    await page.goto(site.url(PATIENT, { beforePage: keepWorker }))
    await other.goto(site.url())
    const made = await page.evaluate(nextIds, 10)
    made.push(
      ...(await page.evaluate(async () => {
        const waiting = window.hilo.nextIds('orders', 200)
        // The call is on its way when the worker dies.
        await Promise.resolve()
        ;(window as unknown as { theWorker: Worker }).theWorker.terminate()
        return waiting
      })),
    )
    made.push(...(await page.evaluate(nextIds, 50)), ...(await other.evaluate(nextIds, 50)))
    expect(made).toHaveLength(310)
    expectDistinct(made)
    // Another worker took its place.
    expect([...site.files].join('\n')).not.toMatch(/\/here-/)
  })

  test('without Web Locks and BroadcastChannel two pages make different ids', async () => {
    const site = await openSite()
    const browser = await openBrowser(name)
    const pages = [await browser.newPage(), await browser.newPage()]
    const url = site.url({}, { beforePage: isolateTab, beforeWorker: isolateTab })
    await Promise.all(pages.map((page) => page.goto(url)))
    expect(
      await pages[0]!.evaluate(
        () => navigator.locks === undefined && !('BroadcastChannel' in window),
      ),
    ).toBe(true)
    const made: string[] = []
    for (let turn = 0; turn < 5; turn++)
      made.push(...(await Promise.all(pages.map((page) => page.evaluate(nextIds, 100)))).flat())
    expect(made).toHaveLength(1_000)
    expectDistinct(made)
  })
})
