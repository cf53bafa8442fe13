/** The mark by which the answer of a RavenDB to another claim is found. */
import { expect, test } from 'vitest'
import { mark } from '../../src/device/mark.js'

const seeds = Array.from({ length: 4096 }, (_, i) => `claim-${i}`)
const marks = (tag: string, count = 32) =>
  seeds.map((seed) => mark(tag, count, seed)).map(({ tag, count }) => `${tag} ${count}`)

test('one claim has one mark, and to a RavenDB its tag is the same', () => {
  expect(mark('orders', 32, 'a')).toEqual(mark('orders', 32, 'a'))
  for (const seed of seeds) expect(mark('Orders', 32, seed).tag.toLowerCase()).toBe('orders')
})

test.each([
  ['invoices', 2 ** 8],
  ['orders', 2 ** 6],
  ['ab', 2 ** 2 * 8],
  ['日本', 8],
])('%s has %i marks, and each is as likely as the others', (tag, different) => {
  const times = new Map<string, number>()
  for (const each of marks(tag)) times.set(each, (times.get(each) ?? 0) + 1)
  expect(times.size).toBe(different)
  const expected = seeds.length / different
  for (const seen of times.values()) expect(Math.abs(seen - expected)).toBeLessThan(expected)
})

test('only a tag of few letters asks for more than it needs, and for 7 more at most', () => {
  const counts = (tag: string, count: number) =>
    new Set(seeds.map((seed) => mark(tag, count, seed).count))
  expect(counts('orders', 100)).toEqual(new Set([100]))
  expect(Math.max(...counts('users', 100))).toBe(107)
  expect(Math.min(...counts('users', 1))).toBe(32)
})
