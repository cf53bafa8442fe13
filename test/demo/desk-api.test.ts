/**
 * The desk’s orders API on both databases: an id is stored once, an edit only on top of what it was
 * made from.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Customer, FORGER, type Order, type Sent } from '../../demo/records.js'
import { deskApi } from '../../demo/server/desk-api.js'
import { openSql } from '../../demo/server/sql.js'
import { openTables } from '../../demo/server/tables.js'
import { newDatabase } from '../../server/test/postgres.js'

const key = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const customer: Sent<Customer> = {
  id: 'customers/1-A',
  key: key(1),
  createdAt: '2026-01-01T10:00:00.000Z',
  tab: 'abc',
  name: 'Harbour Café',
  base: 0,
}
const order: Sent<Order> = {
  id: 'orders/1-A',
  key: key(2),
  createdAt: '2026-01-01T10:00:01.000Z',
  tab: 'abc',
  customer: 'customers/1-A',
  lines: [{ item: 'Decaf, 500 g', quantity: 2, cents: 1120 }],
  version: 1,
  edit: key(2),
  base: 0,
}
const asStored = <R>({ base, ...record }: Sent<R>) => record

async function onSqlite() {
  const data = mkdtempSync(join(tmpdir(), 'order-desk-'))
  onTestFinished(() => rmSync(data, { recursive: true, force: true }))
  return openSql({ data })
}
const onPostgres = async () => openSql({ databaseUrl: await newDatabase() })

describe.each([
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
])('on %s', (_, open) => {
  async function openApi() {
    const sql = await open()
    onTestFinished(() => sql.close())
    const tables = await openTables(sql)
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
    const api = await openApi()
    expect(await api.statuses('/api/customers', [customer])).toEqual([201])
    expect(await api.statuses('/api/orders', [order])).toEqual([201])
    expect(await api.statuses('/api/orders', [order])).toEqual([200])
    expect(await api.get('/api/changes')).toMatchObject({
      orders: [asStored(order)],
      counts: { orders: { stored: 1, refused: 0, forged: 0, highest: 1 } },
    })
  })

  test('another order with a taken id is refused, and counted once', async () => {
    const api = await openApi()
    await api.send('/api/customers', [customer])
    const other = { ...order, key: key(3), tab: 'xyz' }
    expect(await api.statuses('/api/orders', [order, other])).toEqual([201, 409])
    expect(await api.statuses('/api/orders', [other])).toEqual([409])
    expect((await api.get('/api/counts')).orders).toEqual({
      stored: 1,
      refused: 1,
      forged: 0,
      highest: 1,
    })
  })

  test('a refused forgery is told apart from a duplicate', async () => {
    const api = await openApi()
    await api.send('/api/customers', [customer])
    const forged = { ...order, key: key(3), tab: FORGER }
    const other = { ...order, key: key(4), tab: 'xyz' }
    expect(await api.statuses('/api/orders', [order, forged, other])).toEqual([201, 409, 409])
    expect((await api.get('/api/counts')).orders).toMatchObject({ refused: 2, forged: 1 })
  })

  test('an edit of the stored version is stored; an older one gets the newer version', async () => {
    const api = await openApi()
    await api.send('/api/customers', [customer])
    await api.send('/api/orders', [order])
    const edited = {
      ...order,
      lines: [{ ...order.lines[0]!, quantity: 3 }],
      version: 2,
      edit: key(4),
      base: 1,
    }
    expect(await api.statuses('/api/orders', [edited, edited])).toEqual([201, 200])
    const late = {
      ...order,
      lines: [{ ...order.lines[0]!, quantity: 9 }],
      version: 2,
      edit: key(5),
      base: 1,
    }
    const { results } = await (await api.send('/api/orders', [late])).json()
    expect(results).toMatchObject([{ status: 412, current: asStored(edited) }])
    expect(await api.statuses('/api/orders', [{ ...late, version: 3, base: 2 }])).toEqual([201])
    expect((await api.get('/api/changes')).orders).toMatchObject([
      { lines: late.lines, version: 3 },
    ])
  })

  test('an order whose customer is not there has to wait', async () => {
    const api = await openApi()
    expect(await api.statuses('/api/orders', [order])).toEqual([424])
    await api.send('/api/customers', [customer])
    expect(await api.statuses('/api/orders', [order])).toEqual([201])
  })

  test('another site’s page cannot write', async () => {
    const { api } = await openApi()
    const headers = { 'Content-Type': 'text/plain', Origin: 'https://elsewhere.example' }
    expect(
      (
        await api.request('/api/customers', {
          method: 'POST',
          headers,
          body: JSON.stringify([customer]),
        })
      ).status,
    ).toBe(403)
  })
})

test('a PostgreSQL that goes away during a transaction fails it, not the process', async () => {
  const sql = await onPostgres()
  onTestFinished(() => sql.close())
  const cut = sql.transaction((query) => query('SELECT pg_terminate_backend(pg_backend_pid())'))
  await expect(cut).rejects.toMatchObject({ code: '57P01' })
  expect(await sql.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
})
