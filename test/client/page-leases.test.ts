/** What a page holds and gives up: what it parked, sent or cancelled is never used again. */
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { OwnerLink } from '../../src/client/owner-link.js'
import type { PageExit } from '../../src/client/page-exit.js'
import { PageLeases } from '../../src/client/page-leases.js'
import { release } from '../../src/client/release.js'
import { statusOf } from '../../src/client/status.js'
import { fromFailure } from '../../src/core/errors.js'
import type { DeviceView, Target } from '../../src/device/contract.js'
import type { Exchange, Note } from '../../src/device/state.js'
import { range } from '../support/ranges.js'

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
  serverTag: 'A',
}
const lease = { id: 'page:0.0', page: 'page', range: range(1, 16) }
const offer = { id: 'page:0.offer0', page: 'page', range: range(40, 50) }

/** Requests that wait for their answers, and notes that were left. */
let requests: { request: Exchange; answer: (answer: object) => Promise<void> }[]
let left: Note[]
let isOnline: boolean
let pageLeases: PageLeases
let pageExit: PageExit
let releaseIt: () => Promise<void>
const giveBack = vi.fn(async () => {})

beforeEach(() => {
  requests = []
  left = []
  isOnline = true
  giveBack.mockClear()
  const call = (method: string, [, request]: [Target, Exchange]) =>
    new Promise((resolve) => {
      requests.push({
        request,
        answer: async (given) => {
          const answer = { view, leases: [], offers: [], outstanding: [], ...given }
          // A release is answered for each of its collections.
          resolve(method === 'release' ? [answer] : answer)
          for (let i = 0; i < 5; i++) await Promise.resolve()
        },
      })
    })
  let exchanges = 0
  const context = {
    page: 'page',
    newExchange: () => `page:${exchanges++}`,
    link: { call, retryNow() {} } as unknown as OwnerLink,
  }
  pageExit = {
    readNotes: () => [],
    forgetNotes() {},
    openStore() {},
    leaveNotes: (_: Target, notes: Note[]) => left.push(...notes),
    giveBack,
    sender: giveBack,
  } as unknown as PageExit
  pageLeases = new PageLeases(target, {
    ...context,
    pageExit,
    state: () => 'visible',
    isOnline: () => isOnline,
    changed() {},
    dropped() {},
    otherLedger() {},
  })
  releaseIt = () => release([{ pageLeases }], context, fromFailure)
})

describe('a page that goes before it heard an answer', () => {
  test('cancels it in a note, and uses nothing of it when it comes after all', async () => {
    pageLeases.exchange(16)
    pageLeases.exit()
    expect(left).toEqual([{ exchange: 'page:0', takeBack: [] }])
    await requests[0]!.answer({ leases: [lease], offers: [offer] })
    expect(pageLeases.queue.held).toBe(0)
    expect(pageLeases.offers).toEqual([])
    expect(requests[1]!.request).toMatchObject({
      want: 0,
      notes: [{ exchange: 'page:0' }],
    })
  })

  test('leaves what it had brought with a release, which may wait for a claim', async () => {
    pageLeases.exchange(16)
    await requests[0]!.answer({ leases: [lease], offers: [offer] })
    pageLeases.queue.take()
    releaseIt()
    pageLeases.exit()
    expect(left).toEqual([
      { lease: 'page:0.0', next: 2 },
      { exchange: 'page:1', takeBack: ['page:0.offer0'] },
    ])
    expect(giveBack).not.toHaveBeenCalled()
  })

  test('sets nothing aside while it releases: the release would not send it', async () => {
    const releasing = releaseIt()
    expect(pageLeases.hasSurplus()).toBe(false)
    pageLeases.exchange(0)
    expect(requests.map(({ request }) => request.offer)).toEqual([false, false])
    await requests[0]!.answer({})
    await requests[1]!.answer({})
    await requests[2]!.answer({ view: { ...view, surplus: 10 } })
    await releasing
    expect(pageLeases.hasSurplus()).toBe(true)
    pageLeases.exchange(0)
    expect(requests.at(-1)!.request.offer).toBe(true)
  })

  test('leaves again what it had brought with that exchange: it may be lost', async () => {
    pageLeases.exchange(16)
    await requests[0]!.answer({ leases: [lease], offers: [offer] })
    for (let i = 0; i < 16; i++) pageLeases.queue.take()
    pageLeases.queue.take()
    pageLeases.exchange(16)
    pageLeases.exit()
    expect(left).toEqual([
      { lease: 'page:0.0', next: 17 },
      { exchange: 'page:1', takeBack: ['page:0.offer0'] },
    ])
    expect(giveBack).not.toHaveBeenCalled()
  })
})

test('what a page parks is available also before its device has answered', async () => {
  pageLeases.exchange(16)
  await requests[0]!.answer({ leases: [lease] })
  const parked = pageLeases.parkDownTo(4)
  expect(statusOf(pageLeases, true)).toMatchObject({ available: 16, leased: 4 })
  await requests[1]!.answer({ view: { ...view, free: 12, order: 1 } })
  await parked
  expect(statusOf(pageLeases, true)).toMatchObject({ available: 16, leased: 4 })
})

describe('offers', () => {
  test('that a check-in made free on the device are counted there alone', async () => {
    pageLeases.exchange(0)
    await requests[0]!.answer({ view: { ...view, checkedIn: 1 }, offers: [offer] })
    expect(statusOf(pageLeases, true).available).toBe(11)
    pageLeases.observe({ ...view, checkedIn: 2, free: 11, order: 1 })
    expect(statusOf(pageLeases, true).available).toBe(11)
  })

  test('are cancelled before an exchange that takes them back, and never sent later', async () => {
    pageLeases.exchange(16)
    await requests[0]!.answer({ leases: [lease], offers: [offer] })
    expect(pageLeases.offers).toEqual([offer])
    pageLeases.exchange(0)
    expect(requests[1]!.request.takeBack).toEqual(['page:0.offer0'])
    pageLeases.exit()
    expect(giveBack).not.toHaveBeenCalled()
  })

  test.each(['exit', 'park'] as const)('are sent once, when the page goes: %s', async (goes) => {
    pageLeases.exchange(16)
    await requests[0]!.answer({ leases: [lease], offers: [offer] })
    pageLeases[goes]()
    pageLeases[goes]()
    expect(giveBack).toHaveBeenCalledOnce()
    expect(giveBack).toHaveBeenCalledWith(target, [range(40, 50)])
    expect(left).toContainEqual({ lease: 'page:0.offer0', next: 40, sentTo: 50, givenBack: true })
  })
})

test('a page that is hidden parks its lease on the device, also without an offer', async () => {
  pageLeases.exchange(16)
  await requests[0]!.answer({ leases: [lease] })
  pageLeases.queue.take()
  pageLeases.park()
  expect(requests[1]?.request.notes).toEqual([{ lease: 'page:0.0', next: 2 }])
  expect(left).toEqual([{ lease: 'page:0.0', next: 2 }])
})

test('a page that is hidden again soon takes its offer back, and then says nothing', async () => {
  pageLeases.exchange(16)
  await requests[0]!.answer({ offers: [offer] })
  pageLeases.park()
  await requests[1]!.answer({ offers: [{ ...offer, id: 'another' }] })
  pageLeases.park()
  expect(giveBack).toHaveBeenCalledOnce()
  expect(requests.map(({ request }) => request.takeBack)).toEqual([[], [], ['another']])
  await requests[2]!.answer({})
  pageLeases.park()
  expect(requests).toHaveLength(3)
})

test('a hidden page of a device that keeps nothing sends its lease back', async () => {
  Object.assign(pageExit, { takesBack: true })
  pageLeases.exchange(16)
  await requests[0]!.answer({ view: { ...view, reserve: 0 }, leases: [lease] })
  pageLeases.park()
  expect(giveBack).toHaveBeenCalledExactlyOnceWith(target, [range(1, 16)])
})

test('the next exchange cancels one that failed: the device may have made it', async () => {
  pageLeases.exchange(16)
  await requests[0]!.answer({ failure: { code: 'storage-failed', message: '' } })
  pageLeases.exchange(0)
  expect(requests[1]!.request.notes).toEqual([{ exchange: 'page:0', takeBack: [] }])
})

test('surplus is asked for once in a while, where there is some and it can be sent', async () => {
  await pageLeases.returnSurplus()
  pageLeases.observe({ ...view, surplus: 1 })
  isOnline = false
  await pageLeases.returnSurplus()
  expect(requests).toEqual([])
  isOnline = true
  pageLeases.returnSurplus()
  expect(requests).toMatchObject([{ request: { want: 0, offer: true } }])
  await requests[0]!.answer({ view: { ...view, surplus: 1 }, offers: [offer] })
  expect(giveBack).toHaveBeenCalledOnce()
  await pageLeases.returnSurplus()
  expect(requests).toHaveLength(1)
})

test('a page whose surplus another page has taken keeps its lease', async () => {
  pageLeases.exchange(16)
  await requests[0]!.answer({ view: { ...view, surplus: 1 }, leases: [lease] })
  const returned = pageLeases.returnSurplus()
  await requests[1]!.answer({})
  await returned
  expect(pageLeases.queue.held).toBe(16)
})

describe('a page that is closed', () => {
  test('takes its offer back: the device may lease the numbers again', async () => {
    pageLeases.exchange(16)
    await requests[0]!.answer({ offers: [offer] })
    pageLeases.close()
    expect(requests.map(({ request }) => request.takeBack)).toEqual([[], ['page:0.offer0']])
  })

  test('asks for nothing when it holds nothing', async () => {
    pageLeases.exchange(16)
    await requests[0]!.answer({})
    await pageLeases.close()
    expect(requests).toHaveLength(1)
  })
})

describe('before the code that gives back is loaded', () => {
  beforeEach(() => {
    pageExit.sender = undefined
  })

  test('nothing is offered', () => {
    pageLeases.exchange(16)
    expect(requests[0]!.request.offer).toBe(false)
    pageExit.sender = async () => {}
    pageLeases.exchange(0)
    expect(requests[1]!.request.offer).toBe(true)
  })

  test('what would go back when the page closes stays on the device', async () => {
    pageLeases.exchange(16)
    await requests[0]!.answer({ view: { ...view, reserve: 0 }, leases: [lease] })
    pageLeases.queue.take()
    pageLeases.exit()
    expect(giveBack).not.toHaveBeenCalled()
    expect(left).toEqual([{ lease: 'page:0.0', next: 2 }])
  })
})

describe('without a token, what another node granted stays here when the page goes', () => {
  const elsewhere = { serverTag: 'B' }

  test('offers are cancelled, and the device has them back', async () => {
    pageLeases.exchange(16)
    await requests[0]!.answer({
      offers: [offer, { ...offer, id: 'page:0.offer1', range: range(60, 70, elsewhere) }],
    })
    pageLeases.exit()
    expect(giveBack).toHaveBeenCalledExactlyOnceWith(target, [range(40, 50)])
    expect(left).toContainEqual({ exchange: 'page:1', takeBack: ['page:0.offer1'] })
  })

  test('leases are parked, though nothing is kept', async () => {
    pageLeases.exchange(16)
    await requests[0]!.answer({
      view: { ...view, reserve: 0 },
      leases: [{ id: 'page:0.0', page: 'page', range: range(1, 16, elsewhere) }],
    })
    pageLeases.queue.take()
    pageLeases.exit()
    expect(giveBack).not.toHaveBeenCalled()
    expect(left).toEqual([{ lease: 'page:0.0', next: 2 }])
  })

  test('also when it does not know which node answers', async () => {
    const { serverTag: _, ...unknown } = view
    pageLeases.exchange(16)
    await requests[0]!.answer({ view: unknown, offers: [offer] })
    pageLeases.exit()
    expect(giveBack).not.toHaveBeenCalled()
  })

  test('also when the other node answered after they were offered', async () => {
    pageLeases.exchange(16)
    await requests[0]!.answer({ offers: [offer] })
    pageLeases.observe({ ...view, ...elsewhere })
    pageLeases.exit()
    expect(giveBack).not.toHaveBeenCalled()
  })
})

test('the older of two views may come last: it does not replace the newer one', () => {
  pageLeases.observe({ ...view, order: 2, free: 32, serverTag: 'B' })
  pageLeases.observe({ ...view, order: 1, free: 4 })
  expect(pageLeases.view).toMatchObject({ free: 32, serverTag: 'B' })
  pageLeases.observe({ ...view, order: 3, free: 8 })
  expect(pageLeases.view).toMatchObject({ free: 8 })
})

test('two nodes stay two, whatever comes later', () => {
  pageLeases.observe({ ...view, order: 1, mixedNodes: ['orders/…-A', 'orders/…-B'] })
  pageLeases.observe({ ...view, order: 2 })
  expect(pageLeases.mixedNodes).toHaveLength(2)
})

test('a fork voids everything this page holds, and what it held is not issued', async () => {
  pageLeases.exchange(16)
  await requests[0]!.answer({ leases: [lease], offers: [offer] })
  pageLeases.observe({ ...view, gaps: { ...view.gaps, fork: 16 } })
  expect(pageLeases.queue.take()).toBe(-1)
  expect(pageLeases.offers).toEqual([])
})

test('a fork voids what this page holds, also after the storage was lost', async () => {
  const withForks = (fork: number) => ({ ...view, gaps: { ...view.gaps, fork } })
  pageLeases.observe(withForks(0))
  pageLeases.observe(withForks(64))
  pageLeases.observe(withForks(0))
  pageLeases.exchange(16)
  await requests.at(-1)!.answer({ leases: [lease], view: withForks(0) })
  expect(pageLeases.queue.held).toBe(16)
  pageLeases.observe(withForks(32))
  expect(pageLeases.queue.take()).toBe(-1)
})

test('an answer from before a fork is not used when the page knows of the fork', async () => {
  pageLeases.exchange(16)
  pageLeases.observe({ ...view, gaps: { ...view.gaps, fork: 16 } })
  await requests[0]!.answer({ leases: [lease], offers: [offer] })
  expect(pageLeases.queue.take()).toBe(-1)
  expect(pageLeases.offers).toEqual([])
  expect(requests[1]!.request).toMatchObject({
    notes: [{ lease: lease.id, next: 1 }],
    takeBack: [offer.id],
  })
})

test('two ledgers void everything this page holds, and what an older answer brings', async () => {
  const stopped = { of: 'a', by: 'b', tag: 'A', at: 0, numbers: 16 }
  pageLeases.exchange(16)
  await requests[0]!.answer({ leases: [lease] })
  pageLeases.exchange(16)
  pageLeases.observe({ ...view, order: 2, stopped })
  expect(pageLeases.queue.take()).toBe(-1)
  await requests[1]!.answer({ leases: [{ ...lease, id: 'page:1.0' }], view: { ...view, order: 1 } })
  expect(pageLeases.queue.take()).toBe(-1)
})

test('forks of long ago, before this page, void nothing', async () => {
  const old = { ...view, gaps: { ...view.gaps, fork: 16 } }
  pageLeases.exchange(16)
  await requests[0]!.answer({ view: old, leases: [lease] })
  pageLeases.observe(old)
  expect(pageLeases.queue.held).toBe(16)
})
