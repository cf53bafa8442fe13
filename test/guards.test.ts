/**
 * What `npm run mutate` takes out is marked in the sources, so that a guard which is moved or
 * renamed goes on being proven.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { GUARDS, hazardOf } from '../scripts/guards.js'
import { loadedFiles } from '../scripts/loaded-files.js'
import { guardedCode, markedIn, replaceMarked } from '../scripts/markers.js'
import { typeErrors } from '../scripts/type-errors.js'

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const code = guardedCode(ROOT)

test.each(GUARDS.map((guard) => [guard.name, guard] as const))(
  '%s can be taken out',
  (_, guard) => {
    const { source, start, end } = code.find(({ name }) => name === guard.name)!
    expect(guard.takeOut(source.slice(start, end))).not.toBe(source.slice(start, end))
    expect(existsSync(new URL(`../${guard.test}`, import.meta.url))).toBe(true)
  },
)

test('what stands for each guard compiles', () => {
  const marked = (name: string) => code.find((each) => each.name === name)!
  const versions = GUARDS.map(({ name, takeOut }) => ({
    file: marked(name).file,
    source: replaceMarked(marked(name).source, marked(name), takeOut),
  }))
  const errors = typeErrors(ROOT, versions).flatMap((each, i) =>
    each.map((error) => `${GUARDS[i]!.name}: ${error}`),
  )
  expect(errors).toEqual([])
}, 300_000)

test('every guard that is marked in the sources is listed once', () => {
  const names = GUARDS.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)])
  expect(code.map(({ name }) => name).sort()).toEqual(names.sort())
})

test.each([
  ['a statement', '// guard: H0 x\nif (a) b()\nelse c()\nd()', 'if (a) b()\nelse c()'],
  ['a property', 'f({\n  // guard: H0 x\n  a: 1 + 2,\n  b,\n})', 'a: 1 + 2'],
  ['an expression', 'if (a && /* guard: H0 x */ b.c) d()', 'b.c'],
  ['code after more comments', '// guard: H0 x\n/* why */\n// it is\nreturned = a', 'returned = a'],
  ['code after letters of two units', "f('🦊')\n// guard: H0 x\ng()", 'g()'],
])('a marker marks %s', (_, source, code) => {
  const [marked] = markedIn('x.ts', source)
  expect(marked!.name).toBe('H0 x')
  expect(source.slice(marked!.start, marked!.end)).toBe(code)
})

test('a marker with nothing after it is an error', () => {
  expect(() => markedIn('x.ts', 'f({\n  a,\n  // guard: H0 x\n})')).toThrow("'guard: H0 x'")
})

test('the explorer is asked about the guards in the files that it loads', () => {
  const files = loadedFiles(ROOT, 'scripts/model.ts')
  expect(files).toContain('src/device/device.ts')
  expect(files).toContain('server/src/ledger/claim.ts')
  expect(files).toContain('src/client/stock.ts')
  expect(files).not.toContain('src/client/instance.ts')
})

test('a run for a name that no guard has says so, and ends', async () => {
  const args = ['--import', 'tsx', 'scripts/mutate.ts', '--only', 'no such guard']
  await expect(promisify(execFile)(process.execPath, args, { cwd: ROOT })).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: "Nothing has 'no such guard' in its name. scripts/guards.ts lists the guards.\n",
  })
})

const PAGE = read('docs/internals/why-it-cannot-duplicate.md')
const rows = [...PAGE.matchAll(/^\| (H\d+) \|.*\|(.*)\|$/gm)].map(([, hazard, heldUpBy]) => ({
  hazard: hazard!,
  heldUpBy: heldUpBy!,
}))

test('each hazard of the page has a guard, and the reverse', () => {
  const hazards = new Set(rows.map(({ hazard }) => hazard))
  expect(hazards.size).toBeGreaterThanOrEqual(23)
  expect(new Set(GUARDS.map(hazardOf))).toEqual(hazards)
})

test('the tests that the page names exist under those names', () => {
  for (const { heldUpBy } of rows) {
    const files = [...heldUpBy.matchAll(/`([\w/-]+)`([^`]*)/g)]
    expect(files.length).toBeGreaterThan(0)
    for (const [, path, names] of files) {
      // `server/fuzz` is a test of the second package, which has a folder of its own.
      const place = path!.startsWith('server/') ? path!.replace('/', '/test/') : `test/${path}`
      // `store/testing` is published, so that it can test an app's own store.
      const file = [`${place}.test.ts`, `${place}.ts`, `src/${path}.ts`].find((each) =>
        existsSync(new URL(`../${each}`, import.meta.url)),
      )
      expect(file, path).toBeDefined()
      // A long name is written in several pieces: 'one ' + 'two'.
      const text = read(file!).replaceAll(/' \+\s*'/g, '')
      for (const [, name] of names!.matchAll(/“([^”]*?)…?”/g)) expect(text).toContain(name)
    }
  }
})
