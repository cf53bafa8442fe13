import { liveQuery } from 'dexie'
import { addOrder, listOrders } from './db'
import { hilo } from './hilo'
import { keepSending, trySending } from './outbox'

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

keepSending()

liveQuery(listOrders).subscribe((orders) =>
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
