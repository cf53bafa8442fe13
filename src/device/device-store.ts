/**
 * The port to durable device state: implement it to keep ranges in a storage of your own
 * (`createHilo({ store })`). Contract, which `offline-hilo/store/testing` checks:
 *
 * - `update` is ONE atomic step per key: between its read and its write no other `update` of that
 *   key runs, in any tab (H1).
 * - When its promise resolves, the change has reached the disk as surely as the platform can
 *   promise (H2).
 * - When it rejects, nothing was applied; only after `storage-failed` for a passed deadline is
 *   the outcome unknown. Callers treat unknown as a gap.
 * - Each promise settles, also when the storage hangs: `release()` and `close()` wait for it,
 *   for ten seconds each.
 * - `change` is called once, synchronously, and may throw: then nothing is applied and `update`
 *   rejects with its error.
 * - `read` returns the state that the next `update` of that key would get. It changes nothing, not
 *   even the notes.
 * - `keys` lists every key under which something was stored.
 * - `update` hands the notes that pages left for the key to `change`, and removes them in the same
 *   step, so that each is settled once (H5).
 * - States are plain data that JSON can hold.
 */
import type { SeriesStore } from './series-store.js'
import type { DeviceState, Note } from './state.js'

/** One collection of one authority: the key of all its stored records. */
export type StoreKey = [url: string, database: string, prefix: string]

export interface Change<T> {
  /** Stored as it is; the very same object that was read (and no notes) is not written again. */
  state: DeviceState
  /** An unusable record, kept for inspection. */
  setAside?: unknown
  result: T
}

export interface DeviceStore {
  /** Do stored states outlive the page? */
  readonly isDurable: boolean
  update<T>(key: StoreKey, change: (stored: unknown, notes: Note[]) => Change<T>): Promise<T>
  read(key: StoreKey): Promise<{ stored: unknown; notes: Note[] }>
  keys(): Promise<StoreKey[]>
  /**
   * Called when there is no time left: starts to write, waits for nothing, throws nothing. A note
   * that is lost is a gap. Absent: notes come some other way, or never.
   */
  leaveNotes?(key: StoreKey, notes: readonly Note[]): void
  /**
   * The series of consecutive numbers of a collection, see {@link SeriesStore}. Absent: they are in
   * IndexedDB, also beside this store.
   */
  series?(key: StoreKey): SeriesStore
  close(): void
}
