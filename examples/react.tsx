/**
 * React: a component that shows what is left for offline work, and makes ids when it is clicked.
 */
import { createHilo } from 'offline-hilo'
import { useHiloStatus } from 'offline-hilo/react'
import { useState } from 'react'

// Where a framework also renders on its server, there is no Hilo.
const hilo =
  typeof window === 'undefined'
    ? undefined
    : createHilo({ collections: { orders: { reserve: 200 } } })

export function Orders() {
  const status = useHiloStatus(hilo, 'orders')
  const [ids, setIds] = useState<string[]>([])
  const add = async () => {
    const id = await hilo!.nextId('orders')
    setIds((before) => [...before, id])
  }
  return (
    <>
      <button
        type="button"
        onClick={add}
        disabled={status === undefined || status.state === 'exhausted'}
      >
        New order
      </button>
      <p>{status?.available ?? '…'} ids left for offline work</p>
      <ol>
        {ids.map((id) => (
          <li key={id}>{id}</li>
        ))}
      </ol>
    </>
  )
}
