/** The library's worker in a file of one's own, which also counts its costs. */
import { startWorker } from '../../src/worker/index.js'
import { countCosts } from '../../test/support/costs.js'

countCosts()
startWorker()
