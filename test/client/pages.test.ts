/** Pages that go and come: what they held goes on in the next one, once, however they went. */
import { IDBDatabase } from 'fake-indexeddb'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Hilo } from '../../src/client/hilo.js'
import type { HiloError } from '../../src/core/errors.js'
import { eventually } from '../support/eventually.js'
import { openRaw } from '../support/idb.js'
import { type FakePage, fakeLocalStorage } from '../support/page.js'
import { newShop, numberOf, quiet, type Shop } from '../support/shop.js'
import { flush } from '../support/world.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await shop.close()
})

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

const notLeased = expect.objectContaining({ code: 'not-leased' })

describe('a page that goes', () => {
  test.each([
    ['both places', { keepsLocal: true, keepsIndexedDb: true }],
    ['localStorage only', { keepsLocal: true, keepsIndexedDb: false }],
    ['IndexedDB only', { keepsLocal: false, keepsIndexedDb: true }],
  ])(
    'and dies leaves no gap: 60 reloads that issue one id each use 60 numbers, with notes in %s',
    async (_, { keepsLocal, keepsIndexedDb }) => {
      const issued: number[] = []
      for (let i = 0; i < 60; i++) {
        const { hilo, page } = shop.open()
        issued.push(numberOf(await hilo.nextId('orders')))
        await quiet()
        if (!keepsIndexedDb) {
          const begin = IDBDatabase.prototype.transaction
          vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (
            this: IDBDatabase,
            ...args
          ) {
            if (args[0] === 'notes') throw new DOMException('Too late', 'InvalidStateError')
            return begin.apply(this, args)
          })
        }
        page.leave()
        vi.restoreAllMocks()
        if (!keepsLocal) for (const key of Object.keys(localStorage)) localStorage.removeItem(key)
      }
      expect(issued).toEqual(upTo(60))
    },
  )

  test('holds nothing from that very moment on', async () => {
    const { hilo, page } = shop.open()
    await hilo.warm('orders', 100)
    page.leave()
    expect(hilo.status('orders').leased).toBe(0)
    expect(() => hilo.nextIdSync('orders')).toThrow(notLeased)
  })

  test('leaves its notes before the event is over', async () => {
    const { hilo, page } = shop.open()
    await hilo.nextId('orders')
    page.leave()
    expect(Object.keys(localStorage).length).toBeGreaterThan(0)
  })

  test('sends back what exceeds the reserve, each range once', async () => {
    const { hilo, page } = shop.open({ reserve: 8 })
    await hilo.nextId('orders')
    await hilo.reserve('orders', 40)
    await hilo.reserve('orders', 8)
    await quiet()
    const before = await shop.max()
    page.leave()
    await eventually(async () => expect(await shop.max()).toBeLessThan(before))
    const returned = shop.requests
      .filter(({ action }) => action === 'return')
      .map(({ body }) => body.end)
    expect(returned.length).toBeGreaterThan(0)
    expect(returned).toHaveLength(new Set(returned).size)
  })

  test('keeps nothing with a reserve of 0: everything that was not issued goes back', async () => {
    const { hilo, page } = shop.open({ reserve: 0 })
    await hilo.nextIds('orders', 5)
    page.leave()
    await eventually(async () => expect(await shop.max()).toBe(5))
    const other = shop.open({ name: 'another device' }).hilo
    const theirs = await other.nextIds('orders', 40)
    expect(theirs.map(numberOf)).toEqual(Array.from({ length: 40 }, (_, i) => i + 6))
    page.comeBack()
    const mine = await hilo.nextIds('orders', 40)
    expect(new Set([...theirs, ...mine]).size).toBe(80)
  })

  test('without a word, because it was killed, loses what it held at rest at most', async () => {
    const { hilo, page } = shop.open()
    const last = numberOf(await hilo.nextId('orders'))
    expect(hilo.status('orders').leased).toBeLessThanOrEqual(16)
    page.freeze()
    expect(numberOf(await shop.open().hilo.nextId('orders'))).toBeLessThanOrEqual(last + 16 + 1)
  })
})

describe('a page that is hidden', () => {
  test('and makes many ids in a row takes large leases, and parks the rest later', async () => {
    const { hilo, page } = shop.open({ reserve: 2_000 })
    await hilo.reserve('orders', 2_000)
    page.hide()
    const begun = vi.spyOn(IDBDatabase.prototype, 'transaction')
    const issued: number[] = []
    for (let i = 0; i < 1_000; i++) issued.push(numberOf(await hilo.nextId('orders')))
    expect(begun.mock.calls.filter(([, mode]) => mode === 'readwrite').length).toBeLessThan(100)
    expect(new Set(issued).size).toBe(1_000)
    await eventually(() => expect(hilo.status('orders').leased).toBe(0))
  })

  test('parks its numbers for others, while it still can', async () => {
    const { hilo, page } = shop.open()
    expect(numberOf(await hilo.nextId('orders'))).toBe(1)
    page.hide()
    expect(() => hilo.nextIdSync('orders')).toThrow(notLeased)
    // The next page is in front, and the document that tells so is shared here.
    await quiet()
    expect(numberOf(await shop.open().hilo.nextId('orders'))).toBe(2)
  })

  test('still makes ids when it is asked to, in the background', async () => {
    const { hilo, page } = shop.open()
    await hilo.nextId('orders')
    page.hide()
    expect(numberOf(await hilo.nextId('orders'))).toBe(2)
  })

  test('has numbers for the sync calls again soon after it is seen', async () => {
    const { hilo, page } = shop.open()
    await hilo.nextId('orders')
    page.hide()
    page.show()
    await hilo.warm('orders', 1)
    expect(numberOf(hilo.nextIdSync('orders'))).toBe(2)
  })
})

describe('a page that comes out of the back/forward cache', () => {
  test('issues no number that other pages got while it was away', async () => {
    const first = shop.open()
    const before = await first.hilo.nextIds('orders', 3)
    first.page.leave()
    const second = shop.open()
    const between = await second.hilo.nextIds('orders', 30)
    first.page.comeBack()
    const after = await first.hilo.nextIds('orders', 30)
    expect(new Set([...before, ...between, ...after]).size).toBe(63)
  })

  test('does not send its give-back again', async () => {
    const { hilo, page } = shop.open({ reserve: 0 })
    await hilo.nextId('orders')
    page.leave()
    await eventually(async () => expect(await shop.max()).toBe(1))
    const before = shop.requests.filter(({ action }) => action === 'return').length
    page.comeBack()
    page.leave()
    expect(shop.requests.filter(({ action }) => action === 'return')).toHaveLength(before)
  })
})

test('whatever pages do, in any order, no id is made twice', async () => {
  const act = fc.tuple(
    fc.constantFrom(
      'issue',
      'issue',
      'many',
      'hide',
      'show',
      'leave',
      'freeze',
      'comeBack',
      'reload',
    ),
    fc.nat(2),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 25 }), async (acts) => {
      await shop.close()
      shop = await newShop()
      const pages = Array.from({ length: 3 }, () => shop.open({ reserve: 20 }))
      const all = [...pages]
      const calls: Promise<string[]>[] = []
      for (const [name, i] of acts) {
        const { hilo, page } = pages[i]!
        page.enter()
        if (name === 'issue') calls.push(hilo.nextId('orders').then((id) => [id]))
        else if (name === 'many') calls.push(hilo.nextIds('orders', 25))
        else if (name === 'reload') {
          page.leave()
          pages[i] = shop.open({ reserve: 20 })
          all.push(pages[i]!)
        } else page[name]()
        if (calls.length % 2 === 0) await flush()
      }
      for (const { page } of all) page.thaw()
      const ids = (await Promise.all(calls)).flat()
      expect(new Set(ids).size).toBe(ids.length)
    }),
    { numRuns: 20 },
  )
})

describe('without the network, a page that has no id left', () => {
  const idOrCode = ({ hilo }: ReturnType<Shop['open']>) =>
    hilo.nextId('orders').catch((error: HiloError) => error.code)

  test('gets what another page holds only in advance: two make 500 ids each of 1,020', async () => {
    const pages = [shop.open({ reserve: 1_020 }), shop.open({ reserve: 1_020 })]
    for (const { hilo } of pages) await hilo.reserve('orders', 1_020)
    shop.isDown = true
    const made: string[] = []
    for (const { hilo } of pages)
      made.push(...(await Promise.all(Array.from({ length: 500 }, () => hilo.nextId('orders')))))
    expect(new Set(made).size).toBe(1_000)
  })

  test('gets nothing of what another one was warmed to, or holds at rest', async () => {
    const [warm, calm, short] = [shop.open(), shop.open(), shop.open()]
    await warm.hilo.warm('orders', 100)
    await calm.hilo.nextId('orders')
    const { leased } = calm.hilo.status('orders')
    shop.isDown = true
    const made: string[] = []
    for (;;) {
      const id = await idOrCode(short)
      if (id === 'exhausted') break
      // Any other code would come for ever.
      expect(id).toMatch(/^orders/)
      made.push(id)
    }
    expect(warm.hilo.status('orders').leased).toBe(100)
    expect(calm.hilo.status('orders').leased).toBeGreaterThanOrEqual(leased)
    for (let i = 0; i < 100; i++) made.push(warm.hilo.nextIdSync('orders'))
    expect(new Set(made).size).toBe(made.length)
  })

  test('gets the surplus that another page offers to a server that does not answer', async () => {
    const other = shop.open({ reserve: 0 })
    await other.hilo.reserve('orders', 40)
    await other.hilo.reserve('orders', 0)
    await quiet()
    const { leased, available } = other.hilo.status('orders')
    expect(available).toBeGreaterThan(leased)
    shop.isDown = true
    expect(await idOrCode(shop.open({ reserve: 0 }))).toMatch(/^orders/)
  })
})

test('an offer of one page is leased to another before the server is asked for more', async () => {
  const first = shop.open({ reserve: 8 })
  // It has asked the server whether the device is a copy: that would free what others offer.
  const second = shop.open({ reserve: 8 })
  await second.hilo.nextId('orders')
  await first.hilo.nextIds('orders', 5)
  await first.hilo.reserve('orders', 600)
  await first.hilo.reserve('orders', 8)
  const offered = async () => {
    const { segments } = await first.hilo.inspect('orders')
    return segments.reduce(
      (sum, { kind, from, to }) => (kind === 'offered' ? sum + to - from + 1 : sum),
      0,
    )
  }
  await eventually(async () => expect(await offered()).toBeGreaterThan(500))
  const claims = () => shop.requests.filter(({ action }) => action === 'next').length
  const before = claims()
  expect(new Set(await second.hilo.nextIds('orders', 500)).size).toBe(500)
  expect(claims()).toBe(before)
})

describe('no identity outlives a page', () => {
  test('session storage, which a duplicated tab copies, names no page', async () => {
    const tab = fakeLocalStorage()
    vi.stubGlobal('sessionStorage', tab)
    const name = 'remembered'
    const first = shop.open({ name })
    await first.hilo.nextId('orders')
    first.page.leave()
    const { hilo, page } = shop.open({ name })
    await hilo.nextId('orders')
    expect(Object.keys(tab)).toEqual([])
    page.leave()
    const checkIns = shop.requests.filter(({ action }) => action === 'checkin')
    const answered = checkIns.map(({ body }) => (body as { id: string }).id)
    const key = JSON.stringify(['https://shop.example.com', 'default', 'orders/'])
    expect(JSON.parse(tab.getItem('offline-hilo')!)).toEqual({
      [name]: { [key]: answered.at(-1) },
    })
  })

  test('two instances in one page are two pages to the device', async () => {
    const { hilo, page } = shop.open()
    const twin = shop.openIn(page)
    const ids = await Promise.all(
      [hilo, twin, hilo, twin].map((each) => each.nextIds('orders', 20)),
    )
    expect(new Set(ids.flat()).size).toBe(80)
  })
})

describe('a page of an older version', () => {
  test('stops issuing when a newer one has upgraded the storage, and says so', async () => {
    const { hilo } = shop.open({ name: 'upgraded' })
    await hilo.nextId('orders')
    ;(await openRaw('upgraded', 1000)).close()
    const failure = async (): Promise<HiloError> => {
      for (;;) {
        const outcome = await hilo.nextId('orders').catch((error: HiloError) => error)
        if (typeof outcome !== 'string') return outcome
      }
    }
    expect((await failure()).code).toBe('outdated')
  })
})

test('without IndexedDB ids are made all the same; the status says nothing is kept', async () => {
  const { indexedDB } = globalThis
  vi.stubGlobal('indexedDB', undefined)
  const { hilo, page } = shop.open()
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
  expect(hilo.status().storage).toBe('memory')
  // Without another call: what came before the page could send is set aside when it can.
  const kinds = async () => (await hilo.inspect('orders')).segments.map(({ kind }) => kind)
  await eventually(async () => expect(await kinds()).not.toContain('granted'))
  page.leave()
  await eventually(async () => expect(await shop.max()).toBe(1))
  vi.stubGlobal('indexedDB', indexedDB)
})

test('without IndexedDB what `reserve` took goes back when the page goes', async () => {
  const { indexedDB } = globalThis
  vi.stubGlobal('indexedDB', undefined)
  const { hilo, page } = shop.open()
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
  await hilo.reserve('orders', 5)
  page.leave()
  await eventually(async () => expect(await shop.max()).toBe(1))
  vi.stubGlobal('indexedDB', indexedDB)
})

describe('without IndexedDB a hidden page', () => {
  const { indexedDB } = globalThis
  let hilo: Hilo
  let page: FakePage

  beforeEach(async () => {
    vi.stubGlobal('indexedDB', undefined)
    ;({ hilo, page } = shop.open())
    await hilo.nextId('orders')
    await hilo.reserve('orders', 50)
    const kinds = async () => (await hilo.inspect('orders')).segments.map(({ kind }) => kind)
    // What it could send is set aside for that.
    await eventually(async () => expect(await kinds()).not.toContain('granted'))
    page.hide()
  })
  afterEach(() => vi.stubGlobal('indexedDB', indexedDB))

  test('keeps its reserve for offline work', async () => {
    shop.isDown = true
    await quiet()
    expect(await hilo.nextIds('orders', 50)).toHaveLength(50)
  })

  test('gives its reserve back when it goes', async () => {
    await quiet()
    page.leave()
    await eventually(async () => expect(await shop.max()).toBe(1))
  })
})

test("a page that stores in memory leaves others' notes to those that can use them", async () => {
  const { hilo, page } = shop.open()
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
  page.leave()
  const left = Object.keys(localStorage)
  expect(left.length).toBeGreaterThan(0)
  const { indexedDB } = globalThis
  vi.stubGlobal('indexedDB', undefined)
  const inMemory = shop.open()
  await inMemory.hilo.nextId('orders')
  inMemory.page.leave()
  vi.stubGlobal('indexedDB', indexedDB)
  expect(Object.keys(localStorage)).toEqual(left)
  expect(await shop.open().hilo.nextId('orders')).toBe('orders/2-A')
  expect(Object.keys(localStorage)).toEqual([])
})
