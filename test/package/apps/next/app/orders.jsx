'use client'

import { createHilo } from 'offline-hilo'
import { ravenConventions } from 'offline-hilo/raven'
import { useEffect } from 'react'

/** A client component, which Next also renders on its server: `createHilo` waits for the browser. */
export function Orders({ errorName }) {
  useEffect(() => {
    const hilo = createHilo({ ...ravenConventions, url: '/ids' })
    globalThis.ids = hilo.nextIds('orders', 3)
    return () => void hilo.close()
  }, [])
  return <p>{errorName}</p>
}
