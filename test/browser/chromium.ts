/**
 * Chromium, started as a program of its own and driven over its debugging protocol: the default
 * context is the profile on disk.
 */
import { chromium } from 'playwright-core'
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

export async function launchChromium(profile: string): Promise<LaunchedBrowser> {
  const program = await start(
    enginePath('chromium'),
    [...FLAGS, `--user-data-dir=${profile}`],
    /DevTools listening on (ws:\S+)/,
    {
      TMPDIR: profile,
    },
  )
  const browser = await orKill(program.kill, chromium.connectOverCDP(program.ready![1]!))
  const context = browser.contexts()[0]!
  // Without any page the browser would end.
  const [first] = context.pages()
  return {
    async newPage() {
      const page = await context.newPage()
      return {
        goto: async (url) => void (await page.goto(url)),
        reload: async () => void (await page.reload()),
        evaluate: (run, arg) => page.evaluate(run as (arg: unknown) => never, arg),
        async command(method, parameters) {
          const session = await page.context().newCDPSession(page)
          if (method === 'ServiceWorker.dispatchSyncEvent')
            await session.send('ServiceWorker.enable')
          await session.send(method, parameters as never)
          // A quota holds for as long as the session that set it.
        },
        close: () => page.close(),
      }
    },
    async closePages() {
      await Promise.all(context.pages().map((page) => page !== first && page.close()))
    },
    kill: program.kill,
  }
}
