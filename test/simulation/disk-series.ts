/**
 * A device's series on its simulated disk. Each step is one strict transaction over one record, so
 * that kills, power cuts, copies and evictions do to it what they do to IndexedDB.
 */
import type { StoredSeries } from '../../src/addons/consecutive/numbers.js'
import { NOTHING_STORED, wholeTransaction } from '../../src/addons/consecutive/whole.js'
import { HiloError } from '../../src/core/errors.js'
import type { SeriesStore, SeriesTransaction } from '../../src/device/series-store.js'
import type { Disk } from './disk.js'
import type { DatabaseHost } from './idb-host.js'
import { SimTransaction } from './idb-transaction.js'
import type { Actor } from './scheduler.js'

const STORE = 'receipts'
const KEY = 'all'

/** What a device has stored of its series. */
export const storedSeries = (disk: Disk): StoredSeries =>
  (disk.stores.get(STORE)?.get(JSON.stringify(KEY))?.value as StoredSeries | undefined) ??
  NOTHING_STORED

/** Somebody changes what is stored, while no page is open. */
export const changeStored = (disk: Disk, value: StoredSeries): void =>
  disk.commit([{ store: STORE, key: KEY, value }], true)

export class DiskSeries implements SeriesStore {
  readonly #host: DatabaseHost
  readonly #actor: Actor

  constructor(host: DatabaseHost, actor: Actor) {
    this.#host = host
    this.#actor = actor
  }

  transact<T>(_: unknown, work: (tx: SeriesTransaction) => Promise<T>): Promise<T> {
    const { disk } = this.#host
    if (!disk.stores.has(STORE)) disk.stores.set(STORE, new Map())
    return new Promise((resolve, reject) => {
      const tx = new SimTransaction(this.#host, this.#actor, [STORE], 'readwrite', true)
      const failed = () => reject(new HiloError('storage-failed', 'The simulated storage failed.'))
      tx.addEventListener('abort', failed)
      const store = tx.objectStore(STORE)
      const read = store.get(KEY)
      read.addEventListener('error', failed)
      read.addEventListener('success', async () => {
        try {
          const { state, numbers, links, entries } =
            (read.result as StoredSeries | undefined) ?? NOTHING_STORED
          const stored = {
            state,
            numbers: [...numbers],
            links: [...links],
            entries: [...entries],
          }
          const result = await work(wholeTransaction(stored))
          store.put(stored, KEY)
          tx.addEventListener('complete', () => resolve(result))
          tx.commit()
        } catch (error) {
          reject(error)
          tx.abort()
        }
      })
    })
  }

  close(): void {}
}
