/**
 * Puts the examples where the tests can call them. Each is loaded when it is asked for, so that a
 * page has one `Hilo`.
 */
import { type CollectionStatus, createHilo, type Hilo } from 'offline-hilo'
import { createElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createApp, watch } from 'vue'
import { hiloStatus } from '../../../examples/svelte.js'
import { useHiloStatus } from '../../../examples/vue.js'

/**
 * How many ids were left each time a status came, and how many statuses came after the component
 * had gone.
 */
interface Seen {
  available: number[]
  afterTheEnd: number
}

type Start = (hilo: Hilo, seen: (status: CollectionStatus) => void) => () => void

const vue: Start = (hilo, seen) => {
  const app = createApp({
    setup() {
      const status = useHiloStatus(hilo)
      watch(status, (status) => seen(status!.collections.orders!), { flush: 'sync' })
      return () => null
    },
  })
  app.mount(document.createElement('div'))
  return () => app.unmount()
}

const svelte: Start = (hilo, seen) =>
  hiloStatus(hilo).subscribe((status) => seen(status!.collections.orders!))

async function look(start: Start): Promise<Seen> {
  const hilo = createHilo({ collections: { orders: {} } })
  await hilo.ready
  const available: number[] = []
  const stop = start(hilo, (each) => void available.push(each.available))
  await heard(hilo, () => hilo.nextId('orders'))
  stop()
  const count = available.length
  await heard(hilo, () => hilo.nextId('orders'))
  return { available, afterTheEnd: available.length - count }
}

/** Resolves when everybody who listens has heard that there is one id less. */
async function heard(hilo: Hilo, act: () => Promise<unknown>): Promise<void> {
  const before = hilo.status('orders').available
  const told = new Promise<void>((resolve) => {
    hilo.addEventListener('status', function listen() {
      if (hilo.status('orders').available >= before) return
      hilo.removeEventListener('status', listen)
      resolve()
    })
  })
  await act()
  await told
}

async function react(): Promise<void> {
  const { Orders } = await import('../../../examples/react.js')
  createRoot(document.querySelector('#react')!).render(
    createElement(StrictMode, null, createElement(Orders)),
  )
}

function webWorker(values: number[]): Promise<unknown> {
  const worker = new Worker(new URL('../../../examples/web-worker.ts', import.meta.url), {
    type: 'module',
  })
  return new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data)
    worker.postMessage(values)
  })
}

const examples = {
  dexie: () => import('../../../examples/dexie.js'),
  idb: () => import('../../../examples/idb.js'),
  tanStackDb: () => import('../../../examples/tanstack-db.js'),
  shopDay: () => import('../../../examples/shop-day.js'),
  serviceWorker: () => import('../../../examples/service-worker-page.js'),
  drafts: () => import('../../../examples/drafts.js'),
  react,
  vue: () => look(vue),
  svelte: () => look(svelte),
  webWorker,
}
export type Examples = typeof examples

Object.assign(globalThis, { examples })
