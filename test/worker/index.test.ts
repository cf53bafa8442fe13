/** The package’s entry for workers. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { wrap } from 'comlink'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Owner } from '../../src/device/contract.js'
import { createHilo, startWorker } from '../../src/worker/index.js'
import { newName } from '../support/idb.js'
import { config, exchangeOf, must, target } from '../support/world.js'

const range = {
  Prefix: 'orders/',
  Low: 1,
  High: 32,
  LastSize: 32,
  ServerTag: 'A',
  LastRangeAt: '2026-11-21T07:09:21.4660000Z',
}
const grant = { collections: [range] }

afterEach(() => {
  vi.unstubAllGlobals()
})

test('createHilo makes ids in a realm without a document or a worker of its own', async () => {
  vi.stubGlobal('fetch', async () => Response.json(grant, { status: 201 }))
  const hilo = createHilo({ url: config.url, name: newName() })
  expect(await hilo.nextId('orders')).toBe('orders/1-A')
  expect(hilo.status().storage).toBe('best-effort')
  await hilo.close()
})

test('without a document, as in a service worker, it holds nothing that ends with it', async () => {
  vi.stubGlobal('fetch', async () => Response.json(grant, { status: 201 }))
  const options = { url: config.url, name: newName() }
  const first = createHilo(options)
  expect(await first.nextId('orders')).toBe('orders/1-A')
  expect(await first.nextId('orders')).toBe('orders/2-A')
  // It is killed without a word.
  expect(first.status('orders').leased).toBe(0)
  expect(await createHilo(options).nextId('orders')).toBe('orders/3-A')
})

test('a Node process with an instance that nobody closed ends all the same', async () => {
  const server = createServer((_, response) => {
    response.writeHead(201).end(JSON.stringify(grant))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const script = fileURLToPath(new URL('../support/unclosed.ts', import.meta.url))
  const { port } = server.address() as AddressInfo
  const child = spawn(process.execPath, ['--import', 'tsx', script, `http://127.0.0.1:${port}`])
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk
    })
  expect(await once(child, 'close')).toEqual([0, null])
  expect(said).toBe('orders/1-A\n')
})

test('createHilo refuses wrong options at once', () => {
  expect(() => createHilo({ url: config.url, reserve: -1 })).toThrow(
    expect.objectContaining({ code: 'invalid-argument' }),
  )
})

describe('startWorker', () => {
  test('answers a page that speaks to the worker it is called in', async () => {
    vi.stubGlobal('fetch', async () => Response.json(grant, { status: 201 }))
    const { port1, port2 } = new MessageChannel()
    vi.stubGlobal('addEventListener', (type: string, listener: EventListener) =>
      port1.addEventListener(type, listener),
    )
    vi.stubGlobal('removeEventListener', (type: string, listener: EventListener) =>
      port1.removeEventListener(type, listener),
    )
    vi.stubGlobal('postMessage', port1.postMessage.bind(port1))
    port1.start()
    startWorker()
    const owner = wrap<Owner>(port2)
    owner.open({ ...config, name: newName() }, undefined as never)
    must(await owner.claim(target, 1))
    expect(must(await owner.exchange(target, exchangeOf({ want: 4 }))).leases).toMatchObject([
      { range: { from: 1, to: 4 } },
    ])
    owner.close()
    port1.close()
  })
})
