/** Whose name a ledger tells to devices (H34). */
import { expect, test } from 'vitest'
import { type Authority, EVERY_COLLECTION } from '../../src/ledger/collections.js'
import { ownName } from '../../src/ledger/name.js'

const countedBy = (authority: Exclude<Authority, 'ledger'>) =>
  ownName(
    'k3m9x2dq7rwt5hza',
    new Map([[EVERY_COLLECTION, { database: '', collection: '', authority, description: '' }]]),
  )

test('a ledger tells its own name where a counter beside it counts every collection', () => {
  expect(countedBy('counter')).toBe('k3m9x2dq7rwt5hza')
  expect(countedBy('hook')).toBe('k3m9x2dq7rwt5hza')
})

test('a ledger whose numbers all come from another server tells no name of its own', () => {
  expect(countedBy('upstream')).toBeUndefined()
})
