/** Storage buckets for tests, as Chromium has them: each has an IndexedDB of its own. */
import { IDBFactory } from 'fake-indexeddb'
import { vi } from 'vitest'

export class FakeBucket {
  readonly indexedDB = new IDBFactory()
  isPersisted = false
  /** What the user decides. */
  isAllowed = true
  persisted = async (): Promise<boolean> => this.isPersisted
  persist = async (): Promise<boolean> => (this.isPersisted = this.isAllowed)
}

/** The engine's. They stand for the disk: what is in them stays. */
export class FakeBuckets {
  readonly made = new Map<string, FakeBucket>()
  /** `open` rejects with it. */
  failure: DOMException | undefined
  readonly open = vi.fn(async (name: string) => {
    if (this.failure) throw this.failure
    const bucket = this.made.get(name) ?? new FakeBucket()
    this.made.set(name, bucket)
    return bucket
  })
  readonly keys = vi.fn(async () => [...this.made.keys()])

  /** From now on the engine has them. */
  install(others: object = {}): this {
    vi.stubGlobal('navigator', { ...others, storageBuckets: this })
    return this
  }

  get own(): FakeBucket {
    return this.made.get('offline-hilo')!
  }
}
