import { useLiveQuery } from 'dexie-react-hooks'
import { HiloError } from 'offline-hilo'
import { useHiloStatus } from 'offline-hilo/react'
import { type SubmitEvent, useEffect, useState } from 'react'
import { addOrder, listOrders, NOT_STORED } from './db'
import { hilo, idsLeft } from './hilo'
import { keepSending, sendAgain, trySending } from './outbox'

export default function App() {
  const status = useHiloStatus(hilo, 'orders')
  const [problem, setProblem] = useState('')
  const orders = useLiveQuery(() =>
    listOrders().catch(() => {
      setProblem(NOT_STORED)
      return []
    }),
  )
  const [isBusy, setBusy] = useState(false)
  useEffect(keepSending, [])

  async function order(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    // Until this order is stored, another click would make another one.
    setBusy(true)
    try {
      await addOrder(String(new FormData(form).get('customer')))
      form.reset()
      setProblem('')
    } catch (error) {
      console.error(error)
      // What was typed stays. For example, no id is left, and there is no network.
      setProblem(HiloError.forUser(error))
    } finally {
      setBusy(false)
    }
    trySending()
  }

  return (
    <main>
      <h1>My shop</h1>
      <form onSubmit={order}>
        <label>
          Customer <input name="customer" required />
        </label>
        <button type="submit" disabled={isBusy}>
          New order
        </button>
      </form>
      <p role="status">{status && idsLeft(status)}</p>
      <p role="alert">{problem}</p>
      <ul>
        {orders?.map(({ id, customer, state, isStuck }) => (
          <li key={id}>
            {`${id} ${customer}, ${state} `}
            {isStuck && (
              <button type="button" onClick={() => sendAgain(id)}>
                Send again
              </button>
            )}
          </li>
        ))}
      </ul>
    </main>
  )
}
