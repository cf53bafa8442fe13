import { useLiveQuery } from 'dexie-react-hooks'
import { useHiloStatus } from 'offline-hilo/react'
import { useEffect, useState } from 'react'
import { addOrder, listOrders } from './db'
import { hilo } from './hilo'
import { keepSending, trySending } from './outbox'

export default function App() {
  const status = useHiloStatus(hilo, 'orders')
  const orders = useLiveQuery(listOrders)
  const [problem, setProblem] = useState('')
  useEffect(keepSending, [])

  async function order(form: FormData) {
    try {
      await addOrder(String(form.get('customer')))
      setProblem('')
    } catch (error) {
      // For example 'exhausted': no id is left, and there is no network.
      setProblem((error as Error).message)
    }
    trySending()
  }

  return (
    <main>
      <form action={order}>
        <label>
          Customer <input name="customer" required />
        </label>
        <button type="submit">New order</button>
      </form>
      <p role="status">{status?.available ?? '…'} ids left for offline work</p>
      <p role="alert">{problem}</p>
      <ul>
        {orders?.map(({ id, customer, isSent }) => (
          <li key={id}>{`${id} ${customer}, ${isSent ? 'sent' : 'waits'}`}</li>
        ))}
      </ul>
    </main>
  )
}
