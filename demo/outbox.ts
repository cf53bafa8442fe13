/**
 * Sends what waits to the server's tables: customers first, because orders refer to them. A batch whose answer was lost is sent again as it is;
 * the server recognises each record by its key. Any tab may send any record, so no tab has to be elected.
 */
import type { Collection, Counts, Records, Result } from './records.js'
import type { DeskStore } from './store.js'

const BATCH = 50
const TIMEOUT_MS = 10_000
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 30_000
/** How long another tab has to send its own orders before this one does it. */
const OTHERS_FIRST_MS = 3_000

export interface OutboxOptions {
  store: DeskStore
  isOnline(): boolean
  /** Records in the store have another state now. */
  settled(): void
  /** Only what this tab shows of the outbox changed. */
  changed(): void
}

export class Outbox {
  readonly #options: OutboxOptions
  #sending: Promise<void> | undefined
  #isMoreToSend = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #stop = new AbortController()
  /** Why the last attempt failed; it is repeated by itself. */
  problem: string | undefined
  /** Of the server's tables, as last heard. */
  counts: Counts | undefined

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** Sends now: something new waits, or the network may be back. */
  hurry(): void {
    this.#failures = 0
    clearTimeout(this.#timer)
    this.#send()
  }

  /** Another tab has something to send, and will, unless it is gone. */
  stepInLater(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#send(), OTHERS_FIRST_MS)
    this.#askCounts().catch(() => {})
  }

  /** The desk went offline: nothing more goes out. What was under way may have arrived; it will be recognised. */
  pause(): void {
    clearTimeout(this.#timer)
    this.#stop.abort()
    this.#stop = new AbortController()
    this.problem = undefined
  }

  #send(): void {
    this.#isMoreToSend = true
    if (!this.#options.isOnline()) return
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
      this.#options.changed()
      if (this.#isMoreToSend && !this.problem) this.#send()
    })
  }

  async #sendAll(): Promise<void> {
    const { signal } = this.#stop
    try {
      while (this.#isMoreToSend) {
        this.#isMoreToSend = false
        const customers = await this.#sendSome('customers')
        const orders = await this.#sendSome('orders')
        this.#isMoreToSend ||= customers || orders
      }
      await this.#askCounts()
      this.#failures = 0
      this.problem = undefined
    } catch (error) {
      if (signal.aborted) return
      this.problem = error instanceof Refusal ? error.message : 'The server does not answer.'
      const backOff = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LAST_RETRY_MS) * (1 - Math.random() / 2)
      this.#timer = setTimeout(() => this.#send(), backOff)
    }
  }

  /** @returns was there something to send? */
  async #sendSome<C extends Collection>(collection: C): Promise<boolean> {
    const records: Records[C][] = await this.#options.store.waiting(collection, BATCH)
    if (records.length === 0) return false
    const { results } = await this.#request<{ results: Result[] }>(`/api/${collection}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(records),
    })
    const changes = await this.#options.store.settle(collection, results)
    // Nothing would end the loop.
    if (changes === 0 && (await this.#options.store.isWaiting(collection, records[0]!.key)))
      throw new Refusal('The server does not say what became of what was sent.')
    this.#options.settled()
    return true
  }

  async #askCounts(): Promise<void> {
    if (!this.#options.isOnline()) return
    this.counts = await this.#request<Counts>('/api/counts')
    this.#options.changed()
  }

  async #request<T>(path: string, init?: RequestInit): Promise<T> {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(TIMEOUT_MS)])
    const response = await fetch(path, { ...init, cache: 'no-store', signal })
    if (!response.ok) throw new Refusal(`The server answered ${response.status}.`)
    return response.json() as Promise<T>
  }
}

class Refusal extends Error {}
