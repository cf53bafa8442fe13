/** What a region takes from its device for its ledger. */
import { expect, test } from 'vitest'
import type { Range } from '../../../../src/core/range.js'
import { exchange } from '../../../../src/device/device.js'
import { type DeviceState, type Exchange, emptyState } from '../../../../src/device/state.js'
import { range } from '../../../../test/support/ranges.js'
import { Supply, type SupplyContext } from '../../../src/addons/region/supply.js'
import type { UpstreamRange } from '../../../src/ledger/ledger.js'

const TARGET = { database: 'shop', collection: 'orders', separator: '/', reserve: 0 }
const AWAY = { view: {}, failure: { code: 'server-unreachable', message: 'no' } }

/** A supply over a device that does what the production code does, unless `fails` says no. */
function supplyOf(ranges: readonly Range[]) {
  const device = {
    state: { ...emptyState(), ranges: [...ranges] } as DeviceState,
    /** How the next exchange fails: nothing happened, or only its answer is lost. */
    failure: undefined as 'refused' | 'lost' | undefined,
    sent: [] as Range[],
  }
  const owner = {
    async exchange(_: unknown, request: Exchange) {
      const { failure } = device
      device.failure = undefined
      if (failure === 'refused') return AWAY
      const { state, ...answer } = exchange(device.state, request, 0)
      device.state = state
      return failure === 'lost' ? AWAY : { ...answer, view: {} }
    },
    claim: async () => AWAY,
    reserve: async () => ({}),
  }
  const source = { giveBack: async (_: unknown, range: Range) => void device.sent.push(range) }
  const context = { owner, source, page: 'region' } as unknown as SupplyContext
  return { device, supply: new Supply(context, TARGET, ['root', 'shop', 'orders/']) }
}

const sizeOf = (ranges: readonly UpstreamRange[]): number =>
  ranges.reduce((sum, { low, high }) => sum + high - low + 1, 0)

test('a region gets every number of its device, into however many ranges they fall', async () => {
  const ranges = Array.from({ length: 900 }, (_, i) => range(10 * i + 1, 10 * i + 5))
  const { device, supply } = supplyOf(ranges)
  expect(sizeOf(await supply.take(4_500, 0))).toBe(4_500)
  expect(device.state.gaps.crash).toBe(0)
})

test.each(['refused', 'lost'] as const)('an exchange that was %s costs no number', async (how) => {
  const { device, supply } = supplyOf([range(1, 30)])
  expect(await supply.take(10, 0)).toMatchObject([{ low: 1, high: 10 }])
  device.failure = how
  await expect(supply.take(10, 0)).rejects.toThrow(/No numbers of 'orders' are left here/)
  expect(sizeOf(await supply.take(20, 0))).toBe(20)
  await supply.close()
  expect(device.state).toMatchObject({ issued: 30, ranges: [], leases: [] })
  expect(device.sent).toEqual([])
})

test('a region that closes sends its surplus back, the highest first', async () => {
  const token = { token: 'a' }
  const { device, supply } = supplyOf([range(1, 20, token), range(31, 40, token)])
  await supply.take(5, 0)
  await supply.close()
  expect(device.sent).toMatchObject([
    { from: 31, to: 40 },
    { from: 6, to: 20 },
  ])
  expect(device.state).toMatchObject({ issued: 5, ranges: [], leases: [] })
  expect(device.state.offers.map(({ isSent }) => isSent)).toEqual([true, true])
})
