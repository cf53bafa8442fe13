/**
 * What a page does when it goes and has no time: a note of what is left, in two places at once, and
 * a request that gives the surplus back. Everything is started synchronously inside the handler;
 * nothing is read first, nothing is awaited: only that gets out in every engine.
 */
import type { OwnerConfig, Target } from '../core/contract.js'
import { isNote, NOTES_STORE, notesKeyPrefix, type SeriesKey } from '../core/page-exit.js'
import type { Range } from '../core/range.js'
import { returnRequest } from '../core/requests.js'
import type { Note } from '../core/state.js'

export class PageExit {
  readonly #config: OwnerConfig
  #db: IDBDatabase | undefined
  #isOpening = false
  /** `localStorage` keys of notes that are there, as far as this page knows. */
  readonly #stored = new Set<string>()
  /** Does anybody take ranges back? */
  readonly takesBack: boolean
  /** Headers of the last request: there is no time to ask for new ones. */
  headers: Record<string, string> = {}

  constructor(config: OwnerConfig) {
    this.#config = config
    this.takesBack = !config.isAsked
    if (config.headers !== 'ask') this.headers = config.headers
  }

  /**
   * Opens the connection that the last note is written through. To be called when the owner has
   * created the database.
   */
  openStore(): void {
    if (this.#isOpening || typeof indexedDB === 'undefined') return
    this.#isOpening = true
    const request = indexedDB.open(this.#config.name)
    const forget = () => {
      this.#db = undefined
      this.#isOpening = false
    }
    request.onerror = forget
    // Not there any more: making it would leave the owner a database without its stores.
    request.onupgradeneeded = () => request.transaction!.abort()
    request.onsuccess = () => {
      const db = request.result
      this.#db = db
      db.onclose = forget
      db.onversionchange = () => {
        db.close()
        forget()
      }
    }
  }

  /**
   * Notes that earlier pages left in `localStorage` for this collection; {@link forgetNotes} them once
   * they are settled.
   */
  readNotes(target: Target): Note[] {
    const prefix = this.#storagePrefix(target)
    const notes: Note[] = []
    attempt(() => {
      for (const key of Object.keys(localStorage).filter((each) => each.startsWith(prefix))) {
        this.#stored.add(key)
        attempt(() => {
          const note = JSON.parse(localStorage.getItem(key)!)
          if (isNote(note)) notes.push(note)
        })
      }
    })
    return notes
  }

  forgetNotes(target: Target, notes: readonly Note[]): void {
    if (this.#stored.size === 0) return
    const prefix = this.#storagePrefix(target)
    for (const note of notes) {
      const key = prefix + idOf(note)
      if (this.#stored.delete(key)) attempt(() => localStorage.removeItem(key))
    }
  }

  leaveNotes(target: Target, notes: readonly Note[]): void {
    const prefix = this.#storagePrefix(target)
    for (const note of notes) {
      this.#stored.add(prefix + idOf(note))
      attempt(() => localStorage.setItem(prefix + idOf(note), JSON.stringify(note)))
    }
    attempt(() => {
      if (!this.#db || notes.length === 0) return
      const tx = this.#db.transaction(NOTES_STORE, 'readwrite')
      for (const note of notes)
        tx.objectStore(NOTES_STORE).put(note, [...this.#key(target), idOf(note)])
      tx.commit()
    })
  }

  /**
   * Highest range first: the server's counter can only step back from its end. Each is sent once
   * (H8), before this returns; its promise resolves when the answers are here, if the page still
   * is.
   */
  async giveBack(target: Target, ranges: readonly Range[]): Promise<void> {
    const sent = [...ranges]
      .sort((a, b) => b.from - a.from)
      .map((range) => {
        const { method, url, body } = returnRequest(this.#config.url, target, range)
        return fetch(url, {
          method,
          keepalive: true,
          credentials: this.#config.credentials ?? 'same-origin',
          // Plain text without headers goes to another origin without a preflight, for which there
          // is no time. Our server asks for no more than the lease token in it.
          ...(body && { body: JSON.stringify(body) }),
          ...((!body || isOwnOrigin(url)) && { headers: this.headers }),
        })
      })
    await Promise.allSettled(sent)
  }

  close(): void {
    this.#db?.close()
    this.#db = undefined
  }

  #key({ database, collection, separator }: Target): SeriesKey {
    return [this.#config.url, database, collection + separator]
  }

  #storagePrefix(target: Target): string {
    return notesKeyPrefix(this.#config.name, this.#key(target))
  }
}

const idOf = (note: Note): string => ('exchange' in note ? note.exchange : note.lease)

const isOwnOrigin = (url: string): boolean =>
  typeof location !== 'undefined' && new URL(url, location.href).origin === location.origin

/**
 * A page on its way out can only try: storage may be full, closed or forbidden. What fails here
 * costs a gap.
 */
function attempt(act: () => void): void {
  try {
    act()
  } catch {}
}
