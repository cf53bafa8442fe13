/**
 * Transactions of the simulated IndexedDB, with its real rules: one without `commit()` ends by
 * itself when nothing is asked any more, and dies with its page; one with it goes on without the
 * page; one in a frozen page keeps the others waiting.
 */

import { copyData } from './copy-data.js'
import type { Write } from './disk.js'
import type { DatabaseHost, Waiting } from './idb-host.js'
import { compareKeys, SimKeyRange } from './idb-keys.js'
import type { Actor } from './scheduler.js'

/** As much of an `EventTarget` as this needs. */
export class SimTarget {
  readonly #listeners = new Map<string, Set<(event: object) => void>>()

  addEventListener(type: string, listener: (event: object) => void): void {
    this.#listeners.set(type, (this.#listeners.get(type) ?? new Set()).add(listener))
  }

  removeEventListener(type: string, listener: (event: object) => void): void {
    this.#listeners.get(type)?.delete(listener)
  }

  emit(type: string, detail: object = {}): void {
    const event = { type, target: this, ...detail }
    ;(this as unknown as Record<string, ((event: object) => void) | undefined>)[`on${type}`]?.(
      event,
    )
    for (const listener of [...(this.#listeners.get(type) ?? [])]) listener(event)
  }
}

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
  readonly #isLost: boolean
  readonly #writes: Write[] = []
  readonly #asked: { request: SimRequest; work: () => unknown }[] = []
  /** Answers on their way to the page. */
  #undelivered = 0
  #state: 'queued' | 'idle' | 'busy' | 'over' = 'queued'

  constructor(
    host: DatabaseHost,
    owner: Actor,
    stores: readonly string[],
    mode: string,
    isStrict: boolean,
  ) {
    super()
    this.#host = host
    this.owner = owner
    this.objectStoreNames = stores
    this.#mode = mode
    this.#isStrict = isStrict
    this.#isLost = host.deafTo.has(owner)
    host.add(this)
  }

  objectStore(name: string): SimObjectStore {
    this.#requireLive()
    return new SimObjectStore(this, name)
  }

  commit(): void {
    this.#requireLive()
    this.isCommitted = true
    this.#proceed()
  }

  abort(): void {
    this.#requireLive()
    this.fail('AbortError')
  }

  blocks(later: SimTransaction): boolean {
    const isShared = this.objectStoreNames.some((name) => later.objectStoreNames.includes(name))
    return isShared && (this.#mode !== 'readonly' || later.#mode !== 'readonly')
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

  /** Records as this transaction sees them: its own writes included. */
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
   * All that is asked so far, and the end if the page said so. The work is an event of the database
   * process, its answer one of the page.
   */
  #proceed(): void {
    if (this.#state !== 'idle' || (this.#asked.length === 0 && !this.isCommitted)) return
    this.#state = 'busy'
    const { scheduler, actor } = this.#host
    scheduler.post(actor, this.#host.delay(), 'storage works', () => {
      if (this.#state !== 'busy') return
      if (this.isCommitted) this.#commit()
      else this.#answer(this.#work())
    })
  }

  #answer(done: readonly SimRequest[]): void {
    this.#undelivered++
    this.#host.scheduler.post(this.owner, 0, 'storage answers', () => this.#deliver(done), this)
    this.#state = 'idle'
    this.#proceed()
  }

  #work(): SimRequest[] {
    return this.#asked.splice(0).map(({ request, work }) => {
      request.result = work()
      return request
    })
  }

  #deliver(requests: readonly SimRequest[]): void {
    this.#undelivered--
    for (const request of requests) request.emit('success')
    // Once nothing is asked any more, a transaction commits by itself.
    this.#host.scheduler.afterThis(() => {
      if (
        this.#state === 'idle' &&
        this.#undelivered === 0 &&
        this.#asked.length === 0 &&
        !this.isCommitted
      )
        this.commit()
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
    disk.commit(this.#writes, this.#isStrict)
    if (this.#writes.length > 0) this.#host.committed(this.#writes, this.#isStrict)
    this.#end()
    const complete = () => {
      for (const request of done) request.emit('success')
      this.emit('complete')
    }
    scheduler.post(this.owner, 0, 'transaction completes', complete, this)
  }

  #end(): void {
    this.#state = 'over'
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
    return this.#transaction.request(() =>
      copyData(this.#transaction.read(this.#name).get(JSON.stringify(key))?.value),
    )
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
