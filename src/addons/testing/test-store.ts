/**
 * The storage of a test's device, in memory. It outlives no test, and says of itself that it is
 * durable: an app sees the same as in a browser.
 */
import type { StorageKind } from '../../device/contract.js'
import { settle } from '../../device/device.js'
import { type DeviceState, emptyState, type Note } from '../../device/state.js'
import type { Change, DeviceStore, StoreKey } from '../../store/store.js'

export class TestStore implements DeviceStore {
  readonly isDurable = true
  kind: StorageKind = 'best-effort'
  readonly #records = new Map<string, DeviceState>()

  async update<T>(key: StoreKey, change: (stored: unknown, notes: Note[]) => Change<T>) {
    const { state, result } = change(this.#records.get(JSON.stringify(key)), [])
    this.put(key, state)
    return result
  }

  async read(key: StoreKey) {
    return { stored: this.#records.get(JSON.stringify(key)), notes: [] }
  }

  async keys(): Promise<StoreKey[]> {
    return [...this.#records.keys()].map((id) => JSON.parse(id))
  }

  /** The notes of a page are settled at once. */
  leaveNotes(key: StoreKey, notes: readonly Note[]): void {
    this.put(key, settle(this.get(key), notes))
  }

  get(key: StoreKey): DeviceState {
    return this.#records.get(JSON.stringify(key)) ?? emptyState()
  }

  put(key: StoreKey, state: DeviceState): void {
    this.#records.set(JSON.stringify(key), state)
  }

  close(): void {}
}
