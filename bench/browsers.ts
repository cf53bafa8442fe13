/**
 * A browser of each engine that is installed, through the tests' own driver, on a profile of its
 * own.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LaunchedBrowser } from '../test/browser/browser.js'
import { launchChromium } from '../test/browser/chromium.js'
import { type Engine, type EngineName, installedEngines } from '../test/browser/engines.js'
import { launchFirefox } from '../test/browser/firefox.js'
import { atMostTwice } from '../test/browser/launch.js'
import { launchWebKit } from '../test/browser/webkit.js'

const LAUNCH: Record<EngineName, (profile: string) => Promise<LaunchedBrowser>> = {
  chromium: launchChromium,
  firefox: launchFirefox,
  webkit: launchWebKit,
}

export interface BenchBrowser extends Omit<LaunchedBrowser, 'closePages'> {
  engine: Engine
  /** `Chromium 156.0`. */
  title: string
  /** Kills it and starts it again on the same profile. */
  restart(): Promise<void>
}

/** One after another; gone when `use` has ended. */
export async function inEachEngine(use: (browser: BenchBrowser) => Promise<void>): Promise<void> {
  for (const engine of installedEngines()) {
    const profile = mkdtempSync(join(tmpdir(), `hilo-bench-${engine.name}-`))
    let running = await launch(engine, profile)
    try {
      await use({
        engine,
        title: await titleOf(engine, running),
        newPage: () => running.newPage(),
        kill: () => running.kill(),
        async restart() {
          await running.kill()
          running = await launch(engine, profile)
        },
      })
    } finally {
      await running.kill()
      rmSync(profile, { recursive: true, force: true })
    }
  }
}

const launch = ({ name }: Engine, profile: string): Promise<LaunchedBrowser> =>
  atMostTwice(() => LAUNCH[name](profile))

async function titleOf(engine: Engine, browser: LaunchedBrowser): Promise<string> {
  const page = await browser.newPage()
  const agent = await page.evaluate(() => navigator.userAgent)
  await page.close()
  return `${engine.title} ${/(?:Chrome|Firefox|Version)\/([\d.]+)/.exec(agent)?.[1] ?? ''}`
}
