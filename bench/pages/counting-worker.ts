/** The library's own worker, which also counts its transactions and tells whoever asks. */
import './count-transactions.js'
import '../../src/worker/entry.js'
