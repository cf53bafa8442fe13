/**
 * What `npm run mutate` takes out is where it is said to be, so that a guard which is moved or
 * renamed goes on being proven.
 */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { GUARDS } from '../scripts/guards.js'

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

describe('each guard', () => {
  test.each(GUARDS.map((guard) => [`${guard.hazard} ${guard.name}`, guard] as const))(
    '%s',
    (_, { file, from, to, test }) => {
      expect(read(file).split(from)).toHaveLength(2)
      expect(to).not.toBe(from)
      expect(existsSync(new URL(`../${test}`, import.meta.url))).toBe(true)
    },
  )
})

const PAGE = read('docs/why-it-cannot-duplicate.md')
const rows = [...PAGE.matchAll(/^\| (H\d+) \|.*\|(.*)\|$/gm)].map(([, hazard, heldUpBy]) => ({
  hazard: hazard!,
  heldUpBy: heldUpBy!,
}))

test('every hazard of docs/why-it-cannot-duplicate.md has a guard, and every guard a hazard', () => {
  const hazards = new Set(rows.map(({ hazard }) => hazard))
  const numbers = [...hazards].map((hazard) => Number(hazard.slice(1))).sort((a, b) => a - b)
  expect(numbers.length).toBeGreaterThanOrEqual(23)
  expect(numbers).toEqual(numbers.map((_, i) => i + 1))
  expect(new Set(GUARDS.map(({ hazard }) => hazard))).toEqual(hazards)
})

test('the tests that docs/why-it-cannot-duplicate.md names exist under those names', () => {
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
