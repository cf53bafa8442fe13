/**
 * Devices and servers of two versions, and pages of one device, of which the next one is made up:
 * it says more in each message. What stored data promises is tested with its readers.
 */
import { expect, onTestFinished, test, vi } from 'vitest'
import { consecutive } from '../src/addons/consecutive/index.js'
import { nameOf } from '../src/device/page-notes.js'
import { newName } from './support/idb.js'
import { between, MORE, VERSIONS, type Versions } from './support/next-version.js'
import { newShop, type Shop } from './support/shop.js'

async function shopOf(versions: Versions): Promise<Shop> {
  const shop = await newShop()
  onTestFinished(() => shop.close())
  vi.stubGlobal('fetch', between(versions, fetch))
  return shop
}

const expectSaid = ({ requests }: Shop, { isClientNew }: Versions) => {
  for (const { body, query } of requests)
    expect('NextVersion' in body || 'nextVersion' in query).toBe(isClientNew)
}

test.each(VERSIONS)('%s: what the other does not know of changes nothing', async (_, versions) => {
  const shop = await shopOf(versions)
  const { hilo, page } = shop.open({ reserve: 20 })
  expect(await hilo.nextIds('orders', 3)).toEqual(['orders/1-A', 'orders/2-A', 'orders/3-A'])
  expect(await hilo.nextIdentity('bills')).toBe(1)
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
  expectSaid(shop, versions)
})

test.each(VERSIONS)('%s: a series goes on, and its register is whole', async (_, versions) => {
  const shop = await shopOf(versions)
  const { hilo, page } = shop.open()
  const make = async (of: typeof hilo, key: string) => {
    const receipts = consecutive(of, 'receipts', { period: 'year', wait: 60_000 })
    return { receipts, made: await receipts.next({ key }) }
  }
  const { made: first } = await make(hilo, 'a')
  await hilo.close()
  const { receipts, made: second } = await make(shop.openIn(page), 'b')
  expect([first, second]).toMatchObject([1, 2].map((number) => ({ number, heard: true })))
  await receipts.closePeriod(second.period!, { by: 'Ann' })
  expect((await receipts.verify()).broken).toEqual([])
  expectSaid(shop, versions)
})

const KNOWN = {
  free: 7,
  reserve: 20,
  surplus: 0,
  gaps: { crash: 3, giveBack: 0, fork: 0, drop: 0 },
}

/** A page, and a script of another version, or of somebody else, on its channel. */
async function pageBeside() {
  const shop = await newShop()
  onTestFinished(() => shop.close())
  const name = newName()
  const { hilo } = shop.open({ name, reserve: 20 })
  await hilo.nextId('orders')
  const channel = new BroadcastChannel(name)
  onTestFinished(() => channel.close())
  const collection = nameOf(['https://shop.example.com', 'default', 'orders/'])
  /** Resolves when the page has heard it: it answers the message after it. */
  const say = async (message: object) => {
    channel.postMessage({ page: 'next', type: 'changed', collection, ...message })
    const answered = new Promise<void>((resolve) => {
      channel.onmessage = ({ data }) => data.type === 'here' && resolve()
    })
    channel.postMessage({ page: 'next', type: 'hello', collection })
    await answered
  }
  return { hilo, say, free: () => hilo.status().collections.orders!.available }
}

test.each<[string, unknown]>([
  ['says nothing that is known', {}],
  ['is a text', 'changed'],
  ['has no gaps', { ...KNOWN, gaps: undefined }],
  ['has gaps of another form', { ...KNOWN, gaps: { crash: '3' } }],
  ['counts in another way', { ...KNOWN, free: '7' }],
  ['names nodes in another way', { ...KNOWN, mixedNodes: 2 }],
  ['stops in another way', { ...KNOWN, stopped: true }],
])('what a page of another version shows is left alone where it %s', async (_, view) => {
  const { hilo, say } = await pageBeside()
  const before = hilo.status()
  await say({ view })
  expect(hilo.status()).toEqual(before)
  expect(await hilo.nextId('orders')).toBe('orders/2-A')
})

test('what a page of the next version shows is used without what is not known of it', async () => {
  const { hilo, say } = await pageBeside()
  const failure = { code: 'next', message: 'Of the next version.' }
  const more = { ...MORE, failure, notice: failure, answered: 'x', isInBucket: true }
  await say({ view: { ...KNOWN, ...more, gaps: { ...KNOWN.gaps, next: 2 } } })
  const { leased, lastError, available, gaps } = hilo.status().collections.orders!
  expect([available - leased, gaps, lastError]).toEqual([7, 5, undefined])
  await say({ type: 'next', ...MORE })
  expect(await hilo.nextId('orders')).toBe('orders/2-A')
})
