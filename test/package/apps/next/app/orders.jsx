'use client'

import { createHilo } from 'offline-hilo'
import { ravenConventions } from 'offline-hilo/raven'
import { useHiloStatus } from 'offline-hilo/react'
import { useEffect, useState } from 'react'

/** A client component, which Next also renders on its server: `createHilo` waits for the browser. */
export function Orders({ errorName }) {
  const [hilo, setHilo] = useState()
  const status = useHiloStatus(hilo)
  useEffect(() => {
    const hilo = createHilo({ ...ravenConventions, url: '/ids' })
    setHilo(hilo)
    globalThis.ids = hilo.nextIds('orders', 3)
    return () => void hilo.close()
  }, [])
  return (
    <p>
      {errorName}, {status?.storage ?? 'nothing yet'}
    </p>
  )
}
