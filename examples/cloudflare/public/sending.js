// Sends the orders that wait, and fetches those of others. An order that is sent twice, by two tabs
// or because an answer was lost, is stored once.
import { allOrders, storeOrders } from '/orders.js'

/** What cannot be sent now waits. */
export const trySending = () => sendAndFetch().catch((error) => console.info(error.message))

async function sendAndFetch() {
  for (const { isSent, ...order } of await allOrders()) {
    if (isSent) continue
    const answer = await fetch('/api/orders', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(order),
    })
    // 201 comes from the API alone, and not from a proxy or a sign-in page on the way.
    if (answer.status !== 201) throw new Error(`The API answered ${answer.status}.`)
    await storeOrders([{ ...order, isSent: true }])
  }
  const answer = await fetch('/api/orders')
  if (!answer.ok) throw new Error(`The API answered ${answer.status}.`)
  await storeOrders((await answer.json()).map((order) => ({ ...order, isSent: true })))
}
