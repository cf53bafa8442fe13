/** Strict transactions of workers: each counts its own, and any page can ask for the sum. */
const CHANNEL = 'bench transactions'

/** Counts those of this realm from here on. */
export function countTransactions(): void {
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
}

/** The sum of so many workers'. */
export function sumOfTransactions(workers: number): Promise<number> {
  return new Promise((resolve) => {
    const channel = new BroadcastChannel(CHANNEL)
    let sum = 0
    let left = workers
    channel.onmessage = ({ data }) => {
      if (typeof data !== 'number') return
      sum += data
      if (--left > 0) return
      channel.close()
      resolve(sum)
    }
    channel.postMessage('how many?')
  })
}
