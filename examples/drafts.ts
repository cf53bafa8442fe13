/** What a page leaves for the service worker: drafts without an id, in IndexedDB. */
import { type DBSchema, openDB } from 'idb'

interface Draft {
  key?: number
  /** The service worker adds it before it sends the draft for the first time. */
  id?: string
  /** Why the API will never take it: for a page to show. */
  refused?: string
  customer: string
}

interface Schema extends DBSchema {
  drafts: { key: number; value: Draft }
}

/** One connection for as long as the page or the service worker runs. */
export const opening = openDB<Schema>('drafts', 1, {
  upgrade(db) {
    db.createObjectStore('drafts', { keyPath: 'key', autoIncrement: true })
  },
})
