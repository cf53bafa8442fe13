/** The handler inside another server, as docs/server.md shows it. */
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { createServer as createVite } from 'vite'
import { expect, onTestFinished, test } from 'vitest'
import { newFolder } from './folders.js'
import { newHandler } from './handlers.js'

const NEXT = '/databases/Shop/hilo/next?tag=orders'
const CHECK_IN = { method: 'POST', body: JSON.stringify({ id: '6b1f1a34-52a1-4a53-9d3c-0b4c6a8a4f10', leases: [{ lease: 'x', next: 1 }] }) }

async function expectMounted(ask: (path: string, init?: RequestInit) => Response | Promise<Response>) {
  expect(await (await ask(`/ids${NEXT}`)).json()).toMatchObject({ Low: 1, High: 32 })
  expect(await (await ask('/ids/databases/Shop/hilo/checkin', CHECK_IN)).json()).toEqual({ leases: [{ unknown: true }] })
  expect((await ask(`/ids/databases/Shop/hilo/return?tag=orders&end=32&last=1`, { method: 'PUT' })).status).toBe(204)
  expect((await ask('/ids/nothing')).status).toBe(404)
}

test('Hono, and so a route handler of Next.js', async () => {
  const { handler } = await newHandler()
  const { fetch } = new Hono().mount('/ids', handler)
  await expectMounted((path, init) => fetch(new Request(`http://app.test${path}`, init)))
})

test("a Connect middleware: Vite's dev server, Express", async () => {
  const { handler } = await newHandler()
  const vite = await createVite({
    root: newFolder(),
    configFile: false,
    logLevel: 'silent',
    server: { middlewareMode: true, ws: false, hmr: false },
    plugins: [{ name: 'ids', configureServer: ({ middlewares }) => void middlewares.use('/ids', getRequestListener(handler)) }],
  })
  const http = createServer(vite.middlewares)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    http.closeAllConnections()
    http.close()
    await vite.close()
  })
  const { port } = http.address() as { port: number }
  await expectMounted((path, init) => fetch(`http://127.0.0.1:${port}${path}`, init))
})
