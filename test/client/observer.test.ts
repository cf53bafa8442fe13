/** Looking on: what a device holds and what becomes of it, told without changing anything. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Activity } from '../../src/client/observer.js'
import { eventually } from '../support/eventually.js'
import { codeOf, newShop, quiet, type Shop } from '../support/shop.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
  // A page loads it when somebody looks on. What is there already comes at once.
  await import('../../src/client/observer.js')
})
afterEach(() => shop.close())

const kindsAndNumbers = ({ kind, numbers }: Activity) =>
  [kind, ...numbers.map(({ from, to }) => `${from}–${to}`)].join(' ')

describe('inspect', () => {
  test('shows who has which numbers, and what this page has issued of its own', async () => {
    const { hilo } = shop.open({ reserve: 64 })
    const { hilo: other } = shop.open({ reserve: 64 })
    await hilo.nextIds('orders', 3)
    await other.nextId('orders')
    const { segments, ...rest } = await eventually(async () => {
      const inspected = await hilo.inspect('orders')
      expect(inspected.isClaiming).toBe(false)
      return inspected
    })
    expect(rest).toMatchObject({
      collection: 'orders',
      database: 'default',
      reserve: 64,
      issued: 0,
      gaps: { crash: 0 },
    })
    const shown = segments.map(
      ({ kind, from, to, isThisPage }) => `${kind} ${from}–${to}${isThisPage ? ' here' : ''}`,
    )
    const [mine, others] = [
      segments[1]!,
      segments.find(({ kind, isThisPage }) => kind === 'leased' && !isThisPage)!,
    ]
    expect(shown.slice(0, 2)).toEqual(['issued 1–3 here', `leased 4–${mine.to} here`])
    expect(shown).toContainEqual(expect.stringMatching(/^granted /))
    expect(mine).toMatchObject({ prefix: 'orders/', serverTag: 'A', page: segments[0]!.page })
    expect(others.page).not.toBe(mine.page)
    for (const [i, { from }] of segments.slice(1).entries()) expect(from).toBe(segments[i]!.to + 1)
  })

  test('changes nothing, asks the server for nothing, and tells no secret', async () => {
    const { hilo } = shop.open({ headers: { Authorization: 'Bearer s3cret' } })
    await hilo.nextId('orders')
    await quiet()
    const requests = shop.requests.length
    const first = await hilo.inspect('orders')
    expect(await hilo.inspect('orders')).toEqual(first)
    expect(shop.requests).toHaveLength(requests)
    expect(JSON.stringify(first)).not.toMatch(/token|s3cret|Bearer/i)
  })

  test('of an unused collection shows nothing; another database’s is its own', async () => {
    const { hilo } = shop.open()
    await hilo.nextId('orders')
    expect((await hilo.inspect('invoices')).segments).toEqual([])
    expect(await hilo.inspect('orders', { database: 'Other' })).toMatchObject({
      database: 'Other',
      segments: [],
    })
  })

  test('counts in what a page left behind that nobody has settled yet', async () => {
    const { hilo, page } = shop.open()
    await hilo.nextIds('orders', 3)
    await quiet()
    const { hilo: other } = shop.open()
    page.leave()
    await quiet()
    const { segments, issued } = await other.inspect('orders')
    expect(issued).toBe(3)
    expect(segments.find(({ from }) => from === 4)).toMatchObject({ kind: 'granted' })
  })

  test('of a closed instance is refused', async () => {
    const { hilo } = shop.open()
    await hilo.close()
    await expect(hilo.inspect('orders')).rejects.toMatchObject({ code: 'closed' })
  })

  test('refuses a name that is none', async () => {
    await expect(shop.open().hilo.inspect('a|b')).rejects.toMatchObject({
      code: 'invalid-collection',
    })
  })
})

describe('watch', () => {
  test('tells of claims, leases, issued and parked numbers: time, page, reason', async () => {
    const { hilo } = shop.open()
    const told: Activity[] = []
    hilo.watch((activity) => told.push(activity))
    const from = Date.now()
    await hilo.nextIds('orders', 3)
    await quiet()
    await hilo.close()
    await quiet()
    expect(told.map(kindsAndNumbers).slice(0, 2)).toEqual(['claim 1–32', 'lease 1–16'])
    expect(told.map(kindsAndNumbers)).toEqual(
      expect.arrayContaining(['issue 1–3', expect.stringMatching(/^park 4–/)]),
    )
    expect(told[0]).toMatchObject({
      collection: 'orders',
      database: 'default',
      isThisPage: false,
      reason: 'No free number was left on this device.',
    })
    expect(told[1]).toMatchObject({
      isThisPage: true,
      page: expect.stringMatching(/^(\d+-){3}\d+$/),
    })
    for (const { time } of told) {
      expect(time).toBeGreaterThanOrEqual(from)
      expect(time).toBeLessThanOrEqual(Date.now())
    }
  })

  test('tells of other pages of this device, too', async () => {
    const { hilo } = shop.open({ reserve: 100 })
    await hilo.nextId('orders')
    await quiet()
    const told: Activity[] = []
    hilo.watch((activity) => told.push(activity))
    await quiet()
    expect(told).toEqual([])
    const { hilo: other } = shop.open({ reserve: 100 })
    await other.nextId('orders')
    const { page } = (await other.inspect('orders')).segments.find(({ isThisPage }) => isThisPage)!
    await eventually(() =>
      expect(told).toContainEqual(
        expect.objectContaining({ kind: 'lease', page, isThisPage: false }),
      ),
    )
  })

  test('whose file cannot be loaded says so, as does inspect(), and ids go on', async () => {
    vi.doMock('../../src/client/observer.js', () => {
      throw new TypeError('Failed to fetch')
    })
    vi.resetModules()
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    try {
      const { hilo } = shop.open()
      hilo.watch(() => {})
      await hilo.nextIds('orders', 3)
      await eventually(() => expect(warn).toHaveBeenCalled())
      expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('could not be loaded'))
      expect(await codeOf(hilo.inspect('orders'))).toBe('server-unreachable')
    } finally {
      warn.mockRestore()
      vi.doUnmock('../../src/client/observer.js')
      vi.resetModules()
    }
  })

  test('ends when it is told to, for that listener only', async () => {
    const { hilo } = shop.open({ reserve: 200 })
    const [first, second] = [vi.fn(), vi.fn()]
    const stop = hilo.watch(first)
    hilo.watch(second)
    await hilo.nextId('orders')
    await quiet()
    const calls = first.mock.calls.length
    expect(calls).toBeGreaterThan(0)
    expect(second).toHaveBeenCalledTimes(calls)
    stop()
    await hilo.nextIds('orders', 40)
    await quiet()
    expect(first).toHaveBeenCalledTimes(calls)
    expect(second.mock.calls.length).toBeGreaterThan(calls)
  })
})
