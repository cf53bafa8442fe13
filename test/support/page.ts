/**
 * A browser's pages in Node: document, window and localStorage of whichever page is in front, over
 * one fake IndexedDB.
 */
import { vi } from 'vitest'
import './idb.js'

export class FakePage {
  readonly document = Object.assign(new EventTarget(), {
    visibilityState: 'visible' as DocumentVisibilityState,
  })
  readonly window = new EventTarget()
  #thaw: () => void = () => {}
  #running = Promise.resolve()

  /** What runs now runs in this page. */
  enter(): this {
    vi.stubGlobal('document', this.document)
    vi.stubGlobal('window', this.window)
    return this
  }

  /** Waits as long as nothing runs in this page: for ever, when it never comes back. */
  running(): Promise<void> {
    return this.#running
  }

  hide(): void {
    this.enter().#become('hidden')
  }

  show(): void {
    this.thaw()
    this.enter().#become('visible')
  }

  /**
   * The page is left, reloaded or closed. Until it comes back, it does only what it began inside
   * the event.
   */
  leave(): void {
    this.enter()
    this.window.dispatchEvent(new Event('pagehide'))
    this.#become('hidden')
    this.freeze()
  }

  /** Stands still without a word, as a page does that was killed. */
  freeze(): void {
    this.thaw()
    this.#running = new Promise((resolve) => {
      this.#thaw = resolve
    })
  }

  thaw(): void {
    this.#thaw()
    this.#running = Promise.resolve()
  }

  /** Comes back out of the back/forward cache. */
  comeBack(): void {
    this.thaw()
    this.enter().#become('visible')
    this.window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
  }

  #become(state: DocumentVisibilityState): void {
    this.document.visibilityState = state
    this.document.dispatchEvent(new Event('visibilitychange'))
  }
}

/** A `localStorage`: its keys are its own properties. */
export function fakeLocalStorage(): Storage {
  const methods = {
    getItem(this: Record<string, string>, key: string) {
      return Object.hasOwn(this, key) ? this[key] : null
    },
    setItem(this: Record<string, string>, key: string, value: string) {
      this[key] = String(value)
    },
    removeItem(this: Record<string, string>, key: string) {
      delete this[key]
    },
  }
  return Object.create(methods)
}
