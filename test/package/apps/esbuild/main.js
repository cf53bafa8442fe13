/**
 * esbuild does not look for workers: the app has a file for the library's, and says where it is.
 */
import { createHilo } from 'offline-hilo'
import { ravenConventions } from 'offline-hilo/raven'

const worker = () => new Worker(new URL('./hilo-worker.js', import.meta.url), { type: 'module' })

globalThis.ids = createHilo({ ...ravenConventions, worker }).nextIds('orders', 3)
