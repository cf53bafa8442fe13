/**
 * One device's `localStorage`, shared by its pages; what was written last can be lost with the
 * whole browser. And the `sessionStorage` of one tab, which the browser keeps on the disk, too.
 */

export interface StorageApi {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

export class LocalStorage {
  /** What a page sees. Its own enumerable properties are its keys, as in a browser. */
  readonly api: StorageApi
  /** Nothing more goes into it. */
  isFull = false
  readonly #items: Record<string, string>
  readonly #now: () => number
  readonly #kept: LocalStorage | undefined
  #journal: { at: number; key: string; before: string | undefined }[] = []

  /** @param kept where the same is written, too */
  constructor(now: () => number, kept?: LocalStorage) {
    this.#now = now
    this.#kept = kept
    this.#items = Object.create({
      getItem: (key: string) => (Object.hasOwn(this.#items, key) ? this.#items[key]! : null),
      setItem: (key: string, value: string) => {
        if (this.isFull) throw new DOMException('It is full.', 'QuotaExceededError')
        this.#write(key, value)
      },
      removeItem: (key: string) => this.#write(key, undefined),
    })
    this.api = this.#items as unknown as StorageApi
  }

  /** Undoes the writes of the last `ms`. @returns how many there were */
  lose(ms: number): number {
    const since = this.#now() - ms
    const recent = this.#journal.filter(({ at }) => at > since)
    for (const { key, before } of recent.reverse()) this.#set(key, before)
    this.#journal = []
    return recent.length
  }

  copyOf(other: LocalStorage): void {
    for (const [key, value] of Object.entries(other.#items)) this.#set(key, value)
  }

  #write(key: string, value: string | undefined): void {
    this.#journal.push({
      at: this.#now(),
      key,
      before: Object.hasOwn(this.#items, key) ? this.#items[key] : undefined,
    })
    this.#set(key, value)
    if (this.#kept) this.#kept.#set(key, value)
  }

  #set(key: string, value: string | undefined): void {
    if (value === undefined) delete this.#items[key]
    else this.#items[key] = value
  }
}
