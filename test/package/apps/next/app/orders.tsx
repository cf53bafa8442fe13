'use client'

import { createHilo, type Hilo, HiloError } from 'offline-hilo'
import { useHiloStatus } from 'offline-hilo/react'
import { useEffect, useState } from 'react'

export function Orders() {
  const [hilo, setHilo] = useState<Hilo>()
  const [orders, setOrders] = useState<string[]>([])
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const status = useHiloStatus(hilo, 'orders')

  // In an effect, because Next renders this component on its server, too.
  useEffect(() => {
    const hilo = createHilo({ url: '/ids', collections: { orders: { reserve: 200 } } })
    setHilo(hilo)
    return () => void hilo.close()
  }, [])

  async function addOrder() {
    setBusy(true) // Another click would make another order.
    try {
      const id = await hilo!.nextId('orders')
      setOrders((before) => [...before, id])
      setProblem('')
    } catch (error) {
      console.error(error)
      setProblem(HiloError.forUser(error))
    } finally {
      setBusy(false)
    }
  }

  return (
    <>
      <button type="button" onClick={addOrder} disabled={!hilo || isBusy}>
        New order
      </button>
      <p>{status?.available ?? '…'} ids left for offline work</p>
      <p role="alert">{problem}</p>
      <ol>
        {orders.map((id) => (
          <li key={id}>{id}</li>
        ))}
      </ol>
    </>
  )
}
