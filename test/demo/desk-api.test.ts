import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Customer, Order } from '../../demo/records.js'
import { deskApi } from '../../demo/server/desk-api.js'
import { openTables } from '../../demo/server/tables.js'

const key = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const customer: Customer = { id: 'customers/1-A', key: key(1), createdAt: '2026-01-01T10:00:00.000Z', tab: 'abc', name: 'Harbour Café' }
const order: Order = {
  id: 'orders/1-A',
  key: key(2),
  createdAt: '2026-01-01T10:00:01.000Z',
  tab: 'abc',
  customer: 'customers/1-A',
  lines: [{ item: 'Decaf, 500 g', quantity: 2, cents: 1120 }],
}

function openApi() {
  const folder = mkdtempSync(join(tmpdir(), 'order-desk-'))
  const tables = openTables(join(folder, 'hilo.db'))
  onTestFinished(() => {
    tables.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const api = deskApi(tables)
  return {
    api,
    get: async (path: string) => (await api.request(path)).json(),
    send: (path: string, body: unknown) =>
      api.request(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async statuses(path: string, records: unknown[]) {
      const { results } = await (await this.send(path, records)).json()
      return results.map(({ status }: { status: number }) => status)
    },
  }
}

test('an order is stored once; the same order sent again is recognised', async () => {
  const api = openApi()
  expect(await api.statuses('/api/customers', [customer])).toEqual([201])
  expect(await api.statuses('/api/orders', [order])).toEqual([201])
  expect(await api.statuses('/api/orders', [order])).toEqual([200])
  expect(await api.get('/api/orders')).toEqual({ orders: [order], counts: { stored: 1, refused: 0 } })
})

test('another order with a taken id is refused, and counted once however often it is sent', async () => {
  const api = openApi()
  await api.send('/api/customers', [customer])
  const other = { ...order, key: key(3), tab: 'xyz' }
  expect(await api.statuses('/api/orders', [order, other])).toEqual([201, 409])
  expect(await api.statuses('/api/orders', [other])).toEqual([409])
  expect((await api.get('/api/counts')).orders).toEqual({ stored: 1, refused: 1 })
})

test('the same key with other content is no repetition', async () => {
  const api = openApi()
  await api.send('/api/customers', [customer])
  const changed = { ...order, lines: [{ ...order.lines[0]!, quantity: 3 }] }
  expect(await api.statuses('/api/orders', [order, changed])).toEqual([201, 409])
})

test('an order whose customer is not there has to wait', async () => {
  const api = openApi()
  expect(await api.statuses('/api/orders', [order])).toEqual([424])
  await api.send('/api/customers', [customer])
  expect(await api.statuses('/api/orders', [order])).toEqual([201])
})

test('one invalid record does not hold up the others', async () => {
  const api = openApi()
  await api.send('/api/customers', [customer])
  const bad = [{ ...order, lines: [] }, { ...order, id: 'a b' }, { ...order, extra: 1 }, null, 'text']
  const { results } = await (await api.send('/api/orders', [...bad, order])).json()
  expect(results.map(({ status }: { status: number }) => status)).toEqual([201, 422, 422, 422, 422, 422])
  expect(results[1].reason).toContain('lines')
})

test.each([
  ['not JSON', '{', 400],
  ['no array', { order }, 400],
  ['an empty batch', [], 400],
  ['more than a hundred', Array.from({ length: 101 }, () => order), 400],
  ['more than 256 KiB', 'x'.repeat(300_000), 413],
])('a batch that is %s is refused as a whole', async (_, body, status) => {
  const api = openApi()
  expect((await api.send('/api/orders', body)).status).toBe(status)
  expect((await api.get('/api/counts')).orders.stored).toBe(0)
})

test('another site’s page cannot write', async () => {
  const { api } = openApi()
  const headers = { 'Content-Type': 'text/plain', Origin: 'https://elsewhere.example' }
  expect((await api.request('/api/customers', { method: 'POST', headers, body: JSON.stringify([customer]) })).status).toBe(403)
})

test('the list has the newest first, as many as asked for', async () => {
  const api = openApi()
  await api.send('/api/customers', [customer])
  const orders = [1, 2, 3].map((n) => ({ ...order, id: `orders/${n}-A`, key: key(n), createdAt: `2026-01-01T10:00:0${n}.000Z` }))
  await api.send('/api/orders', orders)
  const { orders: listed } = await api.get('/api/orders?limit=2')
  expect(listed.map(({ id }: Order) => id)).toEqual(['orders/3-A', 'orders/2-A'])
  expect(await api.get('/api/orders?limit=none')).toHaveProperty('error')
  expect(await api.get('/api/nothing')).toHaveProperty('error')
})
