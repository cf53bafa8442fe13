/**
 * A real browser on a profile of its own, with the same methods for each engine. A page is closed
 * when the test that opened it ends, and a browser when its process of tests ends.
 */
import { cpSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { launchChromium, launchUndriven } from './chromium.js'
import type { EngineName } from './engines.js'
import { launchFirefox } from './firefox.js'
import { atMostTwice } from './launch.js'
import { orKill } from './process.js'
import { launchLastingWebKit, launchWebKit } from './webkit.js'

/** One tab. */
export interface TestPage {
  /** Resolves when the page has loaded. */
  goto(url: string): Promise<void>
  reload(): Promise<void>
  /**
   * Runs a function in the page; it sees the page's globals and `arg` only, and both `arg` and its
   * result cross as JSON.
   */
  evaluate<R, A = undefined>(run: (arg: A) => R | Promise<R>, arg?: A): Promise<R>
  /** Chromium only: a command of its debugging protocol, for what a page cannot do to itself. */
  command?(
    method: 'Storage.clearDataForOrigin' | 'Storage.overrideQuotaForOrigin',
    parameters: object,
  ): Promise<void>
  /** Chromium only: the service worker of this page gets a `sync` event, now. */
  syncInBackground?(tag: string): Promise<void>
  /** As a user closes a tab: the page sees `pagehide`. */
  close(): Promise<void>
}

export interface LaunchedBrowser {
  newPage(): Promise<TestPage>
  /** Closes every page, also those that pages have opened. Chromium forgets what they stored. */
  closePages(): Promise<void>
  /** Sends SIGKILL to all of its processes. Resolves when they are gone. */
  kill(): Promise<void>
}

export interface TestBrowser extends Omit<LaunchedBrowser, 'closePages'> {
  /** Folder of its profile. */
  profile: string
  /** Starts it again on the same profile. If it still runs, it is killed first. */
  restart(): Promise<void>
}

/**
 * Leaves the page for good, by a navigation. Firefox now and then loses what a page sends while its
 * tab closes, and Chromium takes a tab away that has no time for it within half a second, as on a
 * busy machine. Neither loses what a page sends during a navigation.
 */
export const leave = (page: TestPage, name: EngineName, elsewhere: string): Promise<void> =>
  name === 'webkit' ? page.close() : page.goto(elsewhere)

type Launch = (profile: string) => Promise<LaunchedBrowser>

const LAUNCH: Record<EngineName, Launch> = {
  chromium: launchChromium,
  firefox: launchFirefox,
  webkit: launchWebKit,
}

/**
 * Browsers that no test uses right now, also for files that come later: a start takes a second of
 * a processor.
 */
const idle: { name: EngineName; browser: LaunchedBrowser; remove(): Promise<void> }[] = []

/**
 * To be called inside a test. No other test has this browser at the same time. The next test may
 * get it, but each site is another origin, with a storage of its own. Chromium's storage is empty:
 * a site may get the port of an earlier one.
 */
export async function openBrowser(name: EngineName): Promise<Pick<LaunchedBrowser, 'newPage'>> {
  const at = idle.findIndex((each) => each.name === name)
  const [used = await launch(name)] = at < 0 ? [] : idle.splice(at, 1)
  onTestFinished(async () => {
    await orKill(used.remove, used.browser.closePages()).then(
      () => idle.push(used),
      // It does not answer any more; the next test starts another one.
      () => {},
    )
  })
  return { newPage: namingWaits(used.browser.newPage) }
}

/**
 * To be called inside a test. If the test fails, it says on stderr which steps of the pages have
 * not ended: all that is known of a browser that hangs.
 */
function namingWaits(newPage: LaunchedBrowser['newPage']): LaunchedBrowser['newPage'] {
  const waits = new Set<string>()
  onTestFinished(({ task }) => {
    if (task.result?.state === 'fail')
      for (const step of waits) process.stderr.write(`Has not ended: ${step}\n`)
  })
  const named = <T>(step: string, work: Promise<T>): Promise<T> => {
    waits.add(step)
    return work.finally(() => waits.delete(step))
  }
  let count = 0
  return async () => {
    const name = `page ${++count}`
    const page = await named(`${name}, opening`, newPage())
    return {
      ...page,
      goto: (url) => named(`${name}, loading ${url}`, page.goto(url)),
      reload: () => named(`${name}, loading again`, page.reload()),
      evaluate: (run, arg) =>
        named(`${name}, running ${String(run).slice(0, 100)}`, page.evaluate(run, arg)),
      close: () => named(`${name}, closing`, page.close()),
    }
  }
}

async function launch(name: EngineName): Promise<(typeof idle)[number]> {
  const profile = newProfile(name)
  const browser = await startBrowser(LAUNCH[name], profile)
  const remove = async () => {
    await browser.kill()
    removeFolder(profile)
  }
  return { name, browser, remove }
}

/** To be called inside a test: a page in a Chromium that nobody drives, so it prerenders. */
export async function openPrerenderingPage(url: string): Promise<void> {
  const profile = newProfile('chromium')
  const kill = await launchUndriven(profile, url)
  onTestFinished(async () => {
    await kill()
    removeFolder(profile)
  })
}

const BLOCKING = {
  chromium(profile: string) {
    mkdirSync(join(profile, 'Default'))
    const settings = { profile: { default_content_setting_values: { cookies: 2 } } }
    writeFileSync(join(profile, 'Default/Preferences'), JSON.stringify(settings))
    return launchChromium(profile)
  },
  firefox: (profile: string) => launchFirefox(profile, { 'network.cookie.cookieBehavior': 2 }),
}

/** To be called inside a test: a browser whose user blocks all cookies and site data. */
export async function openWithoutCookies(
  name: keyof typeof BLOCKING,
): Promise<Pick<LaunchedBrowser, 'newPage'>> {
  const profile = newProfile(name)
  const browser = await startBrowser(BLOCKING[name], profile)
  onTestFinished(async () => {
    await browser.kill()
    removeFolder(profile)
  })
  return browser
}

/**
 * To be called inside a test. What the pages of this browser store survives a restart, in every
 * engine; but it can only load the test page.
 * @param original a browser that is not running; the new one starts with a copy of its profile
 */
export const openLastingBrowser = (
  name: EngineName,
  original?: TestBrowser,
): Promise<TestBrowser> =>
  open(name, name === 'webkit' ? launchLastingWebKit : LAUNCH[name], original)

async function open(
  name: EngineName,
  launch: Launch,
  original?: TestBrowser,
): Promise<TestBrowser> {
  const profile = newProfile(name)
  // A socket is of no use to another program. Chromium's `SingletonLock` names the one that runs.
  const filter = (source: string) =>
    !lstatSync(source).isSocket() && !basename(source).startsWith('Singleton')
  if (original)
    cpSync(original.profile, profile, { recursive: true, verbatimSymlinks: true, filter })
  let running: LaunchedBrowser | undefined
  const kill = async () => {
    await running?.kill()
    running = undefined
  }
  const restart = async () => {
    await kill()
    running = await startBrowser(launch, profile)
  }
  onTestFinished(async () => {
    await kill()
    removeFolder(profile)
  })
  await restart()
  return { profile, newPage: () => running!.newPage(), kill, restart }
}

const startBrowser = (launch: Launch, profile: string): Promise<LaunchedBrowser> =>
  atMostTwice(() => launch(profile))

const newProfile = (name: EngineName) => mkdtempSync(join(tmpdir(), `hilo-${name}-`))
const removeFolder = (path: string) => rmSync(path, { recursive: true, force: true })
