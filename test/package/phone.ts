/**
 * A phone: Chromium on a network of its own, which one cable connects with this machine. It knows
 * nothing of this machine's `localhost`, and its flight mode takes the cable away.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import type { TestPage } from '../browser/browser.js'
import { enginePath } from '../browser/engines.js'
import { atMostTwice } from '../browser/launch.js'
import { newFolder } from './shop.js'

/** Of the range for tests of networks, so that it is nobody else's: RFC 2544. */
const MACHINE = '198.18.94.1'
const PHONE = '198.18.94.2'
const NETWORK = 'hilo-phone'
const CABLE = 'hilo-cable'

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: 'pipe' })

/** Why there is no phone, if there is none. */
export const withoutPhone = ((): string => {
  try {
    removeNetwork()
    ip('netns', 'add', NETWORK)
    removeNetwork()
    return ''
  } catch {
    return ' (left out: no second network can be made here)'
  }
})()

function removeNetwork(): void {
  try {
    ip('netns', 'delete', NETWORK)
  } catch {} // There is none.
}

export interface Phone {
  /** This machine's address, as the phone sees it. */
  machine: string
  /**
   * In a browser of its own.
   * @param authority the certificate of one that it trusts, a PEM file
   */
  newTab(authority?: string): Promise<PhoneTab>
  /** Takes the network away, or brings it back. */
  flightMode(isOn: boolean): void
}

export interface PhoneTab extends TestPage {
  /** Goes to a page of which the browser warns, and clicks past the warning. */
  gotoAnyway(url: string): Promise<void>
}

/** To be called inside a test. */
export function switchOnPhone(): Phone {
  removeNetwork()
  ip('netns', 'add', NETWORK)
  onTestFinished(removeNetwork)
  ip('link', 'add', CABLE, 'type', 'veth', 'peer', 'name', 'wlan0', 'netns', NETWORK)
  ip('address', 'add', `${MACHINE}/30`, 'dev', CABLE)
  ip('link', 'set', CABLE, 'up')
  ip('-n', NETWORK, 'link', 'set', 'lo', 'up')
  ip('-n', NETWORK, 'address', 'add', `${PHONE}/30`, 'dev', 'wlan0')
  ip('-n', NETWORK, 'link', 'set', 'wlan0', 'up')
  return {
    machine: MACHINE,
    async newTab(authority) {
      const home = newFolder()
      if (authority) trust(home, authority)
      return tabOf(await (await startBrowser(home)).newPage())
    },
    flightMode: (isOn) => void ip('link', 'set', CABLE, isOn ? 'down' : 'up'),
  }
}

/** Where Chromium looks for the authorities of the person whose home this is. */
function trust(home: string, authority: string): void {
  const store = join(home, '.pki/nssdb')
  mkdirSync(store, { recursive: true })
  const certutil = (...args: string[]) =>
    execFileSync('certutil', ['-d', `sql:${store}`, ...args], { stdio: 'pipe' })
  certutil('-N', '--empty-password')
  certutil('-A', '-t', 'C,,', '-n', 'dev', '-i', authority)
}

async function startBrowser(home: string) {
  const program = join(home, 'chromium')
  const command = `exec ip netns exec ${NETWORK} '${enginePath('chromium')}' "$@"`
  writeFileSync(program, `#!/bin/sh\n${command}\n`, { mode: 0o755 })
  const context = await atMostTwice(() =>
    chromium.launchPersistentContext(join(home, 'profile'), {
      executablePath: program,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'],
      env: { ...process.env, HOME: home },
    }),
  )
  onTestFinished(() => context.close())
  return context
}

const tabOf = (page: Page): PhoneTab => ({
  evaluate: (run, arg) => page.evaluate(run as (arg: unknown) => never, arg),
  goto: async (url) => void (await page.goto(url)),
  reload: async () => void (await page.reload()),
  close: () => page.close(),
  async gotoAnyway(url) {
    await page.goto(url).catch(() => 'the browser warns')
    await page.click('#details-button')
    const passed = page.waitForURL(url)
    await page.click('#proceed-link')
    await passed
  },
})
