/** `indexedDB` as one page or worker sees it, over its device's database process. */
import { type Home, storeIn } from './disk.js'
import type { Connection, DatabaseHost } from './idb-host.js'
import { SimRequest, SimTransaction } from './idb-transaction.js'
import type { Actor } from './scheduler.js'
import { SimTarget } from './targets.js'

export class SimDatabase extends SimTarget implements Connection {
  readonly #host: DatabaseHost
  readonly actor: Actor
  readonly home: Home
  #isOpen = true
  #isDead = false

  constructor(host: DatabaseHost, actor: Actor, home: Home) {
    super()
    this.#host = host
    this.actor = actor
    this.home = home
    host.connections.add(this)
    actor.onDeath.push(() => {
      host.connections.delete(this)
      host.abandon(actor)
    })
  }

  createObjectStore(name: string): void {
    this.#host.disk.stores.set(storeIn(this.home, name), new Map())
  }

  transaction(
    stores: string | string[],
    mode = 'readonly',
    options: { durability?: string } = {},
  ): SimTransaction {
    if (!this.#isOpen)
      throw new DOMException('The database connection is closing.', 'InvalidStateError')
    const names = typeof stores === 'string' ? [stores] : stores
    if (names.some((name) => !this.#host.disk.stores.has(storeIn(this.home, name))))
      throw new DOMException('No such object store.', 'NotFoundError')
    const { actor, home } = this
    const isStrict = options.durability === 'strict'
    const made = new SimTransaction(this.#host, actor, names, mode, isStrict, home)
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
  home: Home = 'default',
): {
  open(name: string, version?: number): SimRequest
  databases(): Promise<{ name: string }[]>
} {
  function open(request: SimRequest, name: string, version: number): void {
    const failure = host.faults.open === 'fails' ? 'UnknownError' : connect(request, name, version)
    if (failure) request.error = new DOMException('The simulated storage does not open.', failure)
    request.emit(failure ? 'error' : 'success')
  }

  /** @returns the name of the error */
  function connect(request: SimRequest, name: string, version: number): string | undefined {
    const { disk } = host
    const database = new SimDatabase(host, actor, home)
    request.result = database
    const oldVersion = disk.versions[home]
    if (oldVersion >= version) return undefined
    let isAborted = false
    const abort = () => {
      isAborted = true
    }
    request.transaction = { abort }
    request.emit('upgradeneeded', { oldVersion, newVersion: version })
    if (isAborted) {
      database.close()
      return 'AbortError'
    }
    disk.versions = { ...disk.versions, [home]: version }
    host.name = name
    disk.flush()
    return undefined
  }

  return {
    databases: () =>
      host.answer(actor, 'databases are listed', () => {
        if (host.faults.lists === 'fail') return undefined
        return host.disk.versions[home] > 0 ? [{ name: host.name }] : []
      }),
    open(name, version = 1) {
      const request = new SimRequest()
      if (host.faults.open !== 'hangs')
        host.scheduler.post(actor, host.delay() + 1, 'database opens', () =>
          open(request, name, version),
        )
      return request
    },
  }
}
