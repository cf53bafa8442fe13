/** The page's side of Background Sync. */
import { opening } from './drafts'

declare global {
  interface ServiceWorkerRegistration {
    /** Only Chromium has it. In other browsers, a page has to send its drafts while it is open. */
    sync?: { register(tag: string): Promise<void> }
  }
}

export async function addOrder(customer: string): Promise<void> {
  await (await opening).add('drafts', { customer })
  // Nobody waits for it: the draft is stored, and by plain http there is no service worker.
  navigator.serviceWorker?.ready
    .then(({ sync }) => sync?.register('orders'))
    .catch((error) => console.error(error))
}
