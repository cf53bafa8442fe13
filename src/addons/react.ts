/**
 * `offline-hilo/react`: the status of a `Hilo` in a component that renders anew when it changes.
 */
import { useMemo, useSyncExternalStore } from 'react'
import type { Hilo } from '../client/hilo.js'
import type { CollectionStatus, HiloStatus } from '../client/status.js'
import type { CollectionRef } from '../core/names.js'

/**
 * The status of all collections. Undefined while there is no `hilo`, and when rendered on a server
 * or hydrated, where nothing is known yet.
 *
 * @example
 * const status = useHiloStatus(hilo)
 * return <p>{status?.online ? 'online' : 'offline'}</p>
 */
export function useHiloStatus(hilo: Hilo | undefined): HiloStatus | undefined
/**
 * The status of one collection; undefined as for all.
 *
 * @param collection a name, a class, or an entity, which may be a new object in each render
 * @throws HiloError `invalid-collection`; TypeError when `hilo` is none
 * @example
 * const orders = useHiloStatus(hilo, 'orders')
 * return <p>{orders?.state}</p>
 */
export function useHiloStatus<Name extends string>(
  hilo: Hilo<Name> | undefined,
  collection: CollectionRef<NoInfer<Name>>,
): CollectionStatus | undefined
export function useHiloStatus(
  hilo: Hilo | undefined,
  collection?: CollectionRef,
): HiloStatus | CollectionStatus | undefined {
  const ref = stableRef(collection)
  const { subscribe, snapshot } = useMemo(() => watch(hilo, ref), [hilo, ref])
  return useSyncExternalStore(subscribe, snapshot, nothingYet)
}

/** An entity is a new object in each render, and stands for its class, which is always the same. */
function stableRef(collection: CollectionRef | undefined): CollectionRef | undefined {
  const isEntity = typeof collection === 'object' && collection !== null
  return isEntity ? (collection.constructor ?? collection) : collection
}

/**
 * React wants the same object until something has changed; `hilo.status()` makes a new one each
 * time.
 */
function watch(hilo: Hilo | undefined, collection: CollectionRef | undefined) {
  if (hilo && typeof hilo.status !== 'function')
    throw new TypeError('useHiloStatus: `hilo` has to be what createHilo returned.')
  const read = () => (collection === undefined ? hilo?.status() : hilo?.status(collection))
  let status = read()
  return {
    snapshot: () => status,
    subscribe(changed: () => void) {
      const look = () => {
        status = read()
        changed()
      }
      hilo?.addEventListener('status', look)
      // Something may have changed since the component was rendered.
      if (hilo) look()
      return () => hilo?.removeEventListener('status', look)
    },
  }
}

const nothingYet = () => undefined
