/** `indexedDB` as one page or worker sees it, over its device's database process. */
import type { Connection, DatabaseHost } from './idb-host.js'
import { SimRequest, SimTransaction } from './idb-transaction.js'
import type { Actor } from './scheduler.js'
import { SimTarget } from './targets.js'

export class SimDatabase extends SimTarget implements Connection {
  readonly #host: DatabaseHost
  readonly actor: Actor
  #isOpen = true
  #isDead = false

  constructor(host: DatabaseHost, actor: Actor) {
    super()
    this.#host = host
    this.actor = actor
    host.connections.add(this)
    actor.onDeath.push(() => {
      host.connections.delete(this)
      host.abandon(actor)
    })
  }

  createObjectStore(name: string): void {
    this.#host.disk.stores.set(name, new Map())
  }

  transaction(
    stores: string | string[],
    mode = 'readonly',
    options: { durability?: string } = {},
  ): SimTransaction {
    if (!this.#isOpen)
      throw new DOMException('The database connection is closing.', 'InvalidStateError')
    const names = typeof stores === 'string' ? [stores] : stores
    if (names.some((name) => !this.#host.disk.stores.has(name)))
      throw new DOMException('No such object store.', 'NotFoundError')
    const { actor } = this
    const made = new SimTransaction(this.#host, actor, names, mode, options.durability === 'strict')
    if (this.#isDead) made.fail('UnknownError')
    return made
  }

  die(): void {
    this.#isDead = true
  }

  close(): void {
    this.#isOpen = false
    this.#host.connections.delete(this)
  }

  /** The browser closed the connection, not the page. */
  lose(): void {
    if (!this.#isOpen) return
    this.close()
    this.#host.scheduler.post(this.actor, 0, 'database connection lost', () => this.emit('close'))
  }
}

export function createIndexedDb(
  host: DatabaseHost,
  actor: Actor,
): { open(name: string, version?: number): SimRequest } {
  function open(request: SimRequest, version: number): void {
    const failure = host.faults.open === 'fails' ? 'UnknownError' : connect(request, version)
    if (failure) request.error = new DOMException('The simulated storage does not open.', failure)
    request.emit(failure ? 'error' : 'success')
  }

  /** @returns the name of the error */
  function connect(request: SimRequest, version: number): string | undefined {
    const { disk } = host
    const database = new SimDatabase(host, actor)
    request.result = database
    if (disk.version >= version) return undefined
    let isAborted = false
    const abort = () => {
      isAborted = true
    }
    request.transaction = { abort }
    request.emit('upgradeneeded', { oldVersion: disk.version, newVersion: version })
    if (isAborted) {
      database.close()
      return 'AbortError'
    }
    disk.version = version
    disk.flush()
    return undefined
  }

  return {
    open(_name, version = 1) {
      const request = new SimRequest()
      if (host.faults.open !== 'hangs')
        host.scheduler.post(actor, host.delay() + 1, 'database opens', () => open(request, version))
      return request
    },
  }
}
