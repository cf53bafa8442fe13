/**
 * A stock Firefox, started as a program of its own with a quiet profile and driven over WebDriver
 * BiDi.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensure, FIREFOX } from '../support/groups.js'
import type { LaunchedBrowser } from './browser.js'
import { enginePath } from './engines.js'
import { orKill, start } from './process.js'

/**
 * No first-run pages, updates, telemetry or look-ups, and pages may open pages; after a kill it
 * starts as usual. Web pages behave as in any Firefox.
 */
const PREFS: Record<string, boolean | number | string> = {
  'remote.prefs.recommended': false,
  'app.update.disabledForTesting': true,
  'app.normandy.enabled': false,
  'browser.aboutwelcome.enabled': false,
  // To make pictures of pages, Firefox would load each page once more, unseen, with a storage of
  // its own. That page would be another device.
  'browser.pagethumbnails.capturing_disabled': true,
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'browser.sessionstore.resume_from_crash': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'browser.startup.page': 0,
  'dom.disable_open_during_load': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'extensions.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
  'toolkit.startup.max_resumed_crashes': -1,
  'toolkit.telemetry.server': 'data:,',
}

/** @param settings what the user has set, by its names in `about:config` */
export async function launchFirefox(
  profile: string,
  settings: typeof PREFS = {},
): Promise<LaunchedBrowser> {
  const lines = Object.entries({ ...PREFS, ...settings }).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  )
  writeFileSync(join(profile, 'user.js'), lines.join(''))
  const args = ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port=0']
  args.push('about:blank')
  const program = await start(enginePath('firefox'), args, /WebDriver BiDi listening on (ws:\S+)/, {
    TMPDIR: profile,
  })
  ensure(FIREFOX)
  const { default: puppeteer } = await import('puppeteer-core')
  const connect = async () => {
    const browser = await puppeteer.connect({
      browserWSEndpoint: `${program.ready![1]}/session`,
      protocol: 'webDriverBiDi',
      // A page may work for minutes. Each test that waits for it has its own time limit.
      protocolTimeout: 0,
    })
    return { browser, pages: await browser.pages() }
  }
  // Without any page the browser would end: the first one stays.
  const {
    browser,
    pages: [first],
  } = await orKill(program.kill, connect())
  return {
    async newPage() {
      const page = await browser.newPage()
      return {
        goto: async (url) => void (await page.goto(url)),
        reload: async () => void (await page.reload()),
        evaluate: (run, arg) => page.evaluate(run as (arg: unknown) => never, arg),
        close: () => page.close(),
      }
    },
    async closePages() {
      for (const page of await browser.pages()) if (page !== first) await page.close()
    },
    kill: program.kill,
  }
}
