import { liveQuery } from 'dexie'
import { addOrder, db } from './db'
import { hilo } from './hilo'
import { sendOutbox } from './outbox'

const form = document.querySelector('form')!
const status = document.querySelector('[role=status]')!
const problem = document.querySelector('[role=alert]')!
const list = document.querySelector('ul')!

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const customer = String(new FormData(form).get('customer'))
  try {
    await addOrder(customer)
    form.reset()
    problem.textContent = ''
  } catch (error) {
    // For example 'exhausted': no id is left, and there is no network.
    problem.textContent = (error as Error).message
  }
  trySending()
})

/** What cannot be sent now stays in the outbox. */
const trySending = () => sendOutbox().catch((error: Error) => console.info(error.message))
trySending()
addEventListener('online', trySending)
// A server that is down makes no event, neither when it goes nor when it comes back.
setInterval(trySending, 10_000)

liveQuery(async () => {
  const orders = await db.orders.orderBy('madeAt').toArray()
  const waiting = await db.outbox.orderBy('order.id').keys()
  return orders.map((order) => ({ ...order, isSent: !waiting.includes(order.id) }))
}).subscribe((orders) =>
  list.replaceChildren(
    ...orders.map(({ id, customer, isSent }) => {
      const item = document.createElement('li')
      item.textContent = `${id} ${customer}, ${isSent ? 'sent' : 'waits'}`
      return item
    }),
  ),
)

const showStatus = () => {
  status.textContent = `${hilo.status('orders').available} ids left for offline work`
}
hilo.addEventListener('status', showStatus)
showStatus()
