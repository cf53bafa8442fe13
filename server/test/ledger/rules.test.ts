/**
 * The ledger without a database: its rules, over rows in maps, keep every promise that they keep on
 * SQLite and PostgreSQL. So the simulation may use these maps, too.
 */
import { createLedger } from '../../src/ledger/create-ledger.js'
import { LIMITS } from '../ledger-bench.js'
import { describeLedger } from '../ledger-contract.js'
import { MemoryStore } from './memory-store.js'

describeLedger('ledger in memory', async () => {
  const store = new MemoryStore()
  return {
    open: async (limits) => createLedger(store, { ...LIMITS, ...limits }, new Map()),
    secret: async () => store.secrets.kept,
  }
})
