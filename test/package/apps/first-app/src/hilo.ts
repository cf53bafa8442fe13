import { createHilo } from 'offline-hilo'

/** One for the whole app. */
export const hilo = createHilo({ collections: { orders: { reserve: 200 } } })
