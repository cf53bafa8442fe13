import { db } from './db'

/** Sends what waits, the oldest first. Rejects when the API cannot be reached, or refuses. */
export function sendOutbox(): Promise<void> {
  // One tab at a time.
  return navigator.locks.request('outbox', async () => {
    for (const { place, order } of await db.outbox.orderBy('place').toArray()) {
      const answer = await fetch('/api/orders', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(order),
      })
      // 201 comes from the API alone, and not from a proxy or a sign-in page on the way.
      if (answer.status !== 201) throw new Error(`The API answered ${answer.status}.`)
      await db.outbox.delete(place!)
    }
  })
}
