/** What no tool checks: how wide a line is, and what files of tests may do. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ISOLATED } from './support/isolated.js'

const git = (...args: string[]): string[] =>
  execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean)
/** Tests that have this in their text. */
const testsWith = (pattern: string): string[] =>
  git('grep', '-lE', pattern, '--', 'test', 'server/test', 'examples')

/** Nobody wraps the lines of other files by hand: Markdown has tables, and JSON is written. */
const WRITTEN = ['ts', 'tsx', 'js', 'mjs', 'css', 'html', 'sh', 'yml', 'java', 'php', 'py']

test('no line of source is wider than 100 columns', () => {
  const files = git('ls-files', '--', ...WRITTEN.map((ending) => `*.${ending}`))
  expect(files.length).toBeGreaterThan(400)
  const wide = files.flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .flatMap((line, i) => ([...line].length > 100 ? [`${path}:${i + 1}: ${line}`] : [])),
  )
  expect(wide).toEqual([])
})

test('nothing that a test has left lies at the top of the repository', () => {
  const folders = /^(\.ci|\.github|bench|demo|docs|examples|scripts|server|src|test)\//
  const file = /^(\.gitignore|\.npmrc|LICENSE|[\w.-]+\.(html|json|md|ts|txt))$/
  const files = git('ls-files')
  expect(files.filter((path) => !folders.test(path) && !file.test(path))).toEqual([])
})

test('who copies a command of the server into a shell finds the program', () => {
  const commands =
    'adopt|backup|check|drop|explain|follow|init|raise-floor|renew-secret|series|status'
  // A message may go on in the next line: the text of both is one.
  const bare = new RegExp(`(?<!npx )offline-hilo-server (${commands})\\b`, 'g')
  const texts = ['README.md', 'CHANGELOG.md', 'docs/*.md', 'docs/llms.txt', 'server/README.md']
  const messages = ['src/*.ts', 'server/src/*.ts', ':!src/addons/consecutive']
  const files = git('ls-files', '--', ...texts, ...messages)
  expect(files.length).toBeGreaterThan(200)
  const found = files.flatMap((path) => {
    const text = readFileSync(path, 'utf8').replace(/['`"] \+\n\s*['`"]/g, '')
    const isInstalled = text.includes('npm install --global offline-hilo-server')
    return isInstalled ? [] : (text.match(bare) ?? []).map((command) => `${path}: ${command}`)
  })
  expect(found).toEqual([])
})

test('each file that replaces or resets modules has a process of its own', () => {
  const files = testsWith('vi\\.(mock|doMock|resetModules)\\(')
  expect(files).toContain('test/worker/two-owners.test.ts')
  const isIsolated = (file: string) =>
    ISOLATED.some((entry) => file.startsWith(entry.replace('*.test.ts', '')))
  expect(files.filter((file) => !isIsolated(file))).toEqual([])
})

test('no test waits with the short limit that Vitest has by itself', () => {
  const files = testsWith('vi\\.wait(For|Until)\\(')
  expect(files.sort()).toEqual(['test/support/eventually.ts', 'test/support/run-program.ts'])
})
