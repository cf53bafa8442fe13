/** What a page leaves for the service worker: drafts without an id, in IndexedDB. */
import { type DBSchema, type IDBPDatabase, openDB } from 'idb'

interface Draft {
  key?: number
  /** Given by the service worker, before the draft is sent for the first time. */
  id?: string
  customer: string
}

interface Schema extends DBSchema {
  drafts: { key: number; value: Draft }
}

export const openDrafts = (): Promise<IDBPDatabase<Schema>> =>
  openDB<Schema>('drafts', 1, { upgrade: (db) => void db.createObjectStore('drafts', { keyPath: 'key', autoIncrement: true }) })
