/** The handler inside another server, as docs/embedding.md shows it. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import { createServer as createVite } from 'vite'
import { expect, onTestFinished, test } from 'vitest'
import { createHiloHandler } from '../src/index.js'
import { newFolder } from './folders.js'
import { json, newHandler } from './handlers.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
const CHECK_IN = json({
  id: '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10',
  grants: [{ token: 'x', next: 1 }],
})

async function expectMounted(
  ask: (path: string, init?: RequestInit) => Response | Promise<Response>,
) {
  expect(await (await ask(`/ids${NEXT}`)).json()).toMatchObject({ Low: 1, High: 32 })
  expect(await (await ask('/ids/databases/Shop/hilo/checkin', CHECK_IN)).json()).toMatchObject({
    grants: [{ unknown: true }],
  })
  expect(
    (await ask(`/ids/databases/Shop/hilo/return?tag=orders&end=32&last=1`, { method: 'PUT' }))
      .status,
  ).toBe(204)
  expect((await ask('/ids/nothing')).status).toBe(400)
}

test('without options it says what is missing', () => {
  expect(() => createHiloHandler(undefined as never)).toThrow('ledger: is missing')
})

test('Hono', async () => {
  const { handler } = await newHandler()
  const { fetch } = new Hono().mount('/ids', handler)
  await expectMounted((path, init) => fetch(new Request(`http://app.test${path}`, init)))
})

test('route handlers of Next.js: a function per method', async () => {
  const { handler } = await newHandler({ cors: { origins: ['https://other.test'] } })
  const { fetch } = new Hono().mount('/ids', handler)
  const route = { GET: fetch, PUT: fetch, POST: fetch, DELETE: fetch, OPTIONS: fetch }
  class NextRequest extends Request {}
  const ask = async (path: string, init: RequestInit = {}) =>
    route[(init.method ?? 'GET') as keyof typeof route](
      new NextRequest(`http://app.test${path}`, init),
      {
        params: Promise.resolve({ path: path.split('/').slice(2) }),
      },
    )
  await expectMounted(ask)
  const headers = { Origin: 'https://other.test', 'Access-Control-Request-Method': 'PUT' }
  expect(
    (await ask(`/ids${NEXT}`, { method: 'OPTIONS', headers })).headers.get(
      'Access-Control-Allow-Origin',
    ),
  ).toBe('https://other.test')
})

async function listen(
  http: Server,
): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  const { port } = http.address() as AddressInfo
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init)
}

test('Express, beside routes of its own', async () => {
  const { handler } = await newHandler()
  const app = express()
  app.use('/ids', getRequestListener(handler))
  app.use(express.json())
  app.post('/orders', (request, response) => void response.json(request.body))
  const ask = await listen(createServer(app))
  await expectMounted(ask)
  const order = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"id":"orders/1-A"}',
  }
  expect(await (await ask('/orders', order)).json()).toEqual({ id: 'orders/1-A' })
})

test('Express, behind what reads bodies: the refusal says so', async () => {
  const { handler } = await newHandler()
  const app = express()
  app.use(express.json())
  app.use('/ids', getRequestListener(handler))
  const ask = await listen(createServer(app))
  const answer = await ask('/ids/databases/Shop/hilo/checkin', CHECK_IN)
  expect([answer.status, (await answer.json()).Message]).toEqual([
    400,
    expect.stringContaining('express.json()'),
  ])
})

test("Vite's dev server, a Connect middleware", async () => {
  const { handler } = await newHandler()
  const vite = await createVite({
    root: newFolder(),
    configFile: false,
    logLevel: 'silent',
    server: { middlewareMode: true, ws: false, hmr: false },
    plugins: [
      {
        name: 'ids',
        configureServer: ({ middlewares }) =>
          void middlewares.use('/ids', getRequestListener(handler)),
      },
    ],
  })
  onTestFinished(() => vite.close())
  await expectMounted(await listen(createServer(vite.middlewares)))
})
