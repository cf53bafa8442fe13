/**
 * An IndexedDB database: the one file that imports `idb`. Guarantees that each transaction is
 * strict and has a deadline, that a connection which fails is replaced by a new one, and that a
 * page stops when a newer version of this package upgrades the storage.
 */
import { type DBSchema, type IDBPDatabase, type IDBPTransaction, type StoreNames, wrap } from 'idb'
import { HiloError } from '../core/errors.js'
import { whenLate } from '../core/when-late.js'
import type { Bucket } from '../device/bucket.js'
import { openAtHome } from './home.js'

export type { DBSchema, IDBPDatabase } from 'idb'

export type Transaction<
  Schema extends DBSchema,
  M extends IDBTransactionMode = 'readonly' | 'readwrite',
> = IDBPTransaction<Schema, StoreNames<Schema>[], M>

interface Failure {
  error: unknown
  /** Surely nothing of it was done. */
  isUndone: boolean
}

export interface DatabaseDescription<Schema extends DBSchema> {
  name: string
  version: number
  /** Each transaction is over all of them. */
  stores: StoreNames<Schema>[]
  create(db: IDBPDatabase<Schema>): void
  /** A sentence for errors: the effect of the failure on the caller. `No id was handed out.` */
  meaning: string
}

/**
 * How long an open or a transaction may take before it counts as failed: much longer than a commit
 * to a disk. A transaction of a frozen page in another tab can block this one for ever (H18).
 */
const DEADLINE_MS = 5_000

/** A transaction that hung behind another tab's may soon be first in line. */
const RETRY_AFTER_MS = 1_000

export class Database<Schema extends DBSchema> {
  readonly #description: DatabaseDescription<Schema>
  #db: Promise<IDBPDatabase<Schema>> | undefined
  /** Why it is not opened any more. */
  #end: HiloError | undefined
  /** Where it was opened last. Undefined: in the default storage. */
  bucket: Bucket | undefined
  /** The transaction before the next one. */
  #last: Promise<unknown> = Promise.resolve()
  /** The last failure because of a deadline. */
  #late: HiloError | undefined

  constructor(description: DatabaseDescription<Schema>) {
    this.#description = description
  }

  /** @throws HiloError `storage-failed` or `outdated` */
  async open(): Promise<void> {
    await this.#connect()
    // It may have been closed meanwhile.
    if (this.#end) throw this.#end
  }

  /** For good: a call that comes later does not open it again. */
  close(): void {
    this.#end ??= new HiloError('closed', 'The storage was closed.')
    this.#db?.then((db) => db.close()).catch(() => {})
    this.#db = undefined
  }

  /**
   * Resolves with the result of `work`, once the transaction is complete; on any failure the
   * transaction is aborted. `work` makes its requests and commits. A page has one transaction at a
   * time. So its deadline begins when it is the first of its page, and another tab waits for one at
   * most.
   */
  transact<M extends 'readonly' | 'readwrite', T>(
    mode: M,
    work: (tx: Transaction<Schema, M>) => Promise<T>,
  ): Promise<T> {
    const late = this.#late
    // guard: H18 a page has one transaction at a time
    const turn = this.#last.then(async () => {
      // guard: H18 who waits behind a transaction that hangs fails with it
      if (this.#late !== late) throw this.#late
      return this.#attempt(mode, work)
    })
    this.#last = turn.catch(() => {})
    return turn
  }

  /**
   * A connection may be dead, without a word, while a new one would work. So one that fails is
   * dropped, and a transaction that it surely did not run runs once more.
   */
  async #attempt<M extends 'readonly' | 'readwrite', T>(
    mode: M,
    work: (tx: Transaction<Schema, M>) => Promise<T>,
  ): Promise<T> {
    for (let isFirst = true; ; isFirst = false) {
      const connecting = this.#connect()
      const db = await connecting
      const ended = await this.#finish(db, mode, work)
      if ('result' in ended) return ended.result
      const { error, isUndone } = ended
      const isLate = error === this.#late
      if (!isLate && !(error instanceof DOMException)) throw error
      const failure = isLate ? error : this.#failed('a transaction failed', error)
      // That a record is there already, a connection says that works.
      if ((error as Error).name === 'ConstraintError') throw failure
      // Another call may have found it dead at the same time, and opened a new one.
      if (this.#db === connecting) this.#db = undefined
      db.close()
      // guard: H14 a lost connection is opened again
      if (isLate || !isFirst || !isUndone) throw failure
    }
  }

  async #finish<M extends 'readonly' | 'readwrite', T>(
    db: IDBPDatabase<Schema>,
    mode: M,
    work: (tx: Transaction<Schema, M>) => Promise<T>,
  ): Promise<{ result: T } | Failure> {
    let tx: Transaction<Schema, M>
    try {
      // strict: after a power cut a relaxed commit may be gone, and the same numbers would be
      // leased again (H2).
      // guard: H2 leasing is strict
      tx = db.transaction(this.#description.stores, mode, { durability: 'strict' })
    } catch (error) {
      return { error, isUndone: true }
    }
    const ended = endOf(tx)
    try {
      // guard: H2 nothing leaves before the transaction is complete
      const both = Promise.all([work(tx), ended.then(throwIfFailed)])
      // guard: H18 a transaction is not waited for without a deadline
      const [result] = await this.#within(both, 'a transaction did not finish')
      return { result }
    } catch (error) {
      try {
        tx.abort()
        return { error, isUndone: true }
      } catch {
        // It is over, or commits. A caller that waited in vain does not wait once more: the outcome
        // is unknown then, and callers treat that as a gap.
        const isUndone = error !== this.#late && Boolean((await ended)?.isUndone)
        return { error, isUndone }
      }
    }
  }

  #connect(): Promise<IDBPDatabase<Schema>> {
    if (this.#end) return Promise.reject(this.#end)
    this.#db ??= this.#openInTime()
    return this.#db
  }

  async #openInTime(): Promise<IDBPDatabase<Schema>> {
    const opening = this.#open()
    // After a page has reloaded itself in the middle of a transaction, WebKit may open the database
    // and never run a transaction. If this one fails instead, that is no problem: the next may
    // succeed.
    const trying = opening.then(async (db) => {
      const [name] = this.#description.stores as [StoreNames<Schema>]
      const tx = db.transaction(name)
      await Promise.allSettled([tx.objectStore(name).count(), tx.done])
      return db
    })
    try {
      // guard: H14 an open that never ends is given up
      return await this.#within(Promise.race([trying, forbidden()]), 'it did not open')
    } catch (error) {
      this.#db = undefined
      // It may succeed later, when nobody would close it.
      opening.then((db) => db.close()).catch(() => {})
      if ((error as Error).name === 'VersionError') throw outdated(this.#description.name)
      throw error instanceof HiloError ? error : this.#failed('it did not open', error)
    }
  }

  /** Rejects, too, where `indexedDB.open` throws, as in a sandboxed frame of Firefox. */
  async #open(): Promise<IDBPDatabase<Schema>> {
    const { name, version, create } = this.#description
    const db = await openAtHome(name, (bucket, mayMake) => {
      this.bucket = bucket
      const request = (bucket?.indexedDB ?? indexedDB).open(name, version)
      request.onupgradeneeded = () => {
        if (mayMake) create(wrap(request.result) as IDBPDatabase<Schema>)
        else request.transaction!.abort()
      }
      return wrap(request) as Promise<IDBPDatabase<Schema>>
    })
    // A newer version of this package wants to upgrade, or the app deletes the database: let go at
    // once (H17).
    db.addEventListener('versionchange', ({ newVersion }) => {
      // guard: H17 a page of an older version stops when the storage is upgraded
      if (newVersion !== null) this.#end = outdated(name)
      db.close()
    })
    return db
  }

  #within<T>(work: Promise<T>, what: string): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = whenLate(DEADLINE_MS, () => {
        this.#late = this.#failed(`${what} within ${DEADLINE_MS} ms`, undefined, RETRY_AFTER_MS)
        reject(this.#late)
      })
      work.then(resolve, reject).finally(cancel)
    })
  }

  #failed(what: string, cause?: unknown, retryAfter?: number): HiloError {
    const { name, meaning } = this.#description
    // It opens, and has other stores.
    const isForeign = (cause as Error | undefined)?.name === 'NotFoundError'
    const advice = isForeign
      ? `'${name}' is a database of the app itself: pass another \`name\`.`
      : isForbidden(cause)
        ? 'Allow this site cookies and site data.'
        : "Try again; if it persists, close this site's other tabs or free some disk space."
    return new HiloError('storage-failed', `IndexedDB failed: ${what}. ${meaning} ${advice}`, {
      cause,
      ...(retryAfter && { retryAfter }),
    })
  }
}

/** Has the user, or a frame's sandbox, forbidden this site to store anything? */
export const isForbidden = (error: unknown): boolean =>
  (error as Error | undefined)?.name === 'SecurityError'

/**
 * Rejects where storing is forbidden. In Chromium a bucket does not say so: its databases never
 * open.
 */
const forbidden = (): Promise<never> =>
  new Promise((_, reject) => {
    globalThis.navigator?.locks?.query?.().catch((error) => isForbidden(error) && reject(error))
  })

/** @returns undefined once all is stored. The `done` of idb rejects before the reason is known */
function endOf(
  tx: Pick<IDBTransaction, 'error' | 'addEventListener'> & { done: Promise<void> },
): Promise<Failure | undefined> {
  tx.done.catch(() => {})
  let failed: Failure | undefined
  return new Promise((resolve) => {
    // guard: H2 a request that fails fails its transaction
    // Firefox completes a transaction, and stores the rest of it, when a request fails after
    // `commit()`.
    tx.addEventListener('error', ({ target }) => {
      failed ??= { error: (target as IDBRequest).error, isUndone: false }
    })
    tx.addEventListener('complete', () => resolve(failed))
    tx.addEventListener('abort', () => {
      const error = tx.error ?? failed?.error ?? new DOMException('', 'AbortError')
      resolve({ error, isUndone: true })
    })
  })
}

function throwIfFailed(failure: Failure | undefined): void {
  if (failure) throw failure.error
}

const outdated = (name: string): HiloError =>
  new HiloError(
    'outdated',
    `A newer version of offline-hilo has upgraded the database '${name}'. This page issues no ` +
      'more ids; reload it. If the app itself has that database, pass another `name`.',
  )
