/** How many more names a ledger takes. */
import { expect, test } from 'vitest'
import { UNLIMITED, withinQuota } from '../../src/ledger/row-store.js'

const key = (database: string, collection: string) => ({ database, collection })
const USAGE = { perDatabase: new Map([['shop', 2]]), databases: 1 }

test('new names count against the limits in their order', () => {
  const keys = [
    key('shop', 'a'),
    key('shop', 'b'),
    key('other', 'a'),
    key('other', 'b'),
    key('third', 'a'),
  ]
  expect(withinQuota(keys, USAGE, { collections: 3, databases: 2 })).toEqual([
    key('shop', 'a'),
    key('other', 'a'),
    key('other', 'b'),
  ])
  expect(withinQuota(keys, USAGE, UNLIMITED)).toEqual(keys)
})
