/**
 * Keeps this browser's records and the server's tables equal. It sends what waits, customers first,
 * because orders refer to them, and fetches what others changed. If an answer is lost, it sends the
 * same batch again, and the server recognises each record by its key. Any tab can send any record,
 * so no tab has to be elected.
 */
import type { Answer, Changes, Collection, Counts } from './records.js'
import type { DeskStore } from './store.js'

const BATCH = 50
const TIMEOUT_MS = 10_000
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 30_000
/** How long another tab has to send its own orders before this one does it. */
const OTHERS_FIRST_MS = 3_000
/** Only while the page is visible. */
const LOOK_EVERY_MS = 3_000

export interface SyncOptions {
  store: DeskStore
  isOnline(): boolean
  isShown(): boolean
  /** Records in the store changed. */
  settled(): void
  /** Only this tab's own view of the sync changed. */
  changed(): void
}

export class Sync {
  readonly #options: SyncOptions
  #running: Promise<void> | undefined
  #isMoreToSend = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #stop = new AbortController()
  /** Why the last attempt failed. The sync repeats it. */
  problem: string | undefined
  /** The server's figures, as of its last answer. */
  counts: Counts | undefined

  constructor(options: SyncOptions) {
    this.#options = options
  }

  /** Sends what waits, once. @throws Error when not all of it arrived */
  static async once(store: DeskStore): Promise<void> {
    const sync = new Sync({
      store,
      isOnline: () => true,
      isShown: () => false,
      settled() {},
      changed() {},
    })
    await sync.#run()
    clearTimeout(sync.#timer)
    if (sync.problem) throw new Error(sync.problem)
  }

  /** Sends now: something new waits, or the network may be back. */
  runNow(): void {
    this.#failures = 0
    clearTimeout(this.#timer)
    this.#start()
  }

  /** Another tab has something to send. It does so itself, unless it was closed. */
  stepInLater(): void {
    this.#plan(OTHERS_FIRST_MS)
  }

  /**
   * The desk went offline: nothing more is sent. Requests under way may have arrived; the server
   * will recognise their records.
   */
  pause(): void {
    clearTimeout(this.#timer)
    this.#stop.abort()
    this.#stop = new AbortController()
    this.problem = undefined
  }

  #plan(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#start(), ms)
  }

  #start(): void {
    this.#isMoreToSend = true
    if (!this.#options.isOnline()) return
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      this.#options.changed()
      if (this.#isMoreToSend && !this.problem) this.#start()
    })
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    try {
      do {
        this.#isMoreToSend = false
        const customers = await this.#sendSome('customers', signal)
        const orders = await this.#sendSome('orders', signal)
        this.#isMoreToSend ||= customers || orders
      } while (this.#isMoreToSend)
      await this.#fetchChanges(signal)
      this.#failures = 0
      this.problem = undefined
      if (this.#options.isShown()) this.#plan(LOOK_EVERY_MS)
    } catch (error) {
      if (signal.aborted) return
      const { message } = error as Error
      this.problem =
        error instanceof ServerProblem
          ? message
          : `This browser did not store it: ${message.replace(/\.$/, '')}.`
      this.#plan(
        Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LAST_RETRY_MS) * (1 - Math.random() / 2),
      )
    }
  }

  /** @returns was there something to send? */
  async #sendSome(collection: Collection, stop: AbortSignal): Promise<boolean> {
    const { store, settled } = this.#options
    const records = await store.takeWaiting(collection, BATCH)
    if (records.length === 0) return false
    const { results, counts } = await this.#request<Answer>(`/api/${collection}`, stop, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(records),
    })
    this.counts = counts
    const changes = await store.settle(collection, records, results)
    // Without this check the loop would never end.
    if (changes === 0 && (await store.isWaiting(collection, records[0]!.key)))
      throw new ServerProblem('The server’s answer does not say what happened to the orders.')
    settled()
    return true
  }

  async #fetchChanges(stop: AbortSignal): Promise<void> {
    const { store, settled } = this.#options
    for (;;) {
      const changes = await this.#request<Changes>(
        `/api/changes?since=${await store.since()}`,
        stop,
      )
      this.counts = changes.counts
      await store.merge(changes)
      if (changes.customers.length + changes.orders.length > 0) settled()
      if (changes.isAll) return
    }
  }

  async #request<T>(path: string, stop: AbortSignal, init?: RequestInit): Promise<T> {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)])
    const noAnswer = () => Promise.reject(new ServerProblem('The server does not answer.'))
    const response = await fetch(path, { ...init, cache: 'no-store', signal }).catch(noAnswer)
    if (!response.ok) throw new ServerProblem(`The server answered ${response.status}.`)
    return response.json().catch(noAnswer) as Promise<T>
  }
}

class ServerProblem extends Error {}
