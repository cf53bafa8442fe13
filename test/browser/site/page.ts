/**
 * The page under test: an app with `hilo` made from the options in its address, and `createHilo`
 * and `consecutive` for more.
 */
import { consecutive } from '../../../src/addons/consecutive/index.js'
import { openBucket } from '../../../src/device/bucket.js'
import { createHilo, type Hilo, type HiloOptions } from '../../../src/index.js'
import { documentSource } from '../../../src/source/index.js'

declare global {
  interface Window {
    hilo: Hilo
    createHilo: typeof createHilo
    consecutive: typeof consecutive
    /** The IndexedDB where a new device is. */
    home(): Promise<IDBFactory>
  }
}

const query = new URLSearchParams(location.search)
const options: HiloOptions = JSON.parse(query.get('options') ?? '{}')
const worker = query.get('worker')
const document = query.get('document')
window.createHilo = createHilo
window.consecutive = consecutive
window.home = async () => (await openBucket())?.indexedDB ?? indexedDB
window.hilo = createHilo({
  ...options,
  ...(worker && { worker: () => new Worker(worker, { type: 'module' }) }),
  ...(document && { source: documentSource({ url: document }) }),
})
