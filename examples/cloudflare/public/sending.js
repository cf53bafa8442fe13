// Sends the orders that wait, and fetches those of others. An order that is sent twice, by two tabs
// or because an answer was lost, is stored once.
import { allOrders, storeOrders } from '/orders.js'

/** What cannot be sent now waits. */
export const trySending = () => sendAndFetch().catch((error) => console.info(error.message))

async function sendAndFetch() {
  for (const { isSent, refused, ...order } of await allOrders()) {
    if (isSent || refused) continue
    const answer = await fetch('/api/orders', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(order),
    })
    if (answer.status === 201) await storeOrders([{ ...order, isSent: true }])
    // Set aside, with the reason: the API would refuse it again, and the others go on.
    else await storeOrders([{ ...order, isSent: false, refused: await refusalIn(answer) }])
  }
  const answer = await fetch('/api/orders')
  if (!answer.ok) throw new Error(`The API answered ${answer.status}.`)
  await storeOrders((await answer.json()).map((order) => ({ ...order, isSent: true })))
}

/** Throws when it is not the API that answers: a proxy or a sign-in page on the way. */
async function refusalIn(answer) {
  const { refused } = await answer.json().catch(() => ({}))
  if (typeof refused !== 'string') throw new Error(`No answer of the API: ${answer.status}.`)
  return refused
}
