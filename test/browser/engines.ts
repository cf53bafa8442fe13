/**
 * The browsers the tests can run in, and where each is on this machine. Chromium is needed; the
 * others are used where they are installed.
 */
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright-core'
import { isExecutable } from '../support/programs.js'
import { isFull } from '../support/sizes.js'

export type EngineName = 'chromium' | 'firefox' | 'webkit'

export interface Engine {
  name: EngineName
  title: string
  isRequired: boolean
  /** Is what it stores still there when it is started again? */
  hasLastingProfile: boolean
  debianPackages: string[]
  /** Environment variable with the path of your own browser. */
  variable?: string
  /** With this argument it prints something and ends. If it does, it can be started. */
  probe: '--version' | '--help'
  /** Path of the program that the tests start. Undefined: it, or what it needs, is missing. */
  find(): string | undefined
}

const DARWIN_CHROME = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'

export const ENGINES: Engine[] = [
  {
    name: 'chromium',
    title: 'Chromium',
    isRequired: true,
    hasLastingProfile: true,
    debianPackages: ['chromium', 'fonts-dejavu-core'],
    variable: 'CHROME_PATH',
    probe: '--version',
    find: () =>
      process.env.CHROME_PATH ||
      onPath('chromium', 'google-chrome', 'google-chrome-stable', 'chromium-browser') ||
      [DARWIN_CHROME, chromium.executablePath()].find((path) => existsSync(path)),
  },
  {
    name: 'firefox',
    title: 'Firefox',
    isRequired: false,
    hasLastingProfile: true,
    debianPackages: ['firefox-esr'],
    variable: 'FIREFOX_PATH',
    probe: '--version',
    find: () => process.env.FIREFOX_PATH || onPath('firefox-esr', 'firefox'),
  },
  {
    name: 'webkit',
    title: 'WebKitGTK',
    isRequired: false,
    hasLastingProfile: false,
    debianPackages: ['webkit2gtk-driver', 'xvfb'],
    probe: '--help',
    find: () => (onPath('Xvfb') && miniBrowser() ? onPath('WebKitWebDriver') : undefined),
  },
]

/** `TEST_ENGINES=firefox,webkit` names the engines to use. */
const named = process.env.TEST_ENGINES?.split(',')

/** Chromium always; without it the tests fail. The others where they are installed. */
export const installedEngines = (): Engine[] =>
  ENGINES.filter(
    (engine) => (named?.includes(engine.name) ?? true) && (engine.isRequired || engine.find()),
  )

/** What tests run in: Chromium, and with `CI=true` every engine that is installed. */
export const testedEngines = (): Engine[] =>
  installedEngines().filter((engine) => isFull || named || engine.isRequired)

/** @throws Error when the engine is not there */
export function enginePath(name: EngineName): string {
  const engine = ENGINES.find((each) => each.name === name)!
  const path = engine.find()
  if (!path)
    throw new Error(
      `${engine.title} was not found. \`npx tsx scripts/prepare-tests.ts\` gets it or says how.`,
    )
  return path
}

function onPath(...names: string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

/** WebKitGTK's own small browser is in no folder of PATH. */
export function miniBrowser(): string | undefined {
  if (!existsSync('/usr/lib')) return undefined
  const folders = ['/usr/lib', ...readdirSync('/usr/lib').map((name) => join('/usr/lib', name))]
  return folders.map((folder) => join(folder, 'webkit2gtk-4.1/MiniBrowser')).find(isExecutable)
}
