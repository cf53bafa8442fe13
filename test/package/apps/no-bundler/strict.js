import { createHilo } from '/node_modules/offline-hilo/dist/client/index.js'

globalThis.ids = createHilo().nextIds('orders', 3)
