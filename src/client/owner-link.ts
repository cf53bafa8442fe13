/**
 * The page's link to the owner of the ranges: a worker, or the same code in this page when no
 * worker starts (H16). Where a worker dies or hangs, another one takes its place: its file is in
 * the browser’s cache, and the code for the page may not be there without a network (H35). A call
 * that is lost with a worker is made again to the next owner; every method of it can be repeated.
 */
import { proxy, wrap } from 'comlink'
import { HiloError } from '../core/errors.js'
import { onAbort } from '../core/on-abort.js'
import { VERSION } from '../core/version.js'
import type { Owner, OwnerCallbacks, OwnerConfig } from '../device/contract.js'
import { Connection, LOST } from './connection.js'
import { isPrerendering, onActivation } from './prerender.js'

/** More than one owner makes, and few enough that the sum is exact. */
export const VIEWS_OF_OWNER = 2 ** 32

type Method =
  | 'exchange'
  | 'claim'
  | 'reserve'
  | 'release'
  | 'startOver'
  | 'collections'
  | 'inspect'
  | 'nextIdentity'

export interface LinkOptions {
  /** Undefined: the owner runs in this realm from the start. */
  spawn: (() => Worker) | undefined
  /** The owner for this realm. */
  ownerHere: () => Promise<Owner>
  config: OwnerConfig
  callbacks: OwnerCallbacks
  /** There is no worker, so the owner runs in this page. */
  inPage(cause: unknown): void
}

export class OwnerLink {
  readonly #options: LinkOptions
  #owners = 0
  #connection: Promise<Connection> | undefined
  /** A worker that has not answered yet, or a page that its user has not seen yet. */
  #starting: Pick<Connection, 'end'> | undefined
  /** The app's switch, for owners that come later. */
  #isOnline = true
  #isWatched = false
  #end: { reason: unknown } | undefined
  /** Workers that died or hung, after they had answered. */
  #lost = 0
  /** Has an owner ever answered? Before, this page can hold nothing. */
  wasOpened = false

  constructor(options: LinkOptions) {
    this.#options = options
    if (options.spawn) void this.#use(this.#start())
  }

  /**
   * @param early the signal that ends the call, and the name under which the owner cancels it
   * @throws HiloError `server-unreachable` when the owner runs nowhere, `closed`
   */
  async call<M extends Method>(
    method: M,
    args: Parameters<Owner[M]>,
    early?: { call: string; ended: AbortSignal },
  ): Promise<Awaited<ReturnType<Owner[M]>>> {
    for (;;) {
      const connecting = this.#connect()
      const connection = await connecting
      early?.ended.throwIfAborted()
      const isOver = early && onAbort(early.ended, () => connection.owner.cancel(early.call))
      try {
        return await connection.call(method, args)
      } catch (error) {
        if (error !== LOST) throw error
        if (this.#connection === connecting) void this.#use(this.#replace())
      } finally {
        isOver?.()
      }
    }
  }

  /** As the owner's; an owner that replaces it is told, too. */
  setOnline(isOnline: boolean): void {
    this.#isOnline = isOnline
    this.#notify((owner) => owner.setOnline(isOnline))
  }

  /** As the owner's; an owner that replaces it is told, too. */
  watch(isWatched: boolean): void {
    this.#isWatched = isWatched
    this.#notify((owner) => owner.watch(isWatched))
  }

  /** As the owner's. */
  retryNow(): void {
    this.#notify((owner) => owner.retryNow())
  }

  /** As the owner's; where none has started, nothing was used. */
  reportNow(): void {
    this.#connection?.then(({ owner }) => owner.reportNow(), ignore)
  }

  /**
   * Calls that wait are rejected with `reason`, and no owner is started any more. Resolves when the
   * owner has ended.
   */
  async end(reason: unknown): Promise<void> {
    this.#end = { reason }
    this.#starting?.end(reason)
    const connection = await this.#connection?.catch(ignore)
    await connection?.close(reason)
  }

  #notify(send: (owner: Owner) => void): void {
    this.#connect().then(({ owner }) => send(owner), ignore)
  }

  #connect(): Promise<Connection> {
    if (this.#end) return Promise.reject(this.#end.reason)
    return this.#connection ?? this.#use(this.#start())
  }

  #start(): Promise<Connection> {
    if (isPrerendering()) return this.#whenActivated().then(() => this.#start())
    const { spawn } = this.#options
    return spawn ? this.#connectWorker(spawn) : this.#connectHere()
  }

  #whenActivated(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#starting = { end: reject }
      onActivation(resolve)
    })
  }

  /** A second worker that is lost may have the same reason, which the page has not. */
  #replace(): Promise<Connection> {
    return this.#lost++ > 0 ? this.#connectHere(LOST).catch(() => this.#start()) : this.#start()
  }

  /** A connection that cannot be made is tried again by the next call. */
  #use(connection: Promise<Connection>): Promise<Connection> {
    this.#connection = connection
    connection.catch(() => {
      if (this.#connection === connection) this.#connection = undefined
    })
    return connection
  }

  async #connectWorker(spawn: () => Worker): Promise<Connection> {
    try {
      const worker = spawn()
      const connection = new Connection(wrap<Owner>(worker) as unknown as Owner, worker)
      this.#starting = connection
      await this.#open(connection, proxy(this.#options.callbacks))
      this.#starting = undefined
      return connection
    } catch (cause) {
      this.#starting?.end(LOST)
      return this.#connectHere(cause)
    }
  }

  /** @param why there is no worker; undefined: there shall be none */
  async #connectHere(why?: unknown): Promise<Connection> {
    // guard: H16 a closed page starts no owner
    if (this.#end) throw this.#end.reason
    try {
      const connection = new Connection(await this.#options.ownerHere())
      await this.#open(connection, this.#options.callbacks)
      if (why) this.#options.inPage(why)
      return connection
    } catch (cause) {
      if (cause instanceof HiloError) throw cause
      throw new HiloError('server-unreachable', NOWHERE + whyNowhere(), { cause })
    }
  }

  /** @throws when the owner was lost; HiloError `outdated` when it is of another version */
  async #open(connection: Connection, callbacks: OwnerCallbacks): Promise<void> {
    const { config } = this.#options
    const firstView = this.#owners++ * VIEWS_OF_OWNER
    const version = await connection.call('open', [config, callbacks, firstView])
    if (version !== VERSION) {
      void connection.close(LOST)
      throw new HiloError('outdated', `Files of ${VERSION} and ${version} are mixed. Reload.`)
    }
    this.wasOpened = true
    if (!this.#isOnline) connection.owner.setOnline(false)
    if (this.#isWatched) connection.owner.watch(true)
  }
}

const NOWHERE = 'No id can be made: offline-hilo could not be loaded. '
function whyNowhere(): string {
  const { document, navigator } = globalThis as Partial<typeof globalThis>
  if (!document) return "In a worker, import createHilo from 'offline-hilo/worker'."
  return navigator?.onLine === false
    ? 'There is no network: the service worker has to store its files.'
    : 'Is it served as JavaScript? Does the content security policy allow it ' +
        '(worker-src, script-src)?'
}

const ignore = (): void => {}
