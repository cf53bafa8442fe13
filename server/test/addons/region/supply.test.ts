/** What a region takes from its device for its ledger. */
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { HiloError } from '../../../../src/core/errors.js'
import type { Range } from '../../../../src/core/range.js'
import type { CheckInAnswer, CheckInRequest } from '../../../../src/core/wire.js'
import { exchange } from '../../../../src/device/device.js'
import type { Change, StoreKey } from '../../../../src/device/device-store.js'
import { type DeviceState, type Exchange, emptyState } from '../../../../src/device/state.js'
import { range } from '../../../../test/support/ranges.js'
import { Supply, type SupplyContext } from '../../../src/addons/region/supply.js'
import type { UpstreamRange } from '../../../src/ledger/ledger.js'

const TARGET = { database: 'shop', collection: 'orders', separator: '/', reserve: 0 }
const KEY: StoreKey = ['root', 'shop', 'orders/']
const AWAY = { view: {}, failure: { code: 'server-unreachable', message: 'no' } }

/**
 * A supply over a device that does what the production code does, unless `failure` says no. Each
 * step of it takes a while.
 * @param checkIn of the root
 */
function supplyOf(ranges: readonly Range[], checkIn?: (request: CheckInRequest) => CheckInAnswer) {
  const device = {
    state: { ...emptyState(), ranges: [...ranges] } as DeviceState,
    /** How the next exchange fails: nothing happened, or only its answer is lost. */
    failure: undefined as 'refused' | 'lost' | undefined,
    sent: [] as Range[],
    /** What each exchange finds stored. */
    found: [] as DeviceState[],
  }
  const owner = {
    async exchange(_: unknown, request: Exchange) {
      device.found.push(device.state)
      await turn()
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
  const source = {
    async giveBack(_: unknown, range: Range) {
      expect(device.state.offers.map(({ isSent }) => isSent)).not.toContain(undefined)
      device.sent.push(range)
    },
    ...(checkIn && { checkIn: async (_: unknown, request: CheckInRequest) => checkIn(request) }),
  }
  const devices = {
    read: vi.fn(async () => ({ stored: device.state as unknown, notes: [] })),
    async update<T>(_: unknown, change: (stored: unknown, notes: never[]) => Change<T>) {
      await turn()
      const { state, result } = change(device.state, [])
      device.state = state!
      return result
    },
  }
  const [answers, copied] = [{} as Record<string, string>, vi.fn(async () => turn())]
  let ids = 0
  const newId = () => `c${++ids}`
  const ledgers = async () => undefined
  const context = { owner, source, devices, answers, copied, ledgers, newId, page: 'region' }
  const supply = new Supply(context as unknown as SupplyContext, TARGET, KEY)
  return { device, devices, answers, copied, supply }
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

test('claims that got nothing while the root was away take no more once it answers', async () => {
  const { device, supply } = supplyOf([])
  for (let i = 0; i < 60; i++) await expect(supply.take(1, 0)).rejects.toThrow('No numbers')
  device.state = { ...device.state, ranges: [range(1, 100_000)] }
  expect(sizeOf(await supply.take(1, 0))).toBe(1)
  expect(sizeOf(await supply.take(1, 0))).toBe(2)
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

test('a floor is stored before numbers are taken above it', async () => {
  const { device, supply } = supplyOf([range(37, 68)], () => ({ grants: [] }))
  await supply.take(1, 36)
  expect(device.found[0]!.issued).toBe(36)
})

describe('a start', () => {
  const held = range(1, 32, { token: 't1' })
  const OWN = JSON.stringify(KEY)

  test('that failed is tried again ten seconds later, and not before', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    onTestFinished(() => now.mockRestore())
    const { devices, supply } = supplyOf([])
    devices.read.mockRejectedValueOnce(new Error('locked'))
    await expect(supply.ready()).rejects.toThrow('locked')
    now.mockReturnValue(10_000)
    await expect(supply.ready()).rejects.toThrow('locked')
    now.mockReturnValue(10_001)
    await supply.ready()
    now.mockReturnValue(30_000)
    await supply.ready()
    expect(devices.read).toHaveBeenCalledTimes(2)
  })

  test('is answered under its own check-in, after that of an earlier process', async () => {
    const asked: string[] = []
    const { device, answers, copied, supply } = supplyOf([held], ({ id, grants }) => {
      asked.push(id)
      return { grants: grants.map(() => ({ token: `t${asked.length + 1}`, high: 32 })) }
    })
    device.state = { ...device.state, checkIn: { id: 'before', grants: [], spent: ['t0'] } }
    await supply.ready()
    expect([asked, answers]).toEqual([['before', 'c2'], { [OWN]: 'c2' }])
    expect(copied).not.toHaveBeenCalled()
  })

  test('of which the earlier check-in has left nothing is answered under none', async () => {
    const { device, answers, copied, supply } = supplyOf([held], () => ({
      grants: [{ superseded: true }],
    }))
    const grants = [{ token: 't1', next: 1 }]
    device.state = { ...device.state, checkIn: { id: 'before', grants } }
    await supply.ready()
    expect(answers).toEqual({})
    expect(copied).toHaveBeenCalledExactlyOnceWith(TARGET)
    expect(copied.mock.settledResults).toMatchObject([{ type: 'fulfilled' }])
  })

  test('at another root has stored that before it fails', async () => {
    const ledger = { name: 'second', tag: 'A' }
    const { device, supply } = supplyOf([held], () => {
      throw new HiloError('server-refused', 'No.', { status: 409, ledger })
    })
    device.state = { ...device.state, ledgers: { A: 'first' } }
    await expect(supply.ready()).rejects.toThrow('No.')
    expect(device.state.stopped).toMatchObject({ of: 'first', by: 'second' })
  })
})
