/** Names the ledger that a request of the tests is for: each name is other objects. */
export const LEDGER_HEADER = 'x-ledger'
