/** Puts the examples where the tests can call them. */
import { createHilo } from 'offline-hilo'
import { createElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { effectScope, watch } from 'vue'
import * as dexie from '../../../examples/dexie.js'
import * as idb from '../../../examples/idb.js'
import { Orders } from '../../../examples/react.js'
import * as serviceWorker from '../../../examples/service-worker-page.js'
import { hiloStatus } from '../../../examples/svelte.js'
import * as tanStackDb from '../../../examples/tanstack-db.js'
import { useHiloStatus } from '../../../examples/vue.js'

/** How many ids were left each time a status came, and how often one came after nobody looked any more. */
interface Seen {
  available: number[]
  afterTheEnd: number
}

async function vue(): Promise<Seen> {
  const scope = effectScope()
  return look((seen) => {
    scope.run(() => {
      const status = useHiloStatus(hilo)
      watch(status, ({ collections }) => seen(collections.tickets!.available), { immediate: true, flush: 'sync' })
    })
    return () => scope.stop()
  })
}

async function svelte(): Promise<Seen> {
  return look((seen) => hiloStatus(hilo).subscribe(({ collections }) => seen(collections.tickets!.available)))
}

const hilo = createHilo({ collections: { tickets: {} } })

async function look(start: (seen: (available: number) => void) => () => void): Promise<Seen> {
  await hilo.ready
  const available: number[] = []
  const stop = start((each) => void available.push(each))
  await nextStatusAfter(() => hilo.nextId('tickets'))
  stop()
  const count = available.length
  await nextStatusAfter(() => hilo.nextId('tickets'))
  return { available, afterTheEnd: available.length - count }
}

/** Everybody who listens has heard of it then. */
async function nextStatusAfter(act: () => Promise<unknown>): Promise<void> {
  const before = hilo.status('tickets').available
  const told = new Promise<void>((resolve) => {
    hilo.addEventListener('status', function listen() {
      if (hilo.status('tickets').available >= before) return
      hilo.removeEventListener('status', listen)
      resolve()
    })
  })
  await act()
  await told
}

function webWorker(values: number[]): Promise<unknown> {
  const worker = new Worker(new URL('../../../examples/web-worker.ts', import.meta.url), { type: 'module' })
  return new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data)
    worker.postMessage(values)
  })
}

const examples = { dexie, idb, tanStackDb, serviceWorker, vue, svelte, webWorker }
export type Examples = typeof examples

Object.assign(globalThis, { examples })
createRoot(document.querySelector('#react')!).render(createElement(StrictMode, null, createElement(Orders)))
