/** The page's side of Background Sync. */
import { opening } from './drafts.js'

declare global {
  interface ServiceWorkerRegistration {
    /**
     * Chromium has it. Elsewhere it is left to the page to send its drafts, whenever it is open.
     */
    sync?: { register(tag: string): Promise<void> }
  }
}

export async function addOrder(customer: string): Promise<void> {
  await (await opening).add('drafts', { customer })
  const { sync } = await navigator.serviceWorker.ready
  await sync?.register('orders')
}
