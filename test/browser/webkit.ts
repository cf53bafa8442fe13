/**
 * WebKitGTK, in a display of its own: driven over WebDriver, or on a lasting profile, where its
 * pages do what they are told.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../support/free-port.js'
import type { LaunchedBrowser, TestPage } from './browser.js'
import { enginePath, miniBrowser } from './engines.js'
import { orKill, start } from './process.js'
import { openToldPage } from './told-page.js'
import { openSession, type Session } from './webdriver.js'

export async function launchWebKit(profile: string): Promise<LaunchedBrowser> {
  const display = await openDisplay()
  const port = await freePort()
  const environment = { ...quietDesktop(profile), DISPLAY: `:${display.ready![1]}` }
  const driver = await start(
    enginePath('webkit'),
    [`--port=${port}`, '--host=127.0.0.1'],
    undefined,
    environment,
  )
  const kill = async () => {
    await driver.kill()
    await display.kill()
  }
  const ended = new AbortController()
  driver.closed.then(() => ended.abort(new Error('WebKitWebDriver ended.')))
  const browser = {
    browserName: 'MiniBrowser',
    'webkitgtk:browserOptions': {
      binary: miniBrowser(),
      args: ['--automation', '--javascript-can-open-windows-automatically=true'],
    },
  }
  const session = await orKill(kill, openSession(`http://127.0.0.1:${port}`, browser, ended.signal))
  const first = await orKill(kill, session.command<string>('GET', 'window'))
  return {
    async newPage() {
      // A window, because a tab opened this way stays behind the others and is hidden. The window
      // that opens it is one that no test closes.
      const { handle } = await session.inWindow<{ handle: string }>(first, 'POST', 'window/new', {
        type: 'window',
      })
      return pageOf(session, handle)
    },
    async closePages() {
      for (const handle of await session.command<string[]>('GET', 'window/handles'))
        if (handle !== first) await session.inWindow(handle, 'DELETE', 'window')
    },
    kill,
  }
}

/**
 * Starts it as a user does: what its pages store stays in the profile. No program can drive it, so
 * its pages ask the test what to do.
 */
export async function launchLastingWebKit(profile: string): Promise<LaunchedBrowser> {
  const display = await openDisplay()
  const environment = { ...quietDesktop(profile), DISPLAY: `:${display.ready![1]}` }
  const first = await openToldPage()
  const pages = [first]
  const args = ['--javascript-can-open-windows-automatically=true', first.blank]
  const program = await start(miniBrowser()!, args, undefined, environment)
  const kill = async () => {
    await program.kill()
    await display.kill()
  }
  program.closed.then(() => {
    for (const page of pages) page.end()
  })
  await orKill(kill, first.opened)
  return {
    async newPage() {
      const page = await openToldPage()
      pages.push(page)
      // Without an opener: a page that has one is kept out of the back/forward cache.
      await first.evaluate((url) => void window.open(url, '_blank', 'noopener'), page.blank)
      await page.opened
      return page
    },
    async closePages() {
      for (const page of pages.splice(1)) await page.close()
    },
    kill,
  }
}

/** Milliseconds between two looks at a page that loads. */
const LOOK_AGAIN_MS = 10
const LOAD_MS = 60_000

const openDisplay = () =>
  start(
    'Xvfb',
    ['-displayfd', '1', '-screen', '0', '1280x1024x24', '-nolisten', 'tcp'],
    /^(\d+)\n/m,
  )

function pageOf(session: Session, handle: string): TestPage {
  /** On a busy machine the driver answers now and then before the old page is gone. */
  const load = async (path: string, body: object) => {
    const run = <T>(script: string) =>
      session.inWindow<T>(handle, 'POST', 'execute/sync', { script, args: [] })
    await run('window.isLeft = true')
    await session.inWindow(handle, 'POST', path, body)
    const end = Date.now() + LOAD_MS
    const isLoaded = () =>
      run<boolean>('return !window.isLeft && document.readyState === "complete"').catch(() => false)
    while (!(await isLoaded())) {
      if (Date.now() > end) throw new Error(`WebKit did not load the page within ${LOAD_MS} ms.`)
      await pause(LOOK_AGAIN_MS)
    }
  }
  return {
    goto: (url) => load('url', { url }),
    reload: () => load('refresh', {}),
    evaluate: (run, arg) => session.evaluate(handle, String(run), arg),
    close: () => session.inWindow(handle, 'DELETE', 'window'),
  }
}

function quietDesktop(home: string): NodeJS.ProcessEnv {
  return {
    HOME: home,
    XDG_DATA_HOME: join(home, 'data'),
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_CONFIG_HOME: join(home, 'config'),
    GDK_BACKEND: 'x11',
    GSETTINGS_BACKEND: 'memory',
    LIBGL_ALWAYS_SOFTWARE: '1',
    NO_AT_BRIDGE: '1',
    WEBKIT_DISABLE_COMPOSITING_MODE: '1',
    WEBKIT_DISABLE_DMABUF_RENDERER: '1',
  }
}
