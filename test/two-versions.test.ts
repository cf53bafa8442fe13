/**
 * Devices and servers of two versions, of which the next one is made up: it says more in each
 * request and in each answer. What stored data promises is tested with its readers.
 */
import { expect, onTestFinished, test, vi } from 'vitest'
import { newShop, type Shop } from './support/shop.js'

/** What only the next version knows of, in each object of a message. */
const MORE = { NextVersion: { since: 2, of: ['it'] } }

function withMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMore)
  if (typeof value !== 'object' || value === null) return value
  // A message's maps, by a name of somebody's, get no other name.
  const all = Object.entries(value).map(([key, each]) => [
    key,
    /^ledgers$/i.test(key) ? each : withMore(each),
  ])
  return { ...Object.fromEntries(all), ...MORE }
}

const said = (text: string) => (text === '' ? text : JSON.stringify(withMore(JSON.parse(text))))

async function shopWhere({ isDeviceNew, isServerNew }: Record<string, boolean>): Promise<Shop> {
  const shop = await newShop()
  onTestFinished(() => shop.close())
  const reach = fetch
  vi.stubGlobal('fetch', async (input: string, init: RequestInit = {}) => {
    const { body, headers } = init
    const url = new URL(input)
    if (isDeviceNew) url.searchParams.set('nextVersion', '2')
    const answer = await reach(String(url), {
      ...init,
      ...(isDeviceNew && { headers: { ...headers, 'x-next-version': '2' } }),
      ...(isDeviceNew && typeof body === 'string' && { body: said(body) }),
    })
    const text = await answer.text()
    const { status, headers: given } = answer
    if (text === '' || !isServerNew) return new Response(text || null, { status, headers: given })
    return new Response(said(text), { status, headers: given })
  })
  return shop
}

test.each([
  ['a server of the next version', { isDeviceNew: false, isServerNew: true }],
  ['a device of the next version', { isDeviceNew: true, isServerNew: false }],
])('%s: what the other does not know of changes nothing', async (_, versions) => {
  const shop = await shopWhere(versions)
  const { hilo, page } = shop.open({ reserve: 20 })
  expect(await hilo.nextIds('orders', 3)).toEqual(['orders/1-A', 'orders/2-A', 'orders/3-A'])
  await hilo.reserve({ lines: 40 })
  await hilo.close()

  // It shows its tokens first, and each is swapped.
  const again = shop.openIn(page)
  expect(await again.nextId('orders')).toBe('orders/4-A')
  await again.release()
  expect(await shop.max()).toBe(4)
  expect(await again.nextId('orders')).toBe('orders/5-A')
  const did = new Set(shop.requests.map(({ action }) => action))
  expect([...did].sort()).toEqual(['checkin', 'next', 'return'])
  for (const { body, query } of shop.requests)
    expect('NextVersion' in body || 'nextVersion' in query).toBe(versions.isDeviceNew)
})
