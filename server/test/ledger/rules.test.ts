/** The rules of the ledger without a database: the same promises, over rows in maps. */
import { createLedger } from '../../src/ledger/create-ledger.js'
import { LIMITS } from '../ledger-bench.js'
import { describeLedger } from '../ledger-contract.js'
import { MemoryStore } from './memory-store.js'

describeLedger('ledger in memory', async () => {
  const store = new MemoryStore()
  return {
    open: async (limits) => createLedger(store, { ...LIMITS, ...limits }, new Map()),
    secret: async () => store.secret,
  }
})
