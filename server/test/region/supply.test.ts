/** What a region takes from its device for its ledger. */
import { expect, test } from 'vitest'
import { exchange } from '../../../src/core/device.js'
import { type Exchange, emptyState } from '../../../src/core/state.js'
import { range } from '../../../test/support/ranges.js'
import { Supply, type SupplyContext } from '../../src/region/supply.js'

test('a region gets every number of its device, into however many ranges they fall', async () => {
  const ranges = Array.from({ length: 900 }, (_, i) => range(10 * i + 1, 10 * i + 5))
  let device = { ...emptyState(), ranges }
  const owner = {
    async exchange(_: unknown, request: Exchange) {
      const { state, ...answer } = exchange(device, request, 0)
      device = { ...device, ...state }
      return { ...answer, view: {} }
    },
    claim: async () => ({ view: {}, failure: { code: 'server-unreachable', message: 'no' } }),
  }
  const context = { owner, page: 'region' } as unknown as SupplyContext
  const target = { database: 'shop', collection: 'orders', separator: '/', reserve: 0 }
  const supply = new Supply(context, target, ['root', 'shop', 'orders/'])
  const taken = await supply.take(4_500, 0)
  expect(taken.reduce((sum, { low, high }) => sum + high - low + 1, 0)).toBe(4_500)
  expect(device.gaps.crash).toBe(0)
})
