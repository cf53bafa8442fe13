/** The inspector on a device without a server: that of `offline-hilo/testing`. */
import '../../src/addons/inspector/index.js'
import { createTestHilo } from '../../src/addons/testing/index.js'
import { HiloError } from '../../src/index.js'
import { must, setText } from '../views/dom.js'

const hilo = createTestHilo({ collections: { orders: { reserve: 40 }, customers: {} } })
await hilo.ready
must<HTMLElement & { hilo: typeof hilo }>('hilo-inspector').hilo = hilo

must('#order').addEventListener('click', async () => {
  const id = await hilo.nextId('orders').catch(HiloError.forUser)
  setText(must('[role="status"]'), id)
})
