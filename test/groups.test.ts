/** Packages that are installed when something needs them, and only then. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { ensure, FIREFOX, POSTGRES, withGroups } from './support/groups.js'
import { isFull } from './support/sizes.js'

const said = () => vi.mocked(console.log).mock.calls.map(([line]) => line)
beforeEach(() => void vi.spyOn(console, 'log').mockReset())

/** A group of one package, which npm installs without a registry. */
function newGroup() {
  const folder = mkdtempSync(join(tmpdir(), 'hilo-group-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const dependencies = { part: 'file:part' }
  const link = { resolved: 'part', link: true }
  const packages = { '': { dependencies }, part: {}, 'node_modules/part': link }
  mkdirSync(join(folder, 'part'))
  writeFileSync(join(folder, 'part/package.json'), '{}')
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'group', description: 'a part (0 MB)', dependencies }),
  )
  const lock = (version: string, isWhole = true) =>
    writeFileSync(
      join(folder, 'package-lock.json'),
      JSON.stringify({ version, lockfileVersion: 3, packages: isWhole ? packages : {} }),
    )
  return { folder, lock }
}

test('a group is installed once, with a line that says what it is, and anew by a new lock', () => {
  const { folder, lock } = newGroup()
  lock('1.0.0')
  ensure(folder)
  ensure(folder)
  expect(said()).toEqual([`Installing a part (0 MB) into ${folder}/node_modules.`])
  expect(existsSync(join(folder, 'node_modules/part'))).toBe(true)
  lock('1.0.1')
  ensure(folder)
  expect(said()).toHaveLength(2)
})

test('a group that npm could not install counts as missing', () => {
  const { folder, lock } = newGroup()
  lock('1.0.0', false)
  expect(() => ensure(folder)).toThrow(/npm ci/)
  expect(() => ensure(folder)).toThrow(/npm ci/)
})

const RAVEN = 'server/test/ravendb.test.ts'
const CORE = 'test/core/utf8.test.ts'
const inFirefox = isFull ? [FIREFOX] : []

test.each([
  [CORE, []],
  ['server/test/hilo-routes.test.ts', []],
  ['server/test/crash.test.ts', [POSTGRES]],
  [RAVEN, ['server/test', POSTGRES]],
  ['server/test/addons/durable-object/worker.test.ts', ['server/test/addons/durable-object']],
  ['test/browser/ids.test.ts', inFirefox],
  ['test/browser/examples.test.ts', ['examples', ...inFirefox]],
  ['test/docs/phone.test.ts', ['examples']],
])('%s needs %j', (file, groups) => {
  const installed: string[] = []
  withGroups([file], inFull, (group) => void installed.push(group))
  expect(installed.sort()).toEqual(groups)
})

test('a test whose packages cannot be installed is left out with a word', () => {
  const offline = (group: string) => {
    if (group === 'server/test') throw new Error('no registry answers')
  }
  expect(withGroups([CORE, RAVEN], inFull, offline)).toEqual([CORE])
  expect(said()).toEqual([
    'Left out: 1 file of tests, because npm could not install server/test. ' +
      '`npm ci` in that folder says why.',
  ])
})

const inFull = (file: string) => [resolve(file)]
