/**
 * A real browser on a profile of its own, seen the same way whichever engine it is. Nothing of it
 * outlives the test that opened it.
 */
import { cpSync, lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { launchChromium } from './chromium.js'
import type { EngineName } from './engines.js'
import { launchFirefox } from './firefox.js'
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
    method:
      | 'Storage.clearDataForOrigin'
      | 'Storage.overrideQuotaForOrigin'
      | 'ServiceWorker.dispatchSyncEvent',
    parameters: object,
  ): Promise<void>
  /** As a user closes a tab: the page sees `pagehide`. */
  close(): Promise<void>
}

export interface LaunchedBrowser {
  newPage(): Promise<TestPage>
  /** SIGKILL to every process of it; resolves when they are gone. */
  kill(): Promise<void>
}

export interface TestBrowser extends LaunchedBrowser {
  /** Folder of its profile. */
  profile: string
  /** Starts it again on the same profile, killing it first if it still runs. */
  restart(): Promise<void>
}

/**
 * Has the page go for good. What a page sends as its tab closes gets lost in Firefox now and then;
 * what it sends when it is left does not.
 */
export const leave = (page: TestPage, name: EngineName, elsewhere: string): Promise<void> =>
  name === 'firefox' ? page.goto(elsewhere) : page.close()

const LAUNCH: Record<EngineName, (profile: string) => Promise<LaunchedBrowser>> = {
  chromium: launchChromium,
  firefox: launchFirefox,
  webkit: launchWebKit,
}

/** To be called inside a test. */
export const openBrowser = (name: EngineName): Promise<TestBrowser> => open(name, LAUNCH[name])

/**
 * To be called inside a test. What its pages store survives a restart, in every engine; but it can
 * only load the test page.
 * @param original start with a copy of this one's profile; it must not be running
 */
export const openLastingBrowser = (
  name: EngineName,
  original?: TestBrowser,
): Promise<TestBrowser> =>
  open(name, name === 'webkit' ? launchLastingWebKit : LAUNCH[name], original)

async function open(
  name: EngineName,
  launch: (profile: string) => Promise<LaunchedBrowser>,
  original?: TestBrowser,
): Promise<TestBrowser> {
  const profile = mkdtempSync(join(tmpdir(), `hilo-${name}-`))
  // What was a program's socket is of no use to another one.
  const filter = (source: string) => !lstatSync(source).isSocket()
  if (original)
    cpSync(original.profile, profile, { recursive: true, verbatimSymlinks: true, filter })
  let running: LaunchedBrowser | undefined
  const kill = async () => {
    await running?.kill()
    running = undefined
  }
  const restart = async () => {
    await kill()
    running = await launch(profile)
  }
  onTestFinished(async () => {
    await kill()
    rmSync(profile, { recursive: true, force: true })
  })
  await restart()
  return { profile, newPage: () => running!.newPage(), kill, restart }
}
