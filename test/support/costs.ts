/**
 * Counts what costs a page or a worker of a real browser something. Both functions may cross to it
 * as text, so they see globals only.
 */

/** Of one realm, or the sum of several. */
export interface Costs {
  /** Transactions of IndexedDB that wait for the disk. */
  strict: number
  /** Those that do not. */
  relaxed: number
  /** That were sent between pages and their workers. */
  messages: number
  /** That are set now. */
  timers: number
}

/** From here on this realm counts its own. To be called before the package's code runs. */
export function countCosts(): void {
  const costs = { strict: 0, relaxed: 0, messages: 0 }
  const timers = new Set<number>()
  const { transaction } = IDBDatabase.prototype
  IDBDatabase.prototype.transaction = function (stores, mode, options) {
    costs[options?.durability === 'strict' ? 'strict' : 'relaxed']++
    return transaction.call(this, stores, mode, options)
  }
  const senders = [MessagePort.prototype, globalThis.Worker?.prototype]
  for (const sender of 'document' in globalThis ? senders : [...senders, globalThis]) {
    if (!sender) continue
    const { postMessage } = sender as MessagePort
    Object.assign(sender, {
      postMessage(this: MessagePort, message: unknown, ...more: []) {
        // Comlink sends this when the garbage collector has come by.
        if ((message as { type?: string } | null)?.type !== 'RELEASE') costs.messages++
        return postMessage.call(this, message, ...more)
      },
    })
  }
  const { setTimeout: set, clearTimeout: clear } = globalThis
  Object.assign(globalThis, {
    setTimeout(run: () => void, ms?: number) {
      const ended = () => {
        timers.delete(timer)
        run()
      }
      const timer = set(ended, ms) as unknown as number
      timers.add(timer)
      return timer
    },
    clearTimeout(timer: number) {
      timers.delete(timer)
      clear(timer)
    },
  })
  const channel = new BroadcastChannel('costs')
  channel.onmessage = ({ data }) => {
    if (data === 'how many?') channel.postMessage({ ...costs, timers: timers.size })
  }
}

/** The sum of so many realms of this site that count. */
export function sumOfCosts(realms: number): Promise<Costs> {
  return new Promise((resolve) => {
    const channel = new BroadcastChannel('costs')
    const sum = { strict: 0, relaxed: 0, messages: 0, timers: 0 }
    let left = realms
    channel.onmessage = ({ data }: MessageEvent<Costs | string>) => {
      if (typeof data === 'string') return
      for (const name of Object.keys(sum) as (keyof Costs)[]) sum[name] += data[name]
      if (--left > 0) return
      channel.close()
      resolve(sum)
    }
    channel.postMessage('how many?')
  })
}
