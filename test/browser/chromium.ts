/**
 * Chromium, started as a program of its own and driven over its debugging protocol: the default
 * context is the profile on disk.
 */
import { type Browser, chromium, type Page } from 'playwright-core'
import type { LaunchedBrowser } from './browser.js'
import { enginePath } from './engines.js'
import { orKill, start } from './process.js'

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-popup-blocking',
  '--remote-debugging-port=0',
]

const LIST_MS = 5_000

/** @throws Error with the pages that the browser has, for whoever asks what it waits for */
async function connect(devTools: string): Promise<Browser> {
  try {
    return await chromium.connectOverCDP(devTools)
  } catch (error) {
    const { host } = new URL(devTools)
    const pages = await fetch(`http://${host}/json/list`, { signal: AbortSignal.timeout(LIST_MS) })
      .then((answer) => answer.text())
      .catch((reason) => `unknown: ${reason}`)
    throw new Error(`Chromium cannot be driven. Its pages: ${pages}\n${error}`, { cause: error })
  }
}

/**
 * Sends a `sync` event to the service worker of a site, as Chromium does when the network comes
 * back. It numbers service workers over all sites of a profile, so it is asked for the number.
 * @param page any page of the browser
 */
export async function syncInBackground(page: Page, site: string, tag: string): Promise<void> {
  const { origin } = new URL(site)
  const session = await page.context().newCDPSession(page)
  const registered = new Promise<string>((resolve) => {
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const ours = registrations.find(({ scopeURL }) => new URL(scopeURL).origin === origin)
      if (ours) resolve(ours.registrationId)
    })
  })
  await session.send('ServiceWorker.enable')
  const registrationId = await registered
  const event = { origin, registrationId, tag, lastChance: false }
  await session.send('ServiceWorker.dispatchSyncEvent', event)
}

/**
 * A Chromium that nobody drives, with one page: one that is driven prerenders nothing.
 * @returns ends it
 */
export async function launchUndriven(profile: string, url: string): Promise<() => Promise<void>> {
  const args = [...FLAGS, `--user-data-dir=${profile}`, url]
  const { kill } = await start(enginePath('chromium'), args, /DevTools listening/)
  return kill
}

export async function launchChromium(profile: string): Promise<LaunchedBrowser> {
  const program = await start(
    enginePath('chromium'),
    // Without an address it opens its new tab page, which may be on the internet; connecting
    // would wait for that page.
    [...FLAGS, `--user-data-dir=${profile}`, 'about:blank'],
    /DevTools listening on (ws:\S+)/,
    {
      TMPDIR: profile,
    },
  )
  const browser = await orKill(program.kill, connect(program.ready![1]!))
  const context = browser.contexts()[0]!
  // Without any page the browser would end.
  const [first] = context.pages()
  /** Of the pages that were loaded since pages were closed last. */
  const origins = new Set<string>()
  return {
    async newPage() {
      const page = await context.newPage()
      return {
        async goto(url) {
          if (url.startsWith('http')) origins.add(new URL(url).origin)
          await page.goto(url)
        },
        reload: async () => void (await page.reload()),
        evaluate: (run, arg) => page.evaluate(run as (arg: unknown) => never, arg),
        async command(method, parameters) {
          const session = await page.context().newCDPSession(page)
          await session.send(method, parameters as never)
          // A quota holds for as long as the session that set it.
        },
        syncInBackground: (tag) => syncInBackground(page, page.url(), tag),
        close: () => page.close(),
      }
    },
    async closePages() {
      await Promise.all(context.pages().map((page) => page !== first && page.close()))
      const session = await context.newCDPSession(first!)
      for (const origin of origins)
        await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
      origins.clear()
      await session.detach()
    },
    kill: program.kill,
  }
}
