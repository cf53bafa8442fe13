/**
 * IndexedDB for tests: a fake one in Node, under names that no other test uses. Importing this
 * installs it.
 */
import 'fake-indexeddb/auto'
import { vi } from 'vitest'
import { NOTES_STORE } from '../../src/device/page-notes.js'
import type { LeaseNote } from '../../src/device/state.js'
import type { StoreKey } from '../../src/store/store.js'

let databases = 0
export const newName = (): string => `test-${databases++}`

export const requested = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })

/** A connection of somebody else's, as another tab has one. */
export const openRaw = (name: string, version?: number): Promise<IDBDatabase> =>
  requested(indexedDB.open(name, version))

/** Reads all records of an object store. */
export async function recordsOf(name: string, store: string): Promise<unknown[]> {
  const db = await openRaw(name)
  try {
    return await requested(db.transaction(store).objectStore(store).getAll())
  } finally {
    db.close()
  }
}

export async function leaveNote(name: string, key: StoreKey, note: LeaseNote): Promise<void> {
  const db = await openRaw(name)
  await requested(
    db
      .transaction(NOTES_STORE, 'readwrite')
      .objectStore(NOTES_STORE)
      .put(note, [...key, note.lease]),
  )
  db.close()
}

/**
 * Holds the stores of a database in a transaction that does not end, like a page frozen in the
 * middle of one.
 */
export async function freezeTransaction(name: string): Promise<() => void> {
  const db = await openRaw(name)
  const tx = db.transaction([...db.objectStoreNames], 'readwrite')
  const store = tx.objectStore(NOTES_STORE)
  let isHeld = true
  const keepAlive = () => {
    if (isHeld) store.count().onsuccess = keepAlive
  }
  keepAlive()
  return () => {
    isHeld = false
    db.close()
  }
}

/**
 * As Firefox does it, until mocks are restored: a request that fails after `commit()` does not undo
 * its transaction, which stores the rest and completes.
 */
export function completeDespiteFailures(): void {
  const { prototype } = IDBTransaction
  const { commit } = prototype
  vi.spyOn(prototype, 'commit').mockImplementation(function (this: IDBTransaction) {
    this.addEventListener('error', (event) => event.preventDefault())
    commit.call(this)
  })
}
