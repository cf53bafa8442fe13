/**
 * Tells which pages live: a page holds a Web Lock of its own while a number that it took is open.
 * The browser frees the lock when the page is closed or killed. Guarantees that a page which leaves
 * holds none, so that it may go into the back/forward cache.
 */
import { newId } from './new-id.js'

/** Of the names of locks. */
export const PREFIX = 'offline-hilo-sale:'

export class LivingPage {
  readonly #page = newId()
  /** Of the numbers that are open. */
  readonly #keys = new Set<string>()
  #lock: Promise<boolean> | undefined
  #free = () => {}

  /** @param signal aborted when this page makes no number any more */
  constructor(signal: AbortSignal) {
    const leave = () => this.#free()
    globalThis.addEventListener?.('pagehide', leave, { signal })
    const back = () => void (this.#keys.size > 0 && this.#hold())
    globalThis.addEventListener?.('pageshow', back, { signal })
    signal.addEventListener('abort', leave)
  }

  /**
   * Called before a number is taken: a page that sees the number finds the lock.
   * @returns the name of this page; undefined: others cannot tell that it lives
   */
  async takes(key: string): Promise<string | undefined> {
    this.#keys.add(key)
    return (await this.#hold()) ? this.#page : undefined
  }

  /** The number of the key is open no more. */
  settled(key: string): void {
    this.#keys.delete(key)
    if (this.#keys.size === 0) this.#free()
  }

  #hold(): Promise<boolean> {
    this.#lock ??= new Promise((resolve) => {
      const held = () =>
        new Promise<void>((free) => {
          this.#free = () => {
            this.#lock = undefined
            free()
          }
          resolve(true)
        })
      const { locks } = globalThis.navigator ?? {}
      if (locks) locks.request(PREFIX + this.#page, held).catch(() => resolve(false))
      else resolve(false)
    })
    return this.#lock
  }
}
