/** The page under test: an app with `hilo` made from the options in its address, and `createHilo` for more. */
import { createHilo, type Hilo, type HiloOptions } from '../../../src/index.js'

declare global {
  interface Window {
    hilo: Hilo
    createHilo: typeof createHilo
  }
}

const query = new URLSearchParams(location.search)
const options: HiloOptions = JSON.parse(query.get('options') ?? '{}')
const worker = query.get('worker')
window.createHilo = createHilo
window.hilo = createHilo({ ...options, ...(worker && { worker: () => new Worker(worker, { type: 'module' }) }) })
