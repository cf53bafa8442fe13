/** The one `Hilo` of the app. Every module that needs an id imports it. */
import { createHilo } from 'offline-hilo'

export const hilo = createHilo({
  collections: { orders: { reserve: 200 }, lines: { reserve: 1000 } },
})
