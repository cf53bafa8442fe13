/** The library's worker in a file of one's own, which also counts its transactions. */
import { startWorker } from '../../src/worker/index.js'
import { countTransactions } from './transactions.js'

countTransactions()
startWorker()
