import { liveQuery } from 'dexie'
import { HiloError } from 'offline-hilo'
import { addOrder, listOrders, NOT_STORED } from './db'
import { hilo, idsLeft } from './hilo'
import { keepSending, sendAgain, trySending } from './outbox'

const form = document.querySelector('form')!
const button = form.querySelector('button')!
const status = document.querySelector('[role=status]')!
const problem = document.querySelector('[role=alert]')!
const list = document.querySelector('ul')!

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const customer = String(new FormData(form).get('customer'))
  // Until this order is stored, another click would make another one.
  button.disabled = true
  try {
    await addOrder(customer)
    form.reset()
    problem.textContent = ''
  } catch (error) {
    console.error(error)
    // What was typed stays. For example, no id is left, and there is no network.
    problem.textContent = HiloError.forUser(error)
  } finally {
    button.disabled = false
  }
  trySending()
})

keepSending()

liveQuery(() =>
  listOrders().catch(() => {
    problem.textContent = NOT_STORED
    return []
  }),
).subscribe((orders) =>
  list.replaceChildren(
    ...orders.map(({ id, customer, state, isStuck }) => {
      const item = document.createElement('li')
      item.textContent = `${id} ${customer}, ${state}`
      if (isStuck) item.append(' ', sendAgainButton(id))
      return item
    }),
  ),
)

function sendAgainButton(id: string): HTMLButtonElement {
  const again = document.createElement('button')
  again.textContent = 'Send again'
  again.addEventListener('click', () => sendAgain(id))
  return again
}

const showStatus = () => {
  status.textContent = idsLeft(hilo.status('orders'))
}
hilo.addEventListener('status', showStatus)
showStatus()
