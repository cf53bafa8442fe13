// The page: makes orders, online or offline, each with its final id at once.
import { createHilo, HiloError } from '/offline-hilo/client/index.js'
import { allOrders, storeOrders } from '/orders.js'
import { trySending } from '/sending.js'

const hilo = createHilo({ database: 'Shop', collections: { orders: { reserve: 200 } } })

const form = document.querySelector('form')
const button = form.querySelector('button')
const [status, problem] = document.querySelectorAll('[role]')
const list = document.querySelector('ul')

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const customer = String(new FormData(form).get('customer'))
  // Until this order is stored, another click would make another one.
  button.disabled = true
  try {
    const id = await hilo.nextId('orders')
    await storeOrders([{ id, customer, madeAt: new Date().toISOString(), isSent: false }])
    form.reset()
    problem.textContent = ''
  } catch (error) {
    console.error(error)
    // What was typed stays. For example, no id is left, and there is no network.
    problem.textContent = HiloError.forUser(error)
  } finally {
    button.disabled = false
  }
  await show()
  sync()
})

async function sync() {
  await trySending()
  await show()
}

async function show() {
  try {
    const lines = (await allOrders()).map(({ id, customer, isSent, refused }) => {
      const line = document.createElement('li')
      const state = refused ? `refused: ${refused}` : isSent ? 'sent' : 'waits'
      line.textContent = `${id} ${customer}, ${state}`
      return line
    })
    list.replaceChildren(...lines)
  } catch {
    problem.textContent = 'This browser stores nothing for this site. Allow it, and reload.'
  }
}

function showStatus() {
  const { state, available } = hilo.status('orders')
  // At the start, nobody knows yet how many ids are here.
  const left = available || (state === 'exhausted' ? 0 : '…')
  status.textContent = `${left} ids left for offline work`
}

hilo.addEventListener('status', showStatus)
showStatus()
show()
sync()
addEventListener('online', sync)
// A server that comes back makes no event.
setInterval(sync, 5_000)

// Keeps the files of the app, so that the page also opens offline.
navigator.serviceWorker?.register('/service-worker.js')
