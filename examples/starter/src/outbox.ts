import { db } from './db'

/** Sends what waits, the oldest first. Rejects when the API cannot be reached, or refuses. */
function sendOutbox(): Promise<void> {
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

/** What cannot be sent now stays in the outbox. */
export const trySending = () => sendOutbox().catch((error: Error) => console.info(error.message))

/** Tries now, and again and again. Returns what ends it. */
export function keepSending(): () => void {
  trySending()
  addEventListener('online', trySending)
  // A server that is down makes no event, neither when it goes nor when it comes back.
  const timer = setInterval(trySending, 10_000)
  return () => {
    removeEventListener('online', trySending)
    clearInterval(timer)
  }
}
