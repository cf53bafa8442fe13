/** The one `Hilo` of an app whose framework also loads it on a server, where there is no page. */
import { createHilo } from 'offline-hilo'

export const hilo =
  typeof window === 'undefined'
    ? undefined
    : createHilo({ collections: { orders: { reserve: 200 } } })
