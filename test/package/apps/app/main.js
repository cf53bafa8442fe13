/** The app that most bundlers get: the main entry with its worker, and an entry beside it. */
import { createHilo } from 'offline-hilo'
import { ravenConventions } from 'offline-hilo/raven'

globalThis.ids = createHilo(ravenConventions).nextIds('orders', 3)
