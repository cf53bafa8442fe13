/**
 * Keeps the desk's pages for visits without a network, and, where the browser offers Background
 * Sync, sends what waits after the last tab was closed.
 */
import {
  cleanupOutdatedCaches,
  createHandlerBoundToURL,
  precacheAndRoute,
} from 'workbox-precaching'
import { NavigationRoute, registerRoute } from 'workbox-routing'
import { DeskStore } from './store.js'
import { Sync } from './sync.js'

interface SyncEvent extends Event {
  tag: string
  waitUntil(work: Promise<unknown>): void
}

declare const self: EventTarget & {
  __WB_MANIFEST: { url: string; revision: string | null }[]
  skipWaiting(): Promise<void>
  clients: { claim(): Promise<void>; matchAll(): Promise<unknown[]> }
}

precacheAndRoute(self.__WB_MANIFEST)
cleanupOutdatedCaches()
registerRoute(
  new NavigationRoute(createHandlerBoundToURL('/index.html'), { allowlist: [/^\/(\?.*)?$/] }),
)

self.addEventListener('activate', (event) => (event as SyncEvent).waitUntil(self.clients.claim()))
self.addEventListener('message', (event) => {
  if ((event as MessageEvent).data === 'take over') self.skipWaiting()
})
self.addEventListener('sync', (event) => {
  const sync = event as SyncEvent
  if (sync.tag === 'orders') sync.waitUntil(sendWhatWaits())
})

/** Rejects when not all of it arrived: the browser tries again later. */
async function sendWhatWaits(): Promise<void> {
  // A tab sends for itself, and knows the desk's own switch.
  if ((await self.clients.matchAll()).length > 0) return
  const store = await DeskStore.open()
  try {
    if (await store.isSwitchedOn()) await Sync.once(store)
  } finally {
    store.close()
  }
}
