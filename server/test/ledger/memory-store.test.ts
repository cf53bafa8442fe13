/** The store that tests use keeps every promise that a database keeps. */
import { createLedger } from '../../src/ledger/create-ledger.js'
import { LIMITS } from '../ledger-bench.js'
import { describeLedger } from '../ledger-contract.js'
import { MemoryStore } from './memory-store.js'

describeLedger('ledger in memory', async () => {
  const store = new MemoryStore()
  return {
    open: async (limits = LIMITS) => createLedger(store, { ...LIMITS, ...limits }, new Map()),
    secret: async () => store.secret,
  }
})
