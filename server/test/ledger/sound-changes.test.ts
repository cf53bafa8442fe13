/** Which changes a store does not save, whatever rule made them. */
import { expect, onTestFinished, test } from 'vitest'
import { type RowChanges, UNLIMITED } from '../../src/ledger/row-store.js'
import { requireSound } from '../../src/ledger/sound-changes.js'
import { openSqliteStore } from '../../src/sqlite/sqlite-store.js'
import { newFolder } from '../folders.js'
import { collectionOf, grantId, grantOf, ORDERS, rowsOf } from './steps.js'

const row = collectionOf({
  max: 64,
  highWater: 64,
  floor: 8,
  free: [[17, 20]],
  forgotten: 4,
  serial: 2,
  version: 3,
})
const grant = grantOf({ low: 33, high: 48, firstHigh: 64, issued: 40, tokenVersion: 2, serial: 2 })
const identity = { database: 'shop', name: 'bills|', value: 7, highWater: 9, droppedAt: null }
const rows = rowsOf({ collections: [row], grants: [grant], identities: [identity] })
const next = grantOf({ id: grantId(1), low: 65, high: 96, serial: 3 })
/** Of the free numbers. */
const again = { ...next, low: 17, high: 20, clearTo: 20 }
const grown = { ...row, max: 96, highWater: 96, serial: 3, version: 4 }

test.each<[string, RowChanges]>([
  ['highWater would go down', { collections: [{ ...row, highWater: 63 }] }],
  ['floor would go down', { collections: [{ ...row, floor: 7 }] }],
  ['forgotten would go down', { collections: [{ ...row, forgotten: 3 }] }],
  ['serial would go down', { collections: [{ ...row, serial: 1 }] }],
  ['version would go down', { collections: [{ ...row, version: 2 }] }],
  ['highWater would go down', { identities: [{ ...identity, highWater: 8 }] }],
  ['issued would go down', { grants: [{ ...grant, issued: 39 }] }],
  ['tokenVersion would go down', { grants: [{ ...grant, tokenVersion: 1 }] }],
  ['would grow', { grants: [{ ...grant, high: 49 }] }],
  ['beyond its counter', { newGrants: [next] }],
  ['beyond its counter', { newGrants: [next], collections: [{ ...grown, max: 95 }] }],
  ['beyond its counter', { newGrants: [next], collections: [{ ...grown, serial: 2 }] }],
  ['that a grant holds', { newGrants: [next], collections: [{ ...grown, free: [[60, 65]] }] }],
  [
    'that a grant holds',
    { newGrants: [next], collections: [{ ...grown, fresh: [[96, 99, 'A']] }] },
  ],
  ['that a grant holds', { newGrants: [again], collections: [{ ...row, serial: 3 }] }],
  ['that a grant holds', { grants: [grant], collections: [{ ...row, free: [[48, 50]] }] }],
])('is a failure: %s', (message, changes) => {
  expect(() => requireSound(rows, changes)).toThrow(message)
})

test.each<[string, RowChanges]>([
  [
    'a grant, between numbers that are free',
    {
      newGrants: [next],
      collections: [
        {
          ...grown,
          free: [[50, 64]],
          fresh: [
            [97, 99],
            [65, 96, 'B'],
          ],
        },
      ],
    },
  ],
  [
    'a grant of which all came back',
    {
      grants: [{ ...grant, high: 32, low: 33, issued: 40 }],
      collections: [{ ...row, free: [[33, 48]] }],
    },
  ],
  [
    'a grant of numbers that somebody has made free behind its back',
    { newGrants: [{ ...again, clearTo: undefined }], collections: [{ ...row, serial: 3 }] },
  ],
  ['what is the same', { collections: [row], grants: [grant], identities: [identity] }],
  ['a first row', { collections: [collectionOf({ collection: 'lines' })] }],
])('is none: %s', (_, changes) => {
  expect(() => requireSound(rows, changes)).not.toThrow()
})

test('a store saves nothing of such a change', async () => {
  const store = openSqliteStore(newFolder(), new Map(), { create: true })
  onTestFinished(() => store.close())
  const change = (changes: RowChanges) =>
    store.change({
      select: { collections: [ORDERS], quota: UNLIMITED },
      step: () => ({ answer: undefined, changes }),
    })
  await change({ collections: [row] })
  await expect(change({ collections: [{ ...row, max: 9, highWater: 9 }] })).rejects.toThrow(
    'highWater would go down. Nothing was saved.',
  )
  expect(await store.readCollections([ORDERS])).toMatchObject([{ max: 64, highWater: 64 }])
})
