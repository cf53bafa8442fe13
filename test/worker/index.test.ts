/** The package’s entry for workers. */
import { wrap } from 'comlink'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Owner } from '../../src/core/contract.js'
import { createHilo, startWorker } from '../../src/worker/index.js'
import { newName } from '../support/idb.js'
import { config, exchangeOf, must, target } from '../support/world.js'

const grant = {
  Prefix: 'orders/',
  Low: 1,
  High: 32,
  LastSize: 32,
  ServerTag: 'A',
  LastRangeAt: '2026-11-21T07:09:21.4660000Z',
}

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
