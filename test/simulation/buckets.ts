/** `navigator.storageBuckets` as one page or worker sees it: it knows this package's bucket. */
import { BUCKET, type Bucket } from '../../src/device/bucket.js'
import type { DatabaseHost } from './idb-host.js'
import { createIndexedDb } from './indexed-db.js'
import type { Actor } from './scheduler.js'

export interface SimBuckets {
  open(): Promise<Bucket>
  keys(): Promise<string[]>
}

export const createBuckets = (host: DatabaseHost, actor: Actor): SimBuckets => ({
  open: () =>
    host.answer(actor, 'bucket opens', () => {
      if (host.faults.bucket === 'fails') return undefined
      host.disk.hasBucket = true
      const indexedDB = createIndexedDb(host, actor, 'bucket') as unknown as IDBFactory
      const persisted = async () => false
      return { indexedDB, persist: persisted, persisted }
    }),
  keys: () =>
    host.answer(actor, 'buckets are listed', () =>
      host.faults.lists === 'fail' ? undefined : host.disk.hasBucket ? [BUCKET] : [],
    ),
})
