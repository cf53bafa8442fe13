/**
 * What a page asks for when it is short, and what it gives up when it is asked to spare numbers.
 */
import { expect, onTestFinished, test, vi } from 'vitest'
import { Allocator } from '../../src/client/allocator.js'
import type { OwnerLink } from '../../src/client/owner-link.js'
import type { PageExit } from '../../src/client/page-exit.js'
import { pageWorld } from '../../src/client/page-world.js'
import type { Failure } from '../../src/core/errors.js'
import type { DeviceView, Target } from '../../src/device/contract.js'
import type { Exchange, Exchanged } from '../../src/device/state.js'
import { eventually } from '../support/eventually.js'
import { range } from '../support/ranges.js'
import { flush } from '../support/world.js'

const target: Target = { database: 'Shop', collection: 'orders', separator: '/', reserve: 32 }
const view: DeviceView = {
  free: 0,
  reserve: 32,
  surplus: 0,
  gaps: { crash: 0, giveBack: 0, fork: 0, drop: 0 },
  isClaiming: false,
  isReachable: true,
  order: 0,
  storage: 'best-effort',
}

/** An allocator whose exchanges wait for the test to answer them. */
function newAllocator(state: 'visible' | 'hidden' = 'visible') {
  const exchanges: {
    request: Exchange
    answer: (
      answer?: Partial<Exchanged> | { failure?: Failure; view: DeviceView },
      free?: number,
      surplus?: number,
    ) => Promise<void>
  }[] = []
  const call = (_: string, [, request]: [Target, Exchange]) =>
    new Promise((resolve) => {
      const answer = async (more = {}, free = 0, surplus = 0) => {
        resolve({
          view: { ...view, free, surplus },
          leases: [],
          offers: [],
          outstanding: [],
          ...more,
        })
        await flush()
      }
      exchanges.push({ request, answer })
    })
  const giveBack = vi.fn(async () => {})
  const leaveNotes = vi.fn()
  const allocator = new Allocator(target, {
    page: 'page',
    newExchange: () => `page:${exchanges.length}`,
    link: { call, retryNow() {} } as unknown as OwnerLink,
    pageExit: {
      readNotes: () => [],
      forgetNotes() {},
      openStore() {},
      leaveNotes,
      giveBack,
      sender: giveBack,
    } as unknown as PageExit,
    signal: new AbortController().signal,
    world: pageWorld,
    formatId: undefined,
    state: () => state,
    isOnline: () => true,
    changed() {},
    exhausted() {},
    dropped() {},
    otherLedger() {},
  })
  return { allocator, exchanges, giveBack, leaveNotes }
}

test('a page asked to spare ids parks what was on its way to it, and then answers', async () => {
  const { allocator, exchanges } = newAllocator()
  const caller = new AbortController()
  const refused = allocator.when(500, () => {}, { timeout: 10_000, signal: caller.signal })
  await flush()
  expect(exchanges[0]!.request.want).toBe(500)
  caller.abort()
  await expect(refused).rejects.toMatchObject({ code: 'aborted' })

  const spared = vi.fn()
  allocator.stock.parkExcess().then(spared)
  await exchanges[0]!.answer({ leases: [{ id: 'page:0.0', page: 'page', range: range(1, 500) }] })
  await exchanges[1]!.answer()
  expect(exchanges[2]?.request.cuts).toEqual([{ lease: 'page:0.0', to: 16 }])
  expect(spared).not.toHaveBeenCalled()
  await exchanges[2]!.answer()
  expect(spared).toHaveBeenCalled()
  expect(allocator.pageLeases.queue.held).toBe(16)
})

test('a hidden page leaves notes of a lease from which it never issued an id', async () => {
  const { allocator, exchanges, leaveNotes } = newAllocator()
  const caller = new AbortController()
  const waiting = { timeout: 10_000, signal: caller.signal }
  const refused = expect(allocator.when(20, () => {}, waiting)).rejects.toThrow()
  await flush()
  await exchanges[0]!.answer({ leases: [{ id: 'page:0.0', page: 'page', range: range(1, 16) }] })
  caller.abort()
  await refused
  allocator.stock.park()
  const note = expect.objectContaining({ lease: 'page:0.0', next: 1 })
  expect(leaveNotes).toHaveBeenCalledWith(target, expect.arrayContaining([note]))
})

test('a page that is released while it fetches asks its server for nothing more', async () => {
  const { allocator, exchanges } = newAllocator()
  const caller = new AbortController()
  const waiting = { timeout: Number.POSITIVE_INFINITY, signal: caller.signal }
  const refused = expect(allocator.when(20, () => {}, waiting)).rejects.toThrow()
  await flush()
  void allocator.stock.beginRelease()
  await exchanges[0]!.answer()
  await exchanges[1]!.answer()
  expect(exchanges.map(({ request }) => request.want)).toEqual([20, 0])
  caller.abort()
  await refused
})

const offer = { id: 'page:0.offer0', page: 'page', range: range(17, 32) }

test('a page that is short takes back its offers before it asks the server for more', async () => {
  const { allocator, exchanges } = newAllocator()
  allocator.when(20, () => {}, { timeout: 10_000 }).catch(() => {})
  await flush()
  await exchanges[0]!.answer({
    leases: [{ id: 'page:0.0', page: 'page', range: range(1, 16) }],
    offers: [offer],
  })
  expect(exchanges[1]?.request).toMatchObject({ want: 4, takeBack: ['page:0.offer0'] })
})

test('callers that wait: an owner that is silent for 90 seconds is asked', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout')
  onTestFinished(() => timers.mockRestore())
  const { allocator, exchanges } = newAllocator()
  const caller = new AbortController()
  const patient = { timeout: Number.POSITIVE_INFINITY, signal: caller.signal }
  const refused = expect(allocator.when(1, () => {}, patient)).rejects.toThrow()
  await flush()
  await exchanges[0]!.answer()
  const failure = { code: 'server-unreachable', message: '', isRepeated: true } as const
  await exchanges[1]!.answer({ failure } as object)
  expect(exchanges).toHaveLength(2)
  const [ask] = timers.mock.calls.findLast(([, ms]) => ms === 90_000)!
  ask()
  await flush()
  expect(exchanges).toHaveLength(3)
  caller.abort()
  await refused
})

test('callers that wait are not refused because the device was found to be a copy', async () => {
  const { allocator, exchanges } = newAllocator()
  const patient = { timeout: Number.POSITIVE_INFINITY }
  const taken = allocator.when(1, (self) => self.nextNumberSync(), patient)
  await flush()
  await exchanges[0]!.answer()
  const failure = { code: 'server-unreachable', message: '', isRepeated: true } as const
  await exchanges[1]!.answer({ failure, view: { ...view, failure } } as object)
  const notice = { code: 'forked', message: '' } as const
  allocator.stock.onChange({ ...allocator.pageLeases.view!, failure: undefined, notice } as never)
  await flush()
  await exchanges[2]!.answer({ leases: [{ id: 'page:2.0', page: 'page', range: range(1, 16) }] })
  expect(await taken).toBe(1)
})

test('a page that has just served a caller does not ask again for one missing id', async () => {
  const { allocator, exchanges } = newAllocator()
  const taken = allocator.when(1, (self) => self.nextNumberSync(), { timeout: 10_000 })
  await flush()
  await exchanges[0]!.answer({
    leases: [{ id: 'page:0.0', page: 'page', range: range(1, 16) }],
    offers: [offer],
  })
  expect(await taken).toBe(1)
  await flush()
  expect(exchanges).toHaveLength(1)
})

test('one id after another: each lease is as large as all before, and looks ahead', async () => {
  // As if no time passed: all ids are of the last second, however slow the machine.
  const now = vi.spyOn(performance, 'now').mockReturnValue(0)
  onTestFinished(() => now.mockRestore())
  const { allocator, exchanges } = newAllocator()
  const issued = (async () => {
    for (let i = 0; i < 500; i++)
      await allocator.when(1, (self) => self.nextNumberSync(), { timeout: 10_000 })
  })()
  const wants: number[] = []
  const ahead: (number | undefined)[] = []
  for (let from = 1; from <= 500; ) {
    await eventually(() => expect(exchanges.length).toBeGreaterThan(wants.length))
    const { request, answer } = exchanges[wants.length]!
    wants.push(request.want)
    ahead.push(request.ahead)
    await answer(
      {
        leases: [
          { id: `${request.id}.0`, page: 'page', range: range(from, from + request.want - 1) },
        ],
      },
      1_000,
    )
    from += request.want
  }
  await issued
  expect(wants).toEqual([16, 16, 32, 64, 128, 256])
  expect(ahead).toEqual([0, 48, 96, 192, 384, 768])
})

test('a hidden page gives surplus back at rest, not between two of its ids', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { allocator, exchanges, giveBack } = newAllocator('hidden')
  for (let i = 0; i < 3; i++) {
    allocator.when(1, (self) => self.nextNumberSync(), { timeout: 10_000 })
    await flush()
    const lease = { id: `page:${i}.0`, page: 'page', range: range(i + 1, i + 1) }
    await exchanges[i]!.answer({ leases: [lease] }, 100, 68)
  }
  await vi.advanceTimersByTimeAsync(1_000)
  expect(exchanges).toHaveLength(3)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(exchanges[3]?.request).toMatchObject({ want: 0, offer: true })
  const offer = { id: 'page:3.0', page: 'page', range: range(36, 103) }
  await exchanges[3]!.answer({ view: { ...view, serverTag: 'A' }, offers: [offer] })
  expect(giveBack).toHaveBeenCalledExactlyOnceWith(target, [range(36, 103)])
})

test('what callers that wait no more have left is parked, also during a claim', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { allocator, exchanges } = newAllocator('hidden')
  const aborting = new AbortController()
  const ids = allocator.when(14, () => {}, { timeout: 10_000, signal: aborting.signal })
  await flush()
  await exchanges[0]!.answer({ leases: [{ id: 'page:0.0', page: 'page', range: range(29, 32) }] })
  aborting.abort()
  await expect(ids).rejects.toMatchObject({ code: 'aborted' })
  expect(exchanges).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(exchanges[2]?.request.notes).toEqual([{ lease: 'page:0.0', next: 29 }])
  expect(allocator.pageLeases.queue.held).toBe(0)
})

test('what a hidden page looked ahead for is parked, also during a claim', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { allocator, exchanges } = newAllocator('hidden')
  const issue = (self: Allocator) => Array.from({ length: 40 }, () => self.nextNumberSync())
  const numbers = allocator.when(40, issue, { timeout: 10_000 })
  await flush()
  const leased = { id: 'page:0.0', page: 'page', range: range(1, 40) }
  await exchanges[0]!.answer({ leases: [leased] }, 12)
  expect(await numbers).toHaveLength(40)
  await exchanges[1]!.answer({ leases: [{ ...leased, id: 'page:1.0', range: range(41, 52) }] })
  expect(exchanges).toHaveLength(3)
  await vi.advanceTimersByTimeAsync(4_000)
  expect(exchanges[3]?.request.notes).toEqual([{ lease: 'page:1.0', next: 41 }])
  expect(allocator.pageLeases.queue.held).toBe(0)
})

test('what came late for a caller that then leaves is parked, also during a claim', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { allocator, exchanges } = newAllocator()
  const ids = allocator.when(40, () => {}, { timeout: 10_000 })
  const late = expect(ids).rejects.toMatchObject({ code: 'timeout' })
  await flush()
  await exchanges[0]!.answer()
  await vi.advanceTimersByTimeAsync(5_000)
  await exchanges[1]!.answer({ leases: [{ id: 'page:0.0', page: 'page', range: range(1, 32) }] })
  expect(exchanges).toHaveLength(3)
  await vi.advanceTimersByTimeAsync(5_000)
  await late
  await vi.advanceTimersByTimeAsync(1_000)
  expect(exchanges[3]?.request.cuts).toEqual([{ lease: 'page:0.0', to: 16 }])
})

test.each(['aborted', 'timeout'])(
  'who waits behind a caller that leaves (%s) is served at once, also during a claim',
  async (code) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { allocator, exchanges } = newAllocator()
    const aborting = new AbortController()
    const many = allocator.when(40, () => {}, { timeout: 1_000, signal: aborting.signal })
    const left = expect(many).rejects.toMatchObject({ code })
    const two = allocator.when(2, () => 'served', { timeout: Number.POSITIVE_INFINITY })
    await flush()
    await exchanges[0]!.answer({ leases: [{ id: 'page:0.0', page: 'page', range: range(1, 4) }] })
    expect(exchanges).toHaveLength(2)
    if (code === 'aborted') aborting.abort()
    else await vi.advanceTimersByTimeAsync(1_000)
    await left
    expect(await two).toBe('served')
    expect(exchanges).toHaveLength(2)
  },
)

test('a caller hears that a repetition was refused while its page parked', async () => {
  const { allocator, exchanges } = newAllocator()
  const ids = allocator.when(40, () => {}, { timeout: Number.POSITIVE_INFINITY })
  const refused = expect(ids).rejects.toMatchObject({ code: 'server-refused' })
  await flush()
  await exchanges[0]!.answer({ leases: [{ id: 'page:0.0', page: 'page', range: range(1, 32) }] })
  const failure: Failure = { code: 'server-unreachable', message: '', isRepeated: true }
  await exchanges[1]!.answer({ failure, view: { ...view, failure } })
  expect(exchanges[2]?.request.cuts).toEqual([{ lease: 'page:0.0', to: 16 }])
  const parked = { ...view, failure: { code: 'server-refused' as const, message: 'No.' } }
  allocator.stock.onChange(parked)
  await exchanges[2]!.answer({ view: parked })
  await refused
})

test('a page asks for one thing at a time, also while a call is refused', async () => {
  const { allocator, exchanges } = newAllocator()
  const waiting = { timeout: Number.POSITIVE_INFINITY }
  allocator.when(40, () => {}, waiting)
  await flush()
  await exchanges[0]!.answer({ leases: [{ id: 'page:0.0', page: 'page', range: range(1, 32) }] })
  const failure: Failure = { code: 'server-unreachable', message: '', isRepeated: true }
  await exchanges[1]!.answer({ failure, view: { ...view, failure } })
  expect(exchanges[2]?.request.cuts).toEqual([{ lease: 'page:0.0', to: 16 }])
  allocator.when(40, () => {}, waiting)
  await flush()
  expect(exchanges).toHaveLength(3)
  await exchanges[2]!.answer({}, 16)
  expect(exchanges[3]?.request.want).toBe(64)
})

test('a page asks nothing for a batch that was ended', async () => {
  const { allocator, exchanges } = newAllocator()
  const taking = allocator.take(2, { timeout: 10_000 })
  await flush()
  await exchanges[0]!.answer({ leases: [{ id: 'page:0.0', page: 'page', range: range(1, 2) }] })
  const batch = await taking
  batch.end()
  await exchanges[1]!.answer()
  allocator.pageLeases.observe(view)
  allocator.pageLeases.observe({ ...view, gaps: { ...view.gaps, fork: 2 } })
  const wanted = () => exchanges.map(({ request }) => request.want)
  await eventually(() => expect(wanted()).toEqual([2, 0, 0, 16]))
})
