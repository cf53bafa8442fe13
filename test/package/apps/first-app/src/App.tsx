import { HiloError } from 'offline-hilo'
import { useHiloStatus } from 'offline-hilo/react'
import { useState } from 'react'
import { hilo, idsLeft } from './hilo'

export default function App() {
  const status = useHiloStatus(hilo, 'orders')
  const [orders, setOrders] = useState<string[]>([])
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)

  async function addOrder() {
    setBusy(true) // Another click would make another order.
    try {
      const id = await hilo.nextId('orders')
      setOrders((before) => [...before, id])
      setProblem('')
    } catch (error) {
      console.error(error)
      // For example, no id is left, and there is no network.
      setProblem(HiloError.forUser(error))
    } finally {
      setBusy(false)
    }
  }

  return (
    <main>
      <button type="button" onClick={addOrder} disabled={isBusy}>
        New order
      </button>
      <p>{status && idsLeft(status)}</p>
      <p role="alert">{problem}</p>
      <ol>
        {orders.map((id) => (
          <li key={id}>{id}</li>
        ))}
      </ol>
    </main>
  )
}
