/**
 * React: a component that shows how many ids are left for offline work and makes one at a click.
 */
import { useHiloStatus } from 'offline-hilo/react'
import { useState } from 'react'
import { hilo } from './hilo.js'
import { idsLeft } from './ids-left.js'

export function Orders() {
  const status = useHiloStatus(hilo, 'orders')
  const [ids, setIds] = useState<string[]>([])
  const add = async () => {
    const id = await hilo.nextId('orders')
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
      <p role="status">{status ? idsLeft(status) : '…'}</p>
      <ol>
        {ids.map((id) => (
          <li key={id}>{id}</li>
        ))}
      </ol>
    </>
  )
}
