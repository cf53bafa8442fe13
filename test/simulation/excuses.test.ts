/** What the checker excuses is what the documents allow. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LOST, TWICE } from './excuses.js'

const all = Object.entries({ ...TWICE, ...LOST })

test.each(all)('“%s” is allowed by a sentence of the documents', (_, { page, says }) => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
  expect(text.replace(/\s+/g, ' ')).toContain(says)
})

test('nothing is excused that nobody asks for', () => {
  const folder = new URL('.', import.meta.url)
  const sources = readdirSync(folder)
    .filter((file) => !file.startsWith('excuses') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(new URL(file, folder), 'utf8'))
  const isUsed = (name: string) =>
    sources.some((text) => text.includes(`'${name}'`) || text.includes(`"${name}"`))
  expect(all.map(([name]) => name).filter((name) => !isUsed(name))).toEqual([])
})
