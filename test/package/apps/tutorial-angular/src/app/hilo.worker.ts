import { startWorker } from 'offline-hilo/worker'

startWorker()
