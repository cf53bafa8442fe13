/** Counts this realm's strict transactions from here on, and tells the count to whoever asks on the channel. */
export const CHANNEL = 'bench transactions'

let transactions = 0
const { transaction } = IDBDatabase.prototype
IDBDatabase.prototype.transaction = function (stores, mode, options) {
  if (options?.durability === 'strict') transactions++
  return transaction.call(this, stores, mode, options)
}

const channel = new BroadcastChannel(CHANNEL)
channel.onmessage = ({ data }) => {
  if (data === 'how many?') channel.postMessage(transactions)
}
