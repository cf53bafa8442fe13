/** The page's side of Background Sync. */
import { openDrafts } from './drafts.js'

declare global {
  interface ServiceWorkerRegistration {
    /** Chromium has it. Elsewhere the page sends its drafts itself when it is next open. */
    sync?: { register(tag: string): Promise<void> }
  }
}

export async function addOrder(customer: string): Promise<void> {
  await (await openDrafts()).add('drafts', { customer })
  const { sync } = await navigator.serviceWorker.ready
  await sync?.register('orders')
}
