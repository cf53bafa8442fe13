/** Nothing degrades silently: an event, the status, and in development one line in the console. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Hilo } from '../../src/client/hilo.js'
import type { HiloOptions } from '../../src/device/hilo-options.js'
import { MemoryStore } from '../../src/store/memory.js'
import { createOwner } from '../../src/worker/owner.js'
import { browserWorld } from '../../src/worker/world.js'
import { eventually } from '../support/eventually.js'
import { newName } from '../support/idb.js'
import { newShop, quiet, type Shop } from '../support/shop.js'

let shop: Shop
const warn = vi.fn()

beforeEach(async () => {
  shop = await newShop()
  vi.stubGlobal('location', new URL('http://shop.localhost:5173/orders'))
  warn.mockClear()
  vi.spyOn(console, 'warn').mockImplementation(warn)
})
afterEach(() => shop.close())

const forbidden = () => {
  // As WebKit says it.
  throw new DOMException('The operation is insecure.', 'SecurityError')
}

function open(spawn: (() => Worker) | undefined, options: HiloOptions = {}) {
  const hilo = new Hilo(
    { url: 'https://shop.example.com', name: newName(), ...options },
    {
      spawn,
      ownerHere: async (store) => createOwner(browserWorld(store)),
      onlineCalls: shop.onlineCalls,
    },
  )
  const told: string[] = []
  hilo.addEventListener('degraded', ({ detail }) => told.push(detail.reason))
  return { hilo, told }
}

async function useTwice(hilo: Hilo): Promise<void> {
  await hilo.nextId('orders')
  await hilo.nextId('customers')
  await quiet()
  await hilo.close()
}

describe('in development, one line in the console says', () => {
  test('that ids are made in the page, and why', async () => {
    const { hilo, told } = open(forbidden)
    await useTwice(hilo)
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/no worker.*The operation is insecure\. Does the content security/)],
    ])
    expect(warn.mock.calls[0]![0]).toMatch(/docs\/bundlers\.md/)
    expect(told).toEqual(['no-worker'])
    expect(hilo.status().degraded).toEqual(['no-worker'])
  })

  test('that `worker` makes no worker', async () => {
    vi.stubGlobal('document', Object.assign(new EventTarget(), { visibilityState: 'visible' }))
    vi.stubGlobal('window', new EventTarget())
    const { hilo } = open(() => undefined as never)
    await useTwice(hilo)
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/`worker` made undefined in place/)]])
  })

  test('that ids are in memory, and why', async () => {
    vi.stubGlobal('indexedDB', undefined)
    vi.stubGlobal('document', Object.assign(new EventTarget(), { visibilityState: 'visible' }))
    vi.stubGlobal('window', new EventTarget())
    const { hilo, told } = open(undefined)
    await useTwice(hilo)
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/in memory.*no IndexedDB/)]])
    expect(warn.mock.calls[0]![0]).toContain('offline-hilo/testing')
    await useTwice(open(undefined).hilo)
    expect(warn).toHaveBeenCalledOnce()
    expect(told).toEqual(['memory'])
    expect(hilo.status()).toMatchObject({ storage: 'memory', degraded: ['memory'] })
  })

  test('that a server keeps ids in memory', async () => {
    vi.stubGlobal('indexedDB', undefined)
    vi.stubGlobal('location', undefined)
    const { hilo } = open(undefined)
    await useTwice(hilo)
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/no page here.*`store`/)]])
  })
})

test('in production an event says it, and the console nothing', async () => {
  vi.stubGlobal('location', new URL('https://shop.example.com/orders'))
  const { hilo, told } = open(forbidden)
  await useTwice(hilo)
  expect(warn).not.toHaveBeenCalled()
  expect(told).toEqual(['no-worker'])
})

test('nothing is said where nothing is missing', async () => {
  const { hilo, told } = open(undefined)
  await useTwice(hilo)
  expect(told).toEqual([])
  expect(warn).not.toHaveBeenCalled()
  expect(hilo.status().degraded).toEqual([])
})

test('nothing is said of a `store` of the app that is in memory: the app knows', async () => {
  const { hilo, told } = open(undefined, { store: new MemoryStore() })
  await useTwice(hilo)
  expect(told).toEqual([])
  expect(warn).not.toHaveBeenCalled()
  expect(hilo.status().storage).toBe('memory')
})

describe('a worker that is lost', () => {
  const javaScript = () =>
    new Response('', { headers: { 'content-type': 'text/javascript; charset=utf-8' } })

  test.each<[string, Response | undefined, RegExp, string?, string?]>([
    ['answers 404', new Response('', { status: 404 }), /its file answers 404/],
    [
      'is left where it was by Vite',
      new Response('', { status: 404 }),
      /answers 404.*`optimizeDeps: \{ exclude: \['offline-hilo'\] \}`/,
      '/node_modules/.vite/worker/entry.js',
    ],
    ['is HTML', new Response('', { headers: { 'content-type': 'text/html' } }), /text\/html comes/],
    ['is JavaScript', javaScript(), /its file loads, and it does not answer/],
    ['cannot be fetched', undefined, /did not load, or it does not answer/],
    ['is forbidden', javaScript(), /policy forbids its file \(worker-src\)/, '/w.js', 'worker-src'],
  ])(
    'whose file %s: the line says that',
    async (_, answer, message, file = '/worker.js', violated = 'connect-src') => {
      const alive = new Set<FakeWorker>()
      class FakeWorker extends EventTarget {
        constructor(readonly url: string) {
          super()
          alive.add(this)
          setTimeout(() => this.dispatchEvent(new Event('error')))
        }
        postMessage() {}
        terminate() {
          alive.delete(this)
        }
      }
      vi.stubGlobal('Worker', FakeWorker)
      vi.stubGlobal('window', new EventTarget())
      vi.stubGlobal('document', Object.assign(new EventTarget(), { visibilityState: 'visible' }))
      const { fetch } = globalThis
      vi.stubGlobal('fetch', async (url: string, init?: RequestInit) => {
        if (url !== file) return fetch(url, init)
        const event = new Event('securitypolicyviolation')
        document.dispatchEvent(Object.assign(event, { effectiveDirective: violated }))
        if (answer) return answer
        throw new TypeError('fetch failed')
      })
      const { hilo } = open(() => new Worker(file))
      await useTwice(hilo)
      await eventually(() => expect(warn).toHaveBeenCalled())
      expect(warn.mock.calls).toEqual([[expect.stringMatching(message)]])
      expect(alive.size).toBe(0)
      expect(globalThis.Worker).toBe(FakeWorker)
    },
  )
})
