/** The desk's ids: one Hilo for both collections, from the server that the page came from. */
import { createHilo } from '../src/index.js'

export const hilo = createHilo({
  collections: { orders: { reserve: 60 }, customers: { reserve: 30 } },
})
