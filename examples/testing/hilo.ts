/** The one Hilo of the app. */
import { createHilo } from 'offline-hilo'

export const hilo = createHilo({ collections: { orders: { reserve: 200 } } })
