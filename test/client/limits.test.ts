/** The limits of a server, and a device that has more than one request may have. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createHiloHandler } from '../../server/src/index.js'
import { LIMITS } from '../../src/core/wire.js'
import { eventually } from '../support/eventually.js'
import { newShop, quiet, type Shop } from '../support/shop.js'
import { shownLog } from '../support/shown-log.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

const names = (count: number) => Array.from({ length: count }, (_, i) => `c${i}`)

/** @returns a page that has an id of each collection */
async function withIdsOf(collections: string[]) {
  const { hilo } = shop.open({ reserve: 4 })
  await Promise.all(collections.map((name) => hilo.nextId(name)))
  await quiet()
  return hilo
}

const requests = (action: string) => shop.requests.filter((each) => each.action === action)

test('a server that takes few documents takes the claims and check-ins of all', async () => {
  const { ledger } = shop
  const handle = createHiloHandler({ ledger, log: shownLog, open: true, limits: { batch: 2 } })
  const statuses: number[] = []
  shop.answer = async (request) => {
    const response = await handle(request)
    statuses.push(response.status)
    return response
  }
  const first = await withIdsOf(names(5))
  await first.close()
  const second = await withIdsOf(names(5))
  await eventually(async () => expect(await second.inspect('c4')).toHaveProperty('checkedIn'))
  expect(statuses.filter((status) => status >= 400)).toEqual([])
  expect(requests('next')[0]!.body.collections).toHaveLength(5)
})

test('more collections than one request may have go in several', async () => {
  const collections = names(LIMITS.claims + 5)
  const first = await withIdsOf(collections)
  expect(requests('next').map(({ body }) => (body.collections as []).length)).toEqual([100, 5])
  await first.close()
  const second = await withIdsOf(collections)
  await eventually(async () =>
    expect(await second.inspect(collections.at(-1)!)).toHaveProperty('checkedIn'),
  )
  expect(requests('checkin').map(({ body }) => (body.grants as []).length)).toContain(100)
})
