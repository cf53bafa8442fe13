import { type CollectionStatus, createHilo } from 'offline-hilo'

/** The one `Hilo` of the app. Every module that needs an id imports it. */
export const hilo = createHilo({ collections: { orders: { reserve: 200 } } })

/** What a user reads. At the start, nobody knows yet how many ids are here. */
export const idsLeft = ({ state, available }: CollectionStatus) =>
  `${available || (state === 'exhausted' ? 0 : '…')} ids left for offline work`
