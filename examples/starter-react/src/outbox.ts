import { db } from './db'

/** Sends what waits, the oldest first. Rejects when the API cannot be reached, or fails. */
async function sendOutbox(): Promise<void> {
  // What made the API fail comes after the others: it never holds them up twice.
  for (const { place, order, ...waiting } of await db.outbox.toCollection().sortBy('failures')) {
    if (waiting.refused) continue
    const answer = await fetch('/api/orders', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(order),
    })
    if (answer.status === 201) {
      await db.outbox.delete(place!)
      continue
    }
    // Set aside, with the reason: the API would refuse it again, and the others go on.
    const { refused } = await answer.json().catch(() => ({}))
    if (typeof refused === 'string') {
      await db.outbox.update(place!, { refused })
      continue
    }
    // This order is wrong, or the API is down, or a sign-in page answers.
    await db.outbox.update(place!, { failures: waiting.failures + 1 })
    throw new Error(`The API answered ${answer.status}.`)
  }
}

/** What cannot be sent now stays in the outbox. */
export async function trySending(): Promise<void> {
  try {
    // One tab at a time. By plain http there are no locks; the API stores once what two tabs send.
    await (navigator.locks?.request('outbox', sendOutbox) ?? sendOutbox())
  } catch (error) {
    console.info((error as Error).message)
  }
}

/** Sends an order that is stuck. */
export async function sendAgain(id: string): Promise<void> {
  await db.outbox.where('order.id').equals(id).modify({ refused: undefined, failures: 0 })
  await trySending()
}

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
