/** Background Sync: the service worker gives drafts their ids and sends them, with no page open. */
import { createHilo } from 'offline-hilo/worker'
import { opening } from './drafts'

/** TypeScript has no types of Background Sync yet. */
interface SyncEvent extends Event {
  tag: string
  waitUntil(work: Promise<void>): void
}

// The reserve of the page's `hilo`: it is one for the device, whoever makes the ids.
const hilo = createHilo({ collections: { orders: { reserve: 200 } } })

addEventListener('sync', (event) => {
  const sync = event as SyncEvent
  if (sync.tag === 'orders') sync.waitUntil(sendDrafts())
})

/**
 * Stores the id before it sends the order. After a lost answer, it sends the same order again.
 * @throws Error when the API failed to take one, so that the browser tries again later
 */
async function sendDrafts(): Promise<void> {
  const db = await opening
  let problem: string | undefined
  for (const draft of await db.getAll('drafts')) {
    if (draft.refused) continue
    if (draft.id === undefined) {
      draft.id = await hilo.nextId('orders')
      await db.put('drafts', draft)
    }
    const { key, ...order } = draft
    const answer = await fetch('/api/orders', { method: 'POST', body: JSON.stringify(order) })
    const { refused } = await answer.json().catch(() => ({}))
    if (answer.status === 201) await db.delete('drafts', key!)
    // Set aside, with the reason: the API would refuse it again.
    else if (typeof refused === 'string') await db.put('drafts', { ...draft, refused })
    // This draft makes the API fail, or the API is down. The others are tried all the same.
    else problem = `The API answered ${answer.status}.`
  }
  if (problem) throw new Error(problem)
}
