/**
 * Device state in IndexedDB: the one file that knows its schema and imports `idb`. The transaction
 * is the mutex between tabs: a `readwrite` transaction over the same store waits for the one before
 * it, in every tab.
 */
import {
  type DBSchema,
  type IDBPDatabase,
  type IDBPTransaction,
  openDB,
  type StoreNames,
} from 'idb'
import { HiloError } from '../core/errors.js'
import { NOTES_STORE } from '../core/page-exit.js'
import type { DeviceState, Note } from '../core/state.js'
import { whenLate } from '../core/when-late.js'
import type { Change, DeviceStore, StoreKey } from './store.js'

interface Schema extends DBSchema {
  collections: { key: StoreKey; value: DeviceState }
  /** Left by pages as they go, under `[...key, lease id]`. */
  [NOTES_STORE]: { key: [...StoreKey, string]; value: Note }
  /** Records that could not be used, kept for whoever looks into it. */
  'set-aside': { key: number; value: { key: StoreKey; record: unknown } }
}

const VERSION = 1
const STORES: StoreNames<Schema>[] = ['collections', NOTES_STORE, 'set-aside']
type Transaction<M extends IDBTransactionMode> = IDBPTransaction<Schema, StoreNames<Schema>[], M>

/**
 * How long an open or a transaction may take before it counts as failed. Strict commits take 10–40
 * ms on real phones; but a transaction can also wait for one that sits frozen in another tab's
 * cached page, for ever (H18).
 */
const DEADLINE_MS = 5_000

export class IndexedDbStore implements DeviceStore {
  readonly isDurable = true
  readonly #name: string
  #db: Promise<IDBPDatabase<Schema>> | undefined
  #isOutdated = false

  constructor(name: string) {
    this.#name = name
  }

  /** @throws HiloError `storage-failed` or `outdated` */
  async open(): Promise<void> {
    await this.#connect()
  }

  async update<T>(
    key: StoreKey,
    change: (stored: unknown, notes: Note[]) => Change<T>,
  ): Promise<T> {
    // guard: H1 one transaction reads and writes
    const tx = await this.#begin('readwrite')
    return finish(tx, async () => {
      const { stored, notes } = await look(tx, key)
      const { state, setAside, result } = change(stored, notes)
      const writes: Promise<unknown>[] = []
      if (state !== stored) writes.push(tx.objectStore('collections').put(state, key))
      if (notes.length > 0) writes.push(tx.objectStore(NOTES_STORE).delete(notesOf(key)))
      if (setAside !== undefined)
        writes.push(tx.objectStore('set-aside').add({ key, record: setAside }))
      // guard: H18 a transaction is committed by hand
      tx.commit()
      await Promise.all(writes)
      return result
    })
  }

  async read(key: StoreKey): Promise<{ stored: unknown; notes: Note[] }> {
    const tx = await this.#begin('readonly')
    return finish(tx, () => {
      const found = look(tx, key)
      tx.commit()
      return found
    })
  }

  async keys(): Promise<StoreKey[]> {
    const tx = await this.#begin('readonly')
    return finish(tx, () => {
      const keys = tx.objectStore('collections').getAllKeys()
      tx.commit()
      return keys
    })
  }

  close(): void {
    this.#db?.then((db) => db.close()).catch(() => {})
    this.#db = undefined
  }

  /**
   * A transaction whose commit reaches the disk before `complete`; a connection that was lost is
   * opened again once.
   */
  async #begin<M extends 'readonly' | 'readwrite'>(mode: M): Promise<Transaction<M>> {
    for (let attempt = 1; ; attempt++) {
      const connecting = this.#connect()
      const db = await connecting
      try {
        // strict: after a power cut a relaxed commit may be gone, and the same numbers would be
        // carved again (H2).
        // guard: H2 carving is strict
        return db.transaction(STORES, mode, { durability: 'strict' })
      } catch (error) {
        // Unless another call, which found it lost at the same time, has a new one already.
        if (this.#db === connecting) this.#db = undefined
        db.close()
        // guard: H14 a lost connection is opened again
        if (attempt > 1) throw storageFailed('the connection was lost twice', error)
      }
    }
  }

  #connect(): Promise<IDBPDatabase<Schema>> {
    if (this.#isOutdated) return Promise.reject(outdated())
    // guard: H14 an open that never ends is given up
    this.#db ??= withDeadline(this.#open(), 'it did not open').catch((error: unknown) => {
      this.#db = undefined
      if ((error as Error).name === 'VersionError') throw outdated()
      throw error instanceof HiloError ? error : storageFailed('it did not open', error)
    })
    return this.#db
  }

  async #open(): Promise<IDBPDatabase<Schema>> {
    const db = await openDB<Schema>(this.#name, VERSION, {
      upgrade(db) {
        db.createObjectStore('collections')
        db.createObjectStore(NOTES_STORE)
        db.createObjectStore('set-aside', { autoIncrement: true })
      },
      // A newer version of this package wants to upgrade, or the app deletes the database: let go
      // at once (H17).
      blocking: (_current, newVersion, event) => {
        // guard: H17 a page of an older version stops when the storage is upgraded
        this.#isOutdated = newVersion !== null
        this.#db = undefined
        ;(event.target as IDBDatabase).close()
      },
      terminated: () => {
        this.#db = undefined
      },
    })
    // WebKit may open it and then run no transaction ever again, because a page reloaded itself in
    // the middle of one. One that fails is another matter: the next may succeed.
    const { store, done } = db.transaction('collections')
    await Promise.allSettled([store.count(), done])
    return db
  }
}

const notesOf = (key: StoreKey): IDBKeyRange => IDBKeyRange.bound(key, [...key, []])

async function look(
  tx: Transaction<'readonly' | 'readwrite'>,
  key: StoreKey,
): Promise<{ stored: unknown; notes: Note[] }> {
  const [stored, notes] = await Promise.all([
    tx.objectStore('collections').get(key),
    tx.objectStore(NOTES_STORE).getAll(notesOf(key)),
  ])
  return { stored, notes }
}

/**
 * What `work` returns, once the transaction is complete; on any failure the transaction is aborted.
 */
async function finish<T>(tx: Transaction<IDBTransactionMode>, work: () => Promise<T>): Promise<T> {
  const done = tx.done.catch((error: unknown) => {
    throw storageFailed('a transaction was aborted', error)
  })
  try {
    // guard: H2 nothing leaves before the transaction is complete
    // guard: H18 a transaction is not waited for without a deadline
    const [result] = await withDeadline(Promise.all([work(), done]), 'a transaction did not finish')
    return result
  } catch (error) {
    try {
      tx.abort()
    } catch {
      // It was over already, or is committing: then its outcome is unknown, which callers treat as
      // a gap.
    }
    throw error instanceof DOMException ? storageFailed('a request failed', error) : error
  }
}

function withDeadline<T>(work: Promise<T>, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = whenLate(DEADLINE_MS, () =>
      reject(storageFailed(`${what} within ${DEADLINE_MS} ms`)),
    )
    work.then(resolve, reject).finally(cancel)
  })
}

function storageFailed(what: string, cause?: unknown): HiloError {
  return new HiloError(
    'storage-failed',
    `IndexedDB failed: ${what}. No id was handed out. Try again; if it persists, close this ` +
      `site's other tabs or free some disk space.`,
    { cause },
  )
}

function outdated(): HiloError {
  return new HiloError(
    'outdated',
    'Another tab runs a newer version of offline-hilo and has upgraded the storage. This ' +
      'page issues no more ids; reload it.',
  )
}
