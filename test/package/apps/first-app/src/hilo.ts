import { type CollectionStatus, createHilo } from 'offline-hilo'

/** One for the whole app. */
export const hilo = createHilo({ collections: { orders: { reserve: 200 } } })

/** What a user reads. At the start, nobody knows yet how many ids are here. */
export const idsLeft = ({ state, available }: CollectionStatus) =>
  `${available || (state === 'exhausted' ? 0 : '…')} ids left for offline work`
