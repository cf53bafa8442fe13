/** What a page loads until it has an id of this package, as it is built. */
import { createHilo } from 'offline-hilo'

window.firstId = createHilo({ name: 'loads' }).nextNumber('orders')
