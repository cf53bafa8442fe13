/**
 * Packages that `npm install` leaves out, because only some tests and checks need them. A group is
 * a folder with a package.json and a lock file of its own: its files find the packages there.
 */
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { run } from './peers.js'
import { isFull } from './sizes.js'

const ROOT = join(import.meta.dirname, '../..')

/** What `npm run check` runs. */
export const TOOLS = 'scripts/tools'
export const POSTGRES = 'server/test/postgres'
/** Firefox's driver; Chromium and WebKitGTK do without it. */
export const FIREFOX = 'test/browser'

/** Their folders. */
export const GROUPS = [
  'examples',
  'server/test',
  'server/test/addons/durable-object',
  POSTGRES,
  FIREFOX,
  TOOLS,
]

const inGroup = (group: string, ...path: string[]) => resolve(ROOT, group, ...path)
/** With the tools, as npm has it with what `npm install` brings. */
export const TOOLS_PATH = [
  inGroup('', 'node_modules/.bin'),
  inGroup(TOOLS, 'node_modules/.bin'),
  process.env.PATH,
].join(delimiter)

/** The lock file of what is installed. It is written last. */
const installedOf = (group: string) => inGroup(group, 'node_modules/.installed-lock.json')

/** Installs the packages unless they are there. @throws Error with what npm said */
export function ensure(group: string): void {
  const lock = inGroup(group, 'package-lock.json')
  const installed = installedOf(group)
  if (existsSync(installed) && readFileSync(installed).equals(readFileSync(lock))) return
  const { description } = JSON.parse(readFileSync(inGroup(group, 'package.json'), 'utf8'))
  console.log(`Installing ${description} into ${group}/node_modules.`)
  const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  // Without a network, npm itself would wait more than a minute.
  run('npm', ['ci', ...flags, '--fetch-retry-mintimeout=1000'], inGroup(group))
  copyFileSync(lock, installed)
}

/**
 * Installs what files of tests need, and says what is left out because npm could not.
 * @param filesOf the files that a test begins with
 * @returns the tests that can run
 */
export function withGroups<Test>(
  tests: readonly Test[],
  filesOf: (test: Test) => readonly string[],
  install = ensure,
): Test[] {
  const needs = tests.map((test) => ({ test, groups: neededBy(filesOf(test)) }))
  const absent = [...new Set(needs.flatMap(({ groups }) => groups))].filter((group) => {
    try {
      install(group)
      return false
    } catch {
      return true
    }
  })
  const ready = needs.filter(({ groups }) => !groups.some((group) => absent.includes(group)))
  const left = tests.length - ready.length
  if (left > 0)
    console.log(
      `Left out: ${left} file${left === 1 ? '' : 's'} of tests, because npm could not install ` +
        `${absent.join(', ')}. \`npm ci\` in that folder says why.`,
    )
  return ready.map(({ test }) => test)
}

interface Mentions {
  files: string[]
  groups: string[]
}

const mentions = new Map<string, Mentions>()
const groupOf = new Map(
  GROUPS.filter(
    (group) => group !== FIREFOX || isFull || process.env.TEST_ENGINES?.includes('firefox'),
  )
    .map((group) => [group, JSON.parse(readFileSync(inGroup(group, 'package.json'), 'utf8'))])
    .flatMap(([group, { dependencies }]) =>
      Object.keys(dependencies).map((name) => [name, group] as const),
    ),
)

/** The groups that these files import from, themselves or by another file of ours. */
function neededBy(files: Iterable<string>): string[] {
  const seen = new Set(files)
  const groups = new Set<string>()
  for (const file of seen) {
    const found = mentionsIn(file)
    for (const each of found.files) seen.add(each)
    for (const each of found.groups) groups.add(each)
  }
  return [...groups]
}

function mentionsIn(file: string): Mentions {
  const known = mentions.get(file)
  if (known) return known
  const specifiers = [
    ...readFileSync(file, 'utf8').matchAll(/\b(?:from |(?:import|require|resolve)\()'([^']+)'/g),
  ].map(([, specifier]) => specifier!)
  const found = {
    files: specifiers.filter((each) => each.startsWith('.')).flatMap((each) => source(file, each)),
    groups: specifiers.flatMap((each) => groupOf.get(each) ?? []),
  }
  mentions.set(file, found)
  return found
}

/** The file that an import leads to; none where it is no source. */
function source(from: string, specifier: string): string[] {
  const path = resolve(dirname(from), specifier)
  const endings = ['.ts', '.tsx', '.js'].map((ending) => path.replace(/\.js$/, ending))
  return endings.filter((each) => /\.[jt]sx?$/.test(each) && existsSync(each)).slice(0, 1)
}
