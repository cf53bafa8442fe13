/**
 * Device state in IndexedDB: the one file that knows its schema. The transaction is the mutex
 * between tabs: a `readwrite` transaction over the same store waits for the one before it, in every
 * tab.
 */
import type { Bucket } from '../device/bucket.js'
import { NOTES_STORE } from '../device/page-notes.js'
import type { DeviceState, Note } from '../device/state.js'
import { Database, type DBSchema, type Transaction } from './database.js'
import type { Change, DeviceStore, StoreKey } from './store.js'

interface Schema extends DBSchema {
  collections: { key: StoreKey; value: DeviceState }
  /** Pages leave them when they close, under `[...key, lease id]`. */
  [NOTES_STORE]: { key: [...StoreKey, string]; value: Note }
  /** Records that could not be used, kept for a person to look into. */
  'set-aside': { key: number; value: { key: StoreKey; record: unknown } }
}

/**
 * Of one record in one transaction. In a burst of a thousand, the worker would answer nobody before
 * the last of them is made.
 */
const MOST_UPDATES = 100

type WriteTransaction = Transaction<Schema, 'readwrite'>

interface Found {
  stored: unknown
  notes: Note[]
}

/** A change of one record, and how it ended. */
interface Update {
  change: (stored: unknown, notes: Note[]) => Change<unknown>
  result?: unknown
  failed?: { error: unknown }
}

/** The changes of one transaction, by the names of the keys. */
interface Batch {
  ofKeys: Map<string, { key: StoreKey; updates: Update[] }>
  /** Resolves when it is on the disk. */
  done: Promise<void>
}

export class IndexedDbStore implements DeviceStore {
  readonly isDurable = true
  readonly #db: Database<Schema>
  /** The batch that waits for its turn; the next update joins it. */
  #next: Batch | undefined

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

  /** Where it was opened last. Undefined: in the default storage. */
  get bucket(): Bucket | undefined {
    return this.#db.bucket
  }

  /** @throws HiloError `storage-failed` or `outdated` */
  open(): Promise<void> {
    return this.#db.open()
  }

  /** Updates that wait together share one transaction, and so one commit. */
  async update<T>(
    key: StoreKey,
    change: (stored: unknown, notes: Note[]) => Change<T>,
  ): Promise<T> {
    const { ofKeys, done } = this.#next ?? this.#newBatch()
    const name = JSON.stringify(key)
    const updates = ofKeys.get(name)?.updates ?? []
    const update: Update = { change }
    ofKeys.set(name, { key, updates })
    if (updates.push(update) === MOST_UPDATES) this.#next = undefined
    await done
    if (update.failed) throw update.failed.error
    return update.result as T
  }

  read(key: StoreKey): Promise<Found> {
    return this.#db.transact('readonly', (tx) => {
      const found = look(tx, key)
      tx.commit()
      return found
    })
  }

  keys(): Promise<StoreKey[]> {
    return this.#db.transact('readonly', (tx) => {
      const keys = tx.objectStore('collections').getAllKeys()
      tx.commit()
      return keys
    })
  }

  #newBatch(): Batch {
    const end = () => {
      if (this.#next === batch) this.#next = undefined
    }
    const done = this.#db.transact('readwrite', (tx) => {
      end()
      return changeAll(tx, batch)
    })
    done.catch(end)
    const batch: Batch = { ofKeys: new Map(), done }
    this.#next = batch
    return batch
  }

  close(): void {
    this.#db.close()
  }
}

const notesOf = (key: StoreKey): IDBKeyRange => IDBKeyRange.bound(key, [...key, []])

async function look(
  tx: Transaction<Schema, 'readonly'> | WriteTransaction,
  key: StoreKey,
): Promise<Found> {
  const [stored, notes] = await Promise.all([
    tx.objectStore('collections').get(key),
    tx.objectStore(NOTES_STORE).getAll(notesOf(key)),
  ])
  return { stored, notes }
}

async function changeAll(tx: WriteTransaction, { ofKeys }: Batch): Promise<void> {
  const changes = Array.from(ofKeys.values(), ({ key, updates }) => changeRecord(tx, key, updates))
  const writes = await Promise.all(changes)
  // guard: H18 a transaction is committed by hand
  tx.commit()
  await Promise.all(writes.flat())
}

/**
 * One record is read once and written once, however many updates change it.
 * @returns the writes that are under way
 */
async function changeRecord(
  tx: WriteTransaction,
  key: StoreKey,
  updates: readonly Update[],
): Promise<Promise<unknown>[]> {
  // guard: H1 one transaction reads and writes
  const { stored, notes } = await look(tx, key)
  const writes: Promise<unknown>[] = []
  let state = stored
  let left = notes
  for (const update of updates) {
    try {
      const { setAside, ...changed } = update.change(state, left)
      state = changed.state
      left = []
      update.result = changed.result
      if (setAside !== undefined)
        writes.push(tx.objectStore('set-aside').add({ key, record: setAside }))
    } catch (error) {
      update.failed = { error }
    }
  }
  if (state !== stored) writes.push(tx.objectStore('collections').put(state as DeviceState, key))
  if (left.length < notes.length) writes.push(tx.objectStore(NOTES_STORE).delete(notesOf(key)))
  return writes
}
