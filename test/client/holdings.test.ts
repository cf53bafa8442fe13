/** What a page holds and gives up: what it parked, sent or cancelled is never used again. */
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { Holdings } from '../../src/client/holdings.js'
import type { OwnerLink } from '../../src/client/owner-link.js'
import type { PageExit } from '../../src/client/page-exit.js'
import type { DeviceView, Target } from '../../src/core/contract.js'
import type { Exchange, Note } from '../../src/core/state.js'
import { range } from '../support/ranges.js'

const target: Target = { database: 'Shop', collection: 'orders', separator: '/', reserve: 32 }
const view: DeviceView = {
  free: 0,
  reserve: 32,
  surplus: 0,
  gaps: { crash: 0, giveBack: 0, fork: 0 },
  isClaiming: false,
  isReachable: true,
  storage: 'best-effort',
  serverTag: 'A',
}
const lease = { id: 'page:0.0', page: 'page', range: range(1, 16) }
const offer = { id: 'page:0.offer0', page: 'page', range: range(40, 50) }

/** Requests that wait for their answers, and notes that were left. */
let requests: { request: Exchange; answer: (answer: object) => Promise<void> }[]
let left: Note[]
let isOnline: boolean
let holdings: Holdings
let pageExit: PageExit
const giveBack = vi.fn(async () => {})

beforeEach(() => {
  requests = []
  left = []
  isOnline = true
  giveBack.mockClear()
  const call = (_: string, [, request]: [Target, Exchange]) =>
    new Promise((resolve) => {
      requests.push({
        request,
        answer: async (answer) => {
          resolve({ view, leases: [], offers: [], outstanding: [], ...answer })
          for (let i = 0; i < 5; i++) await Promise.resolve()
        },
      })
    })
  let exchanges = 0
  pageExit = {
    readNotes: () => [],
    forgetNotes() {},
    openStore() {},
    leaveNotes: (_: Target, notes: Note[]) => left.push(...notes),
    giveBack,
    sender: giveBack,
  } as unknown as PageExit
  holdings = new Holdings(target, {
    page: 'page',
    newExchange: () => `page:${exchanges++}`,
    link: { call, retryNow() {} } as unknown as OwnerLink,
    pageExit,
    state: () => 'visible',
    isOnline: () => isOnline,
    changed() {},
    forked() {},
  })
})

describe('a page that goes before it heard an answer', () => {
  test('cancels it in a note, and uses nothing of it when it comes after all', async () => {
    holdings.exchange(16)
    holdings.exit()
    expect(left).toEqual([{ exchange: 'page:0', takeBack: [] }])
    await requests[0]!.answer({ leases: [lease], offers: [offer] })
    expect(holdings.queue.held).toBe(0)
    expect(holdings.offers).toEqual([])
    expect(requests[1]!.request).toMatchObject({
      want: 0,
      notes: [{ exchange: 'page:0' }],
    })
  })

  test('leaves what it had brought with a release, which may wait for a claim', async () => {
    holdings.exchange(16)
    await requests[0]!.answer({ leases: [lease], offers: [offer] })
    holdings.queue.take()
    holdings.release()
    holdings.exit()
    expect(left).toEqual([
      { lease: 'page:0.0', next: 2 },
      { exchange: 'page:1', takeBack: ['page:0.offer0'] },
    ])
    expect(giveBack).not.toHaveBeenCalled()
  })

  test('sets nothing aside while it releases: the release would not send it', async () => {
    const releasing = holdings.release()
    expect(holdings.hasSurplus()).toBe(false)
    holdings.exchange(0)
    expect(requests.map(({ request }) => request.offer)).toEqual([false, false])
    await requests[0]!.answer({})
    await requests[1]!.answer({})
    await requests[2]!.answer({ view: { ...view, surplus: 10 } })
    await releasing
    expect(holdings.hasSurplus()).toBe(true)
    holdings.exchange(0)
    expect(requests.at(-1)!.request.offer).toBe(true)
  })

  test('leaves again what it had brought with that exchange: it may be lost', async () => {
    holdings.exchange(16)
    await requests[0]!.answer({ leases: [lease], offers: [offer] })
    for (let i = 0; i < 16; i++) holdings.queue.take()
    holdings.queue.take()
    holdings.exchange(16)
    holdings.exit()
    expect(left).toEqual([
      { lease: 'page:0.0', next: 17 },
      { exchange: 'page:1', takeBack: ['page:0.offer0'] },
    ])
    expect(giveBack).not.toHaveBeenCalled()
  })
})

describe('offers', () => {
  test('are cancelled before an exchange that takes them back, and never sent later', async () => {
    holdings.exchange(16)
    await requests[0]!.answer({ leases: [lease], offers: [offer] })
    expect(holdings.offers).toEqual([offer])
    holdings.exchange(0)
    expect(requests[1]!.request.takeBack).toEqual(['page:0.offer0'])
    holdings.exit()
    expect(giveBack).not.toHaveBeenCalled()
  })

  test('are sent once, when the page goes', async () => {
    holdings.exchange(16)
    await requests[0]!.answer({ leases: [lease], offers: [offer] })
    holdings.exit()
    holdings.exit()
    expect(giveBack).toHaveBeenCalledOnce()
    expect(giveBack).toHaveBeenCalledWith(target, [range(40, 50)])
    expect(left).toContainEqual({ lease: 'page:0.offer0', next: 40, givenBack: true })
  })
})

describe('before the code that gives back is loaded', () => {
  beforeEach(() => {
    pageExit.sender = undefined
  })

  test('nothing is offered', () => {
    holdings.exchange(16)
    expect(requests[0]!.request.offer).toBe(false)
    pageExit.sender = async () => {}
    holdings.exchange(0)
    expect(requests[1]!.request.offer).toBe(true)
  })

  test('what would go back when the page closes stays on the device', async () => {
    holdings.exchange(16)
    await requests[0]!.answer({ view: { ...view, reserve: 0 }, leases: [lease] })
    holdings.queue.take()
    holdings.exit()
    expect(giveBack).not.toHaveBeenCalled()
    expect(left).toEqual([{ lease: 'page:0.0', next: 2 }])
  })
})

describe('without a token, what another node granted stays here when the page goes', () => {
  const elsewhere = { serverTag: 'B' }

  test('offers are cancelled, and the device has them back', async () => {
    holdings.exchange(16)
    await requests[0]!.answer({
      offers: [offer, { ...offer, id: 'page:0.offer1', range: range(60, 70, elsewhere) }],
    })
    holdings.exit()
    expect(giveBack).toHaveBeenCalledExactlyOnceWith(target, [range(40, 50)])
    expect(left).toContainEqual({ exchange: 'page:1', takeBack: ['page:0.offer1'] })
  })

  test('leases are parked, though nothing is kept', async () => {
    holdings.exchange(16)
    await requests[0]!.answer({
      view: { ...view, reserve: 0 },
      leases: [{ id: 'page:0.0', page: 'page', range: range(1, 16, elsewhere) }],
    })
    holdings.queue.take()
    holdings.exit()
    expect(giveBack).not.toHaveBeenCalled()
    expect(left).toEqual([{ lease: 'page:0.0', next: 2 }])
  })

  test('also when it does not know which node answers', async () => {
    const { serverTag: _, ...unknown } = view
    holdings.exchange(16)
    await requests[0]!.answer({ view: unknown, offers: [offer] })
    holdings.exit()
    expect(giveBack).not.toHaveBeenCalled()
  })

  test('also when the other node answered after they were offered', async () => {
    holdings.exchange(16)
    await requests[0]!.answer({ offers: [offer] })
    holdings.observe({ ...view, ...elsewhere })
    holdings.exit()
    expect(giveBack).not.toHaveBeenCalled()
  })
})

test('a fork voids everything this page holds, and what it held is not issued', async () => {
  holdings.exchange(16)
  await requests[0]!.answer({ leases: [lease], offers: [offer] })
  holdings.observe({ ...view, gaps: { ...view.gaps, fork: 16 } })
  expect(holdings.queue.take()).toBe(-1)
  expect(holdings.offers).toEqual([])
})

test('a fork voids what this page holds, also after the storage was lost', async () => {
  const withForks = (fork: number) => ({ ...view, gaps: { ...view.gaps, fork } })
  holdings.observe(withForks(0))
  holdings.observe(withForks(64))
  holdings.observe(withForks(0))
  holdings.exchange(16)
  await requests.at(-1)!.answer({ leases: [lease], view: withForks(0) })
  expect(holdings.queue.held).toBe(16)
  holdings.observe(withForks(32))
  expect(holdings.queue.take()).toBe(-1)
})

test('an answer from before a fork is not used when the page knows of the fork', async () => {
  holdings.exchange(16)
  holdings.observe({ ...view, gaps: { ...view.gaps, fork: 16 } })
  await requests[0]!.answer({ leases: [lease], offers: [offer] })
  expect(holdings.queue.take()).toBe(-1)
  expect(holdings.offers).toEqual([])
  expect(requests[1]!.request).toMatchObject({
    notes: [{ lease: lease.id, next: 1 }],
    takeBack: [offer.id],
  })
})

test('forks of long ago, before this page, void nothing', async () => {
  const old = { ...view, gaps: { ...view.gaps, fork: 16 } }
  holdings.exchange(16)
  await requests[0]!.answer({ view: old, leases: [lease] })
  holdings.observe(old)
  expect(holdings.queue.held).toBe(16)
})
