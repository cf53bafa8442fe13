/** Names the ledger that a request of the tests is for: each name is other objects. */
export const LEDGER_HEADER = 'x-ledger'
/** Of an answer: how many commits its object began since the request came. */
export const COMMITS_HEADER = 'x-commits'
