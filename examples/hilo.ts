/** The one `Hilo` of an app, in its own module: hot updates and new mounts leave it alone. */
import { createHilo } from 'offline-hilo'

// A framework may also load this on its server, where there is no page.
export const hilo =
  typeof window === 'undefined'
    ? undefined
    : createHilo({ collections: { orders: { reserve: 200 } } })
