/** The desk's ids: one Hilo for both collections, from the server that the page came from. */
import { createHilo } from '../src/index.js'
// Imported before the `Hilo` is made, so that it hears the end of the page first.
import './plug.js'

export const hilo = createHilo({
  collections: { orders: { reserve: 60 }, customers: { reserve: 30 } },
})
