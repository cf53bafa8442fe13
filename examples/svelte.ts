/**
 * Svelte: the status as a store, to be read as `$status`. It listens only while somebody reads it.
 */
import type { Hilo, HiloStatus } from 'offline-hilo'
import { type Readable, readable } from 'svelte/store'

export function hiloStatus(hilo: Hilo): Readable<HiloStatus> {
  return readable(hilo.status(), (set) => {
    const look = () => set(hilo.status())
    look()
    hilo.addEventListener('status', look)
    return () => hilo.removeEventListener('status', look)
  })
}
