/** When the link that was made for a number is taken for it. */
import { expect, test } from 'vitest'
import { chain } from '../../../src/addons/consecutive/chain.js'
import { numberWith } from '../../../src/addons/consecutive/links.js'
import type { Link, NumberRow } from '../../../src/device/series-store.js'

const of = { kind: 'number', content: 1, rule: 'r', text: 'x', time: '2027-01-01T09:00:00Z' }
const before: Link = { ...of, chain: 'B', series: 'B', at: 1, previous: '', hash: 'h1' }
const number = { id: 'B-2027-2', number: 2, period: '2027' }
const link: Link = { ...of, ...number, chain: 'B', series: 'B', at: 2, previous: 'h1', hash: 'h2' }
const row: NumberRow = {
  ...{ ...number, letter: 'B', place: 2, key: 'a', state: 'open', open: 1 },
  takenAt: '2027-01-01T09:00:00.000Z',
}
const links = chain({ text: () => 'x' })
const sealed = { links, kind: 'number', content: 1, collection: 'receipts', timeZone: 'UTC' }
const taken = (made: Link) => numberWith(made, row, sealed, before, undefined)

test('the one that follows is', () => {
  expect(taken(link)).toMatchObject({ row: { link: { at: 2, hash: 'h2' } } })
})

test.each<[keyof Link, string | number]>([
  ['chain', 'C'],
  ['at', 3],
  ['previous', 'h0'],
  ['series', 'C'],
  ['number', 3],
  ['period', '2026'],
])('one with another %s is not', (field, other) => {
  expect(taken({ ...link, [field]: other })).toHaveProperty('draft')
})
