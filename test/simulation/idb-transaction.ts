/**
 * Transactions of the simulated IndexedDB, with the rules of the real one. A transaction without
 * `commit()` ends by itself when it has no request left, and dies with its page. After `commit()`
 * it goes on without the page. In a frozen page it keeps the others waiting.
 */
import { copyData } from './copy-data.js'
import { type Home, storeIn, type Write } from './disk.js'
import type { DatabaseHost, Waiting } from './idb-host.js'
import { compareKeys, SimKeyRange } from './idb-keys.js'
import { type Actor, Queue } from './scheduler.js'
import { SimTarget } from './targets.js'

export class SimRequest extends SimTarget {
  result: unknown
  error: DOMException | null = null
  transaction: Pick<SimTransaction, 'abort'> | null = null
}

export class SimTransaction extends SimTarget implements Waiting {
  error: DOMException | null = null
  isCommitted = false
  readonly objectStoreNames: readonly string[]
  readonly owner: Actor
  readonly #host: DatabaseHost
  readonly #mode: string
  readonly #isStrict: boolean
  readonly #home: Home
  readonly #isLost: boolean
  readonly #writes: Write[] = []
  readonly #asked: { request: SimRequest; work: () => unknown }[] = []
  /** What the page hears of it. */
  readonly #queue = new Queue()
  #cancelWork = () => {}
  #state: 'queued' | 'idle' | 'busy' | 'over' = 'queued'

  constructor(
    host: DatabaseHost,
    owner: Actor,
    stores: readonly string[],
    mode: string,
    isStrict: boolean,
    home: Home = 'default',
  ) {
    super()
    this.#host = host
    this.owner = owner
    this.objectStoreNames = stores
    this.#mode = mode
    this.#isStrict = isStrict
    this.#home = home
    this.#isLost = host.deafTo.has(owner)
    host.add(this)
  }

  objectStore(name: string): SimObjectStore {
    this.#requireLive()
    return new SimObjectStore(this, storeIn(this.#home, name))
  }

  commit(): void {
    this.#requireLive()
    this.isCommitted = true
    if (this.#state === 'busy') {
      this.#cancelWork()
      this.#state = 'idle'
    }
    this.#proceed()
  }

  abort(): void {
    this.#requireLive()
    this.fail('AbortError')
  }

  blocks(later: SimTransaction): boolean {
    const isShared = this.objectStoreNames.some((name) => later.objectStoreNames.includes(name))
    return (
      this.#home === later.#home &&
      isShared &&
      (this.#mode !== 'readonly' || later.#mode !== 'readonly')
    )
  }

  start(): void {
    if (this.#state !== 'queued') return
    this.#state = 'idle'
    this.#proceed()
  }

  request(work: () => unknown): SimRequest {
    this.#requireLive()
    const request = new SimRequest()
    request.transaction = this
    this.#asked.push({ request, work })
    this.#proceed()
    return request
  }

  /** A record as this transaction sees it: its own writes included. */
  get(store: string, key: unknown): unknown {
    const text = JSON.stringify(key)
    const own = this.#writes.findLast((w) => w.store === store && JSON.stringify(w.key) === text)
    return (own ?? this.#host.disk.stores.get(store)?.get(text))?.value
  }

  /** All records, in the same way. */
  read(store: string): ReadonlyMap<string, { key: unknown; value: unknown }> {
    const records = new Map(this.#host.disk.stores.get(store))
    for (const write of this.#writes) {
      if (write.store !== store) continue
      if (write.value === undefined) records.delete(JSON.stringify(write.key))
      else records.set(JSON.stringify(write.key), write)
    }
    return records
  }

  write(write: Write): void {
    this.#writes.push(write)
  }

  fail(name: string): void {
    if (this.#state === 'over') return
    this.#end()
    this.error = new DOMException('The simulated storage failed.', name)
    this.#host.scheduler.post(this.owner, 0, `transaction fails: ${name}`, () => {
      for (const { request } of this.#asked.splice(0)) {
        request.error = this.error
        request.emit('error')
      }
      this.emit('abort')
    })
  }

  #requireLive(): void {
    if (this.isCommitted || this.#state === 'over')
      throw new DOMException('The transaction is not active.', 'InvalidStateError')
  }

  /**
   * Plans the work on all requests so far, or the commit if the page called `commit()`. No other
   * transaction can come in between. So the requests are done in the event in which the page hears
   * the answer, and a page that dies before has changed nothing. A commit is an event of the
   * database process.
   */
  #proceed(): void {
    if (this.#state !== 'idle' || (this.#asked.length === 0 && !this.isCommitted)) return
    this.#state = 'busy'
    const { scheduler, actor } = this.#host
    const delay = this.#host.delay()
    this.#cancelWork = this.isCommitted
      ? scheduler.post(actor, delay, 'storage commits', () => this.#commit())
      : scheduler.post(this.owner, delay, 'storage answers', () => this.#answer(), this.#queue)
  }

  #answer(): void {
    this.#state = 'idle'
    for (const request of this.#work()) request.emit('success')
    // A transaction without requests commits by itself.
    this.#host.scheduler.afterThis(() => {
      if (this.#state === 'idle' && this.#asked.length === 0 && !this.isCommitted) this.commit()
    })
    this.#proceed()
  }

  #work(): SimRequest[] {
    return this.#asked.splice(0).map(({ request, work }) => {
      request.result = work()
      return request
    })
  }

  #commit(): void {
    const { scheduler, actor, faults, disk } = this.#host
    if (this.#isLost) {
      this.#end()
      return
    }
    if (scheduler.random.chance(faults.commitFails)) {
      this.#host.failed()
      this.fail('QuotaExceededError')
      return
    }
    scheduler.note(actor, this.#isStrict ? 'strict commit' : 'relaxed commit')
    const done = this.#work()
    if (this.#writes.length > 0 && this.#host.crashes()) return
    disk.commit(this.#writes, this.#isStrict)
    if (this.#writes.length > 0) this.#host.committed(this.#writes, this.#isStrict)
    this.#end()
    const complete = () => {
      for (const request of done) request.emit('success')
      this.emit('complete')
    }
    scheduler.post(this.owner, 0, 'transaction completes', complete, this.#queue)
  }

  #end(): void {
    this.#state = 'over'
    this.#cancelWork()
    this.#host.remove(this)
  }
}

export class SimObjectStore {
  readonly #transaction: SimTransaction
  readonly #name: string

  constructor(transaction: SimTransaction, name: string) {
    this.#transaction = transaction
    this.#name = name
  }

  get(key: unknown): SimRequest {
    return this.#transaction.request(() => copyData(this.#transaction.get(this.#name, key)))
  }

  count(): SimRequest {
    return this.#transaction.request(() => this.#within(undefined).length)
  }

  getAll(range?: SimKeyRange): SimRequest {
    return this.#transaction.request(() => this.#within(range).map(({ value }) => copyData(value)))
  }

  getAllKeys(range?: SimKeyRange): SimRequest {
    return this.#transaction.request(() => this.#within(range).map(({ key }) => key))
  }

  put(value: unknown, key: unknown): SimRequest {
    const write = { store: this.#name, key: copyData(key), value: copyData(value) }
    return this.#transaction.request(() => this.#transaction.write(write))
  }

  add(value: unknown): SimRequest {
    const stored = copyData(value)
    return this.#transaction.request(() =>
      this.#transaction.write({
        store: this.#name,
        key: this.#transaction.read(this.#name).size + 1,
        value: stored,
      }),
    )
  }

  delete(query: unknown): SimRequest {
    const range = query instanceof SimKeyRange ? query : SimKeyRange.bound(query, query)
    return this.#transaction.request(() => {
      for (const { key } of this.#within(range))
        this.#transaction.write({ store: this.#name, key, value: undefined })
    })
  }

  #within(range: SimKeyRange | undefined): { key: unknown; value: unknown }[] {
    const records = [...this.#transaction.read(this.#name).values()].filter(
      ({ key }) => !range || range.includes(key),
    )
    return records.sort((a, b) => compareKeys(a.key, b.key))
  }
}
