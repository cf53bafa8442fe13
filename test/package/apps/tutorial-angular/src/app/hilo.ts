import { createHilo } from 'offline-hilo'

/** The one `Hilo` of the app. Every module that needs an id imports it. */
export const hilo = createHilo({
  collections: { orders: { reserve: 200 } },
  worker: () => new Worker(new URL('./hilo.worker.ts', import.meta.url), { type: 'module' }),
})
