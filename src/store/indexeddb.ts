/**
 * Device state in IndexedDB: the one file that knows its schema. The transaction is the mutex
 * between tabs: a `readwrite` transaction over the same store waits for the one before it, in every
 * tab.
 */
import { NOTES_STORE } from '../core/page-exit.js'
import type { DeviceState, Note } from '../core/state.js'
import { Database, type DBSchema, type Transaction } from './database.js'
import type { Change, DeviceStore, StoreKey } from './store.js'

interface Schema extends DBSchema {
  collections: { key: StoreKey; value: DeviceState }
  /** Pages leave them when they close, under `[...key, lease id]`. */
  [NOTES_STORE]: { key: [...StoreKey, string]; value: Note }
  /** Records that could not be used, kept for a person who looks into it. */
  'set-aside': { key: number; value: { key: StoreKey; record: unknown } }
}

export class IndexedDbStore implements DeviceStore {
  readonly isDurable = true
  readonly #db: Database<Schema>

  constructor(name: string) {
    this.#db = new Database<Schema>({
      name,
      version: 1,
      stores: ['collections', NOTES_STORE, 'set-aside'],
      create(db) {
        db.createObjectStore('collections')
        db.createObjectStore(NOTES_STORE)
        db.createObjectStore('set-aside', { autoIncrement: true })
      },
      meaning: 'No id was handed out.',
    })
  }

  /** @throws HiloError `storage-failed` or `outdated` */
  open(): Promise<void> {
    return this.#db.open()
  }

  async update<T>(
    key: StoreKey,
    change: (stored: unknown, notes: Note[]) => Change<T>,
  ): Promise<T> {
    // guard: H1 one transaction reads and writes
    const tx = await this.#db.begin('readwrite')
    return this.#db.finish(tx, async () => {
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
    const tx = await this.#db.begin('readonly')
    return this.#db.finish(tx, () => {
      const found = look(tx, key)
      tx.commit()
      return found
    })
  }

  async keys(): Promise<StoreKey[]> {
    const tx = await this.#db.begin('readonly')
    return this.#db.finish(tx, () => {
      const keys = tx.objectStore('collections').getAllKeys()
      tx.commit()
      return keys
    })
  }

  close(): void {
    this.#db.close()
  }
}

const notesOf = (key: StoreKey): IDBKeyRange => IDBKeyRange.bound(key, [...key, []])

async function look(
  tx: Transaction<Schema, 'readonly'> | Transaction<Schema, 'readwrite'>,
  key: StoreKey,
): Promise<{ stored: unknown; notes: Note[] }> {
  const [stored, notes] = await Promise.all([
    tx.objectStore('collections').get(key),
    tx.objectStore(NOTES_STORE).getAll(notesOf(key)),
  ])
  return { stored, notes }
}
