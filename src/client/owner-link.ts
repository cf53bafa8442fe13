/**
 * The page's connection to the owner of the ranges: a worker, or the same code in this page when no
 * worker starts, dies or hangs (H16). Comlink calls on a dead worker never settle, so each is raced
 * with the worker's death and a deadline, then asked again of the next owner; every method of the
 * owner can be repeated.
 */
import { proxy, wrap } from 'comlink'
import type { Owner, OwnerCallbacks, OwnerConfig } from '../core/contract.js'
import { HiloError } from '../core/errors.js'
import { whenLate } from '../core/when-late.js'

type Method = 'exchange' | 'claim' | 'reserve' | 'release' | 'inspect' | 'nextIdentity'

/**
 * Longer than the storage's own deadlines: whoever has not answered by then does not run any more.
 */
const HANG_MS = 8_000

interface Connection {
  owner: Owner
  /**
   * Rejects when the worker is lost; undefined for the owner in this realm, which lives as long as
   * the page.
   */
  lost?: Promise<never>
  end(): void
}

export interface LinkOptions {
  /** Undefined: the owner runs in this realm from the start. */
  spawn: (() => Worker) | undefined
  /** The owner for this realm. */
  ownerHere: () => Promise<Owner>
  config: OwnerConfig
  callbacks: OwnerCallbacks
}

export class OwnerLink {
  readonly #options: LinkOptions
  #connection: Promise<Connection> | undefined
  /** The app's switch, for owners that come later. */
  #isOnline = true
  #isWatched = false

  constructor(options: LinkOptions) {
    this.#options = options
    if (options.spawn) this.#use(this.#connectWorker(options.spawn))
  }

  /**
   * @param networkTime milliseconds this call may take beyond the owner's own work, for what it waits
   * for elsewhere
   * @throws HiloError `storage-failed` when the owner runs nowhere
   */
  async call<M extends Method>(
    method: M,
    args: Parameters<Owner[M]>,
    networkTime = 0,
  ): Promise<Awaited<ReturnType<Owner[M]>>> {
    for (;;) {
      const connecting = this.#connect()
      const { owner, lost, end } = await connecting
      const answer = (owner[method] as (...all: unknown[]) => unknown)(...args) as ReturnType<
        Owner[M]
      >
      if (!lost) return await answer
      const cancel = whenLate(HANG_MS + networkTime, end)
      try {
        return await Promise.race([answer, lost])
      } catch {
        if (this.#connection === connecting) this.#use(this.#connectHere())
      } finally {
        cancel()
      }
    }
  }

  /** As the owner's; whoever replaces it is told, too. */
  setOnline(isOnline: boolean): void {
    this.#isOnline = isOnline
    this.#notify((owner) => owner.setOnline(isOnline))
  }

  /** As the owner's; whoever replaces it is told, too. */
  watch(isWatched: boolean): void {
    this.#isWatched = isWatched
    this.#notify((owner) => owner.watch(isWatched))
  }

  /** As the owner's. */
  retryNow(): void {
    this.#notify((owner) => owner.retryNow())
  }

  close(): void {
    this.#connection?.then(
      ({ owner, end }) => {
        owner.close()
        end()
      },
      () => {},
    )
  }

  #notify(say: (owner: Owner) => void): void {
    this.#connect().then(
      ({ owner }) => say(owner),
      () => {},
    )
  }

  #open(owner: Owner, callbacks: OwnerCallbacks): void {
    owner.open(this.#options.config, callbacks)
    if (!this.#isOnline) owner.setOnline(false)
    if (this.#isWatched) owner.watch(true)
  }

  #connect(): Promise<Connection> {
    return this.#connection ?? this.#use(this.#connectHere())
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
    let worker: Worker
    try {
      worker = spawn()
    } catch {
      return this.#connectHere()
    }
    let end!: () => void
    const lost = new Promise<never>((_, reject) => {
      end = () => {
        worker.terminate()
        reject()
      }
    })
    lost.catch(() => {})
    worker.addEventListener('error', end)
    worker.addEventListener('messageerror', end)
    const owner = wrap<Owner>(worker) as unknown as Owner
    this.#open(owner, proxy(this.#options.callbacks))
    return { owner, lost, end }
  }

  async #connectHere(): Promise<Connection> {
    let owner: Owner
    try {
      owner = await this.#options.ownerHere()
    } catch (cause) {
      throw new HiloError(
        'storage-failed',
        'No id can be made: the worker did not start, and its code could not be loaded into the page either. ' +
          'Check the content security policy (worker-src, script-src) and that the files of ' +
          'offline-hilo are served.',
        { cause },
      )
    }
    this.#open(owner, this.#options.callbacks)
    return { owner, end() {} }
  }
}
