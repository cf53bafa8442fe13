/**
 * Device state that lives as long as its realm: where IndexedDB is missing or refuses to open, and
 * in tests. It is atomic like every {@link DeviceStore}, but not durable (`isDurable` is false).
 */
import type { Change, DeviceStore, StoreKey } from './store.js'

export class MemoryStore implements DeviceStore {
  readonly isDurable = false
  readonly #records = new Map<string, unknown>()

  async update<T>(
    key: StoreKey,
    change: (stored: unknown, notes: never[]) => Change<T>,
  ): Promise<T> {
    const id = JSON.stringify(key)
    const { state, result } = change(structuredClone(this.#records.get(id)), [])
    this.#records.set(id, structuredClone(state))
    return result
  }

  /** @returns the record, which is here no more */
  take(key: StoreKey): unknown {
    const id = JSON.stringify(key)
    const record = this.#records.get(id)
    this.#records.delete(id)
    return record
  }

  put(key: StoreKey, record: unknown): void {
    this.#records.set(JSON.stringify(key), record)
  }

  async read(key: StoreKey): Promise<{ stored: unknown; notes: never[] }> {
    return { stored: structuredClone(this.#records.get(JSON.stringify(key))), notes: [] }
  }

  async keys(): Promise<StoreKey[]> {
    return [...this.#records.keys()].map((id) => JSON.parse(id))
  }

  close(): void {}
}
