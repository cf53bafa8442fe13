/**
 * React: a component that shows how many ids are left for offline work and makes one at a click.
 */
import { HiloError } from 'offline-hilo'
import { useHiloStatus } from 'offline-hilo/react'
import { useState } from 'react'
import { hilo } from './hilo'
import { idsLeft } from './ids-left'

export function Orders() {
  const status = useHiloStatus(hilo, 'orders')
  const [ids, setIds] = useState<string[]>([])
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const add = async () => {
    setBusy(true) // Another click would make another order.
    try {
      const id = await hilo.nextId('orders')
      setIds((before) => [...before, id])
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
      <button type="button" onClick={add} disabled={isBusy}>
        New order
      </button>
      <p role="status">{status ? idsLeft(status) : '…'}</p>
      <p role="alert">{problem}</p>
      <ol>
        {ids.map((id) => (
          <li key={id}>{id}</li>
        ))}
      </ol>
    </>
  )
}
