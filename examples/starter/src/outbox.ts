import { db } from './db'

/** Sends what waits, the oldest first. Rejects when the API cannot be reached. */
async function sendOutbox(): Promise<void> {
  for (const { place, order, refused } of await db.outbox.orderBy('place').toArray()) {
    if (refused) continue
    const answer = await fetch('/api/orders', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(order),
    })
    if (answer.status === 201) await db.outbox.delete(place!)
    // Set aside, with the reason: the API would refuse it again, and the others go on.
    else await db.outbox.update(place!, { refused: await refusalIn(answer) })
  }
}

/** @throws Error when it is not the API that answers: a proxy or a sign-in page on the way. */
async function refusalIn(answer: Response): Promise<string> {
  const { refused } = await answer.json().catch(() => ({}))
  if (typeof refused !== 'string') throw new Error(`No answer of the API: ${answer.status}.`)
  return refused
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
