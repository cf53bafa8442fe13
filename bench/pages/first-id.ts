/** A page that wants an id as soon as it is there. */
import { createHilo } from '../../src/index.js'

declare global {
  interface Window {
    /** Milliseconds from the page's first statement to its first id. */
    firstId: Promise<number>
  }
}

const start = performance.now()
const hilo = createHilo({ name: 'first-id' })
window.firstId = hilo.nextId('orders').then(() => performance.now() - start)
