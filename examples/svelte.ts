/**
 * Svelte: the status as a store, for `$status` in the markup. It listens only while it has
 * subscribers, and is undefined without a `hilo`.
 */
import type { Hilo, HiloStatus } from 'offline-hilo'
import { type Readable, readable } from 'svelte/store'

export function hiloStatus(hilo: Hilo | undefined): Readable<HiloStatus | undefined> {
  return readable<HiloStatus | undefined>(hilo?.status(), (set) => {
    const refresh = () => set(hilo?.status())
    refresh()
    hilo?.addEventListener('status', refresh)
    return () => hilo?.removeEventListener('status', refresh)
  })
}
