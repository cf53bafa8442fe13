/** A measured figure names its commit, and a size in prose is the budget that is enforced. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readFigures } from '../../bench/written.js'
import { ENTRIES, kB } from '../../scripts/budgets.js'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

test.each(readFigures())('the figures of $name are of one run', ({ text, stamps }) => {
  expect(stamps).toBe(text === 'Not measured.\n' ? 0 : 1)
})

test.each([
  ['README.md', 'page', /adds about (\d+) kB/],
  ['README.md', 'worker', /a worker of (\d+) kB/],
  ['docs/inspector.md', 'inspector', /It has (\d+) kB/],
])('%s says how large the %s may be', (path, entry, said) => {
  const { budget } = ENTRIES.find(({ name }) => name === entry)!
  expect(Number(said.exec(read(path))![1])).toBe(Math.round(budget! / kB))
})
