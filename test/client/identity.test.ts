/** Numbers without gaps, from a page: one by one, and safe to ask for again by key. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newShop, type Shop } from '../support/shop.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

const json = (body: unknown) => new Response(JSON.stringify(body), { status: 201 })
const identities = () =>
  shop.requests.filter(({ action, query }) => action === 'next' && query.name !== undefined)

test('identities count one by one, by collection and database, apart from the ranges', async () => {
  const { hilo } = shop.open()
  const numbers = [
    await hilo.nextIdentity('invoices'),
    await hilo.nextIdentity('invoices'),
    await hilo.nextIdentity(class orders {}),
    await hilo.nextIdentity('invoices', { database: 'Other' }),
  ]
  expect(numbers).toEqual([1, 2, 1, 1])
  expect(identities().map(({ query }) => query.name)).toEqual([
    'invoices|',
    'invoices|',
    'orders|',
    'invoices|',
  ])
  expect(await hilo.nextId('invoices')).toBe('invoices/1-A')
})

test('the same key gets the same number, in another page too', async () => {
  const { hilo } = shop.open()
  const number = await hilo.nextIdentity('invoices', { key: 'draft 17' })
  await hilo.nextIdentity('invoices')
  expect(await shop.open().hilo.nextIdentity('invoices', { key: 'draft 17' })).toBe(number)
})

test('a number whose answer was lost is got with the same key: no gap', async () => {
  const { hilo } = shop.open()
  const { fetch } = globalThis
  let isLost = true
  globalThis.fetch = async (...args) => {
    const answer = await fetch(...args)
    if (isLost) throw new TypeError('connection reset')
    return answer
  }
  await expect(hilo.nextIdentity('invoices', { key: 'draft' })).rejects.toMatchObject({
    code: 'server-unreachable',
  })
  isLost = false
  expect(await hilo.nextIdentity('invoices', { key: 'draft' })).toBe(1)
  expect(await hilo.nextIdentity('invoices')).toBe(2)
})

test('offline it rejects at once, asks once, and says that the same key is safe', async () => {
  const { hilo } = shop.open()
  shop.isDown = true
  await expect(hilo.nextIdentity('invoices')).rejects.toMatchObject({
    code: 'server-unreachable',
    message: expect.stringContaining('same key'),
  })
  shop.isDown = false
  hilo.goOffline()
  await expect(hilo.nextIdentity('invoices')).rejects.toMatchObject({ code: 'server-unreachable' })
  expect(identities()).toEqual([])
  hilo.goOnline()
  expect(await hilo.nextIdentity('invoices')).toBe(1)
})

test.each<[object | null, string]>([
  [{ NewIdentityValue: '7' }, 'invalid-response'],
  [{ NewIdentityValue: 2 ** 53 }, 'invalid-response'],
  [{}, 'no-hilo-server'],
  [null, 'no-hilo-server'],
])('an answer of %j is none', async (body, code) => {
  const { hilo } = shop.open()
  shop.answer = () => json(body)
  await expect(hilo.nextIdentity('invoices')).rejects.toMatchObject({ code })
})

test('a name that cannot be one is refused, and so is a closed Hilo', async () => {
  const { hilo } = shop.open()
  await expect(hilo.nextIdentity('a|b')).rejects.toMatchObject({ code: 'invalid-collection' })
  await hilo.close()
  await expect(hilo.nextIdentity('invoices')).rejects.toMatchObject({ code: 'closed' })
})
