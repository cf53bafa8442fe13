/** Ids that are one caller's: nobody else takes them, and what is left goes on, once. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { PageLeases } from '../../src/client/page-leases.js'
import type { Batch } from '../../src/index.js'
import { codeOf, newShop, numberOf, quiet, type Shop } from '../support/shop.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

const voided = expect.objectContaining({ code: 'not-leased' })
/** Takes so many, as numbers in their order. */
const taken = (lines: Batch, count: number) =>
  upTo(count)
    .map(() => numberOf(lines.next()))
    .sort((a, b) => a - b)
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

test('20 concurrent orders with 25 lines each get all their ids, each once', async () => {
  const { hilo } = shop.open()
  const made = await Promise.all(
    upTo(20).map(async () => {
      using lines = await hilo.take('lines', 25)
      await hilo.nextId('lines')
      await quiet()
      return upTo(25).map(() => lines.next())
    }),
  )
  expect(new Set(made.flat()).size).toBe(500)
})

test('what is left goes to the next caller, also in another page', async () => {
  const { hilo } = shop.open()
  await hilo.reserve('lines', 40)
  const lines = await hilo.take('lines', 25)
  expect(taken(lines, 10)).toEqual(upTo(10))
  expect(lines.left).toBe(15)
  lines.end()
  lines.end()
  expect(() => lines.next()).toThrow(voided)
  await quiet()
  const other = await shop.open().hilo.take('lines', 20)
  expect(taken(other, 15)).toEqual(upTo(15).map((i) => i + 10))
})

test('that is used up ends by itself: the device hears that its numbers are used', async () => {
  const { hilo } = shop.open()
  const lines = await hilo.take('lines', 3)
  const made = taken(lines, 3)
  await quiet()
  const { segments } = await hilo.inspect('lines')
  const leased = segments.filter(({ kind }) => kind === 'leased')
  expect(made.filter((id) => leased.some(({ from, to }) => from <= id && id <= to))).toEqual([])
  expect(() => lines.next()).toThrow('all 3 ids were used')
})

test('a hundred that end at once are told in one exchange, and none is lost', async () => {
  const { hilo } = shop.open()
  await hilo.reserve('lines', 300)
  const all = await Promise.all(upTo(100).map(() => hilo.take('lines', 3)))
  const exchanges = vi.spyOn(PageLeases.prototype, 'exchange')
  for (const lines of all) lines.end()
  await quiet()
  expect(exchanges.mock.calls.length).toBeLessThan(5)
  // The first page is still there, and says nothing more.
  expect(taken(await shop.open().hilo.take('lines', 300), 300)).toEqual(upTo(300))
})

test.each([
  ['timeout', () => ({ timeout: 50 })],
  ['aborted', () => ({ signal: AbortSignal.timeout(50) })],
])('a call whose device does not answer rejects with %s, and loses no id', async (code, limits) => {
  const { hilo, page } = shop.open()
  await hilo.reserve('lines', 40)
  page.freeze()
  expect(await codeOf(hilo.take('lines', 25, limits()))).toBe(code)
  page.thaw()
  await quiet()
  await hilo.close()
  expect(taken(await shop.open().hilo.take('lines', 40), 40)).toEqual(upTo(40))
})

test('nobody waits behind a call that has ended', async () => {
  const { hilo, page } = shop.open()
  const id = numberOf(await hilo.nextId('lines'))
  page.freeze()
  const ended = codeOf(hilo.take('lines', 500, { timeout: 500 }))
  shop.answer = () => new Promise(() => {})
  expect(await ended).toBe('timeout')
  page.thaw()
  await quiet()
  const next = hilo.nextId('lines')
  expect(await Promise.race([next, quiet()])).toBe(`lines/${id + 1}-A`)
})

test('more than the device has is claimed, or nothing is taken', async () => {
  const { hilo } = shop.open()
  const many = await hilo.take('lines', 500)
  expect(many.left).toBe(500)
  many.end()
  await quiet()
  shop.isDown = true
  await expect(hilo.take('lines', 5000)).rejects.toMatchObject({
    code: 'exhausted',
    message: expect.stringMatching(/5000 asked for, \d+ left/),
  })
  expect(await hilo.nextIds('lines', 500)).toHaveLength(500)
})

test('a call that is aborted, late or wrong takes nothing', async () => {
  const { hilo } = shop.open()
  await hilo.reserve('lines', 40)
  expect(await codeOf(hilo.take('lines', 5, { signal: AbortSignal.abort() }))).toBe('aborted')
  expect(await codeOf(hilo.take('lines', -1))).toBe('invalid-argument')
  shop.isDown = true
  const forEver = { timeout: Number.POSITIVE_INFINITY }
  const waits = hilo.take('lines', 1000, forEver)
  const rejected = codeOf(waits)
  await quiet()
  expect(await hilo.nextIds('lines', 5)).toHaveLength(5)
  await hilo.close()
  expect(await rejected).toBe('closed')
  expect(await codeOf(hilo.take('lines', 1))).toBe('closed')
})

test('while the storage fails, a call rejects, also where the page holds ids', async () => {
  const { hilo } = shop.open()
  await hilo.warm('lines', 40)
  vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(() => {
    throw new DOMException('The disk is full.', 'QuotaExceededError')
  })
  expect(await codeOf(hilo.take('lines', 25))).toBe('storage-failed')
  vi.restoreAllMocks()
  const lines = taken(await hilo.take('lines', 40), 40)
  const others = (await hilo.nextIds('lines', 15)).map(numberOf)
  expect([...others, ...lines].sort((a, b) => a - b)).toEqual(upTo(55))
})

describe('a page with a batch', () => {
  test('keeps it while it is hidden', async () => {
    const { hilo, page } = shop.open()
    await hilo.reserve('lines', 40)
    const lines = await hilo.take('lines', 25)
    page.hide()
    await quiet()
    expect(taken(lines, 25)).toEqual(upTo(25))
  })

  test('that is left notes the rest, and issues none of it when it comes back', async () => {
    const { hilo, page } = shop.open()
    await hilo.reserve('lines', 40)
    const lines = await hilo.take('lines', 25)
    lines.next()
    await quiet()
    page.leave()
    expect(() => lines.next()).toThrow(voided)
    const next = await shop.open().hilo.take('lines', 24)
    expect(taken(next, 24)).toEqual(upTo(24).map((i) => i + 1))
    page.comeBack()
    expect(() => lines.next()).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/the page was left.*hilo\.take/) }),
    )
    lines.end()
    await quiet()
    expect(numberOf(await shop.open().hilo.nextId('lines'))).toBeGreaterThan(25)
  })

  test('that is left notes the rest of a batch whose end was not stored', async () => {
    const { hilo, page } = shop.open()
    await hilo.reserve('lines', 40)
    const lines = await hilo.take('lines', 25)
    lines.next()
    await quiet()
    const broken = vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(() => {
      throw new DOMException('The disk is full.', 'QuotaExceededError')
    })
    lines.end()
    await quiet()
    expect(broken).toHaveBeenCalled()
    broken.mockRestore()
    page.leave()
    const next = await shop.open().hilo.take('lines', 24)
    expect(taken(next, 24)).toEqual(upTo(24).map((i) => i + 1))
  })

  test('that is closed parks what is left', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('lines', 40)
    const lines = await hilo.take('lines', 25)
    expect(numberOf(lines.next())).toBe(1)
    await hilo.close()
    expect(() => lines.next()).toThrow(expect.objectContaining({ code: 'closed' }))
    expect(numberOf(await shop.open().hilo.nextId('lines'))).toBe(2)
  })

  test('whose storage turns out to be a copy issues nothing of it', async () => {
    const { hilo } = shop.open()
    await hilo.reserve('lines', 40)
    const lines = await hilo.take('lines', 25)
    // What the owner tells a page when it has dropped everything.
    const [allocator] = (hilo as never as { access: { allocators: never[] } }).access.allocators
    const { pageLeases } = allocator as never as {
      pageLeases: { view: { gaps: object }; observe(view: object): void }
    }
    const { view } = pageLeases
    pageLeases.observe({ ...view, gaps: { ...view.gaps, fork: 32 } })
    expect(() => lines.next()).toThrow(voided)
  })
})

describe('warm', () => {
  test('holds what it was asked for while the page is hidden', async () => {
    const { hilo, page } = shop.open()
    await hilo.warm('orders', 50)
    page.hide()
    await quiet()
    expect(upTo(50).map(() => numberOf(hilo.nextIdSync('orders')))).toEqual(upTo(50))
  })

  test('holds no more than that while the page is hidden', async () => {
    const { hilo, page } = shop.open()
    await hilo.reserve('orders', 100)
    await hilo.nextIds('orders', 10)
    await hilo.warm('orders', 1)
    expect(hilo.status('orders').leased).toBeGreaterThan(1)
    page.hide()
    expect(hilo.status('orders').leased).toBe(1)
  })
})
