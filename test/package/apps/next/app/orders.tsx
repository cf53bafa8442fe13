'use client'

import { createHilo, type Hilo } from 'offline-hilo'
import { useHiloStatus } from 'offline-hilo/react'
import { useEffect, useState } from 'react'

export function Orders() {
  const [hilo, setHilo] = useState<Hilo>()
  const [orders, setOrders] = useState<string[]>([])
  const status = useHiloStatus(hilo, 'orders')

  // In an effect, because Next renders this component on its server, too.
  useEffect(() => {
    const hilo = createHilo({ url: '/ids', collections: { orders: { reserve: 200 } } })
    setHilo(hilo)
    return () => void hilo.close()
  }, [])

  async function addOrder() {
    const id = await hilo!.nextId('orders')
    setOrders((before) => [...before, id])
  }

  return (
    <>
      <button type="button" onClick={addOrder} disabled={!hilo}>
        New order
      </button>
      <p>{status?.available ?? '…'} ids left for offline work</p>
      <ol>
        {orders.map((id) => (
          <li key={id}>{id}</li>
        ))}
      </ol>
    </>
  )
}
