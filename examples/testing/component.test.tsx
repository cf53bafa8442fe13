// @vitest-environment jsdom
/** A React component in jsdom, with a test's Hilo. */
import type { Hilo } from 'offline-hilo'
import { useHiloStatus } from 'offline-hilo/react'
import { createTestHilo } from 'offline-hilo/testing'
import { act, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { expect, test } from 'vitest'

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true })

function NewOrder({ hilo }: { hilo: Hilo<'orders'> }) {
  const status = useHiloStatus(hilo, 'orders')
  const [id, setId] = useState('')
  return (
    <>
      <button
        type="button"
        disabled={status?.state === 'exhausted'}
        onClick={async () => setId(await hilo.nextId('orders'))}
      >
        New order
      </button>
      <p>{id}</p>
    </>
  )
}

test('a user makes an order, and cannot when no id is left', async () => {
  const hilo = createTestHilo({ collections: { orders: { reserve: 2 } } })
  const root = createRoot(document.body.appendChild(document.createElement('div')))
  await act(async () => root.render(<NewOrder hilo={hilo} />))
  const button = document.querySelector('button')!
  await act(async () => button.click())
  expect(document.querySelector('p')!.textContent).toBe('orders/1-A')
  await act(async () => hilo.exhaust())
  expect(button.disabled).toBe(true)
})
