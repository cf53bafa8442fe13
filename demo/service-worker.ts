/**
 * Stores the desk's pages for visits without a network. Where the browser has Background Sync, it
 * also sends waiting orders after the last tab was closed.
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

/** Rejects when something did not arrive. The browser then tries again later. */
async function sendWhatWaits(): Promise<void> {
  // An open tab sends its orders itself, and knows the desk's offline switch.
  if ((await self.clients.matchAll()).length > 0) return
  const store = await DeskStore.open()
  try {
    if (await store.isSwitchedOn()) await Sync.once(store)
  } finally {
    store.close()
  }
}
