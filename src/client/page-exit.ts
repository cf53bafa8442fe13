/**
 * Runs when a page closes and has no time: it writes notes of unused numbers to two places,
 * remembers which check-ins were answered, and gives the surplus back. It starts all of this
 * synchronously inside the handler, and awaits nothing first: nothing else works in every engine.
 */
import type { Range } from '../core/range.js'
import { openBucket } from '../device/bucket.js'
import type { OwnerConfig, Target } from '../device/contract.js'
import type { DeviceStore, StoreKey } from '../device/device-store.js'
import { idOf, isNote, NOTES_STORE, nameOf, notesKeyPrefix } from '../device/page-notes.js'
import type { ReturnedPiece } from '../device/requests.js'
import type { Note } from '../device/state.js'
import type { GiveBack } from './give-back.js'
import { type LastAnswers, leaveAnswers, takeAnswers } from './last-answers.js'

export class PageExit {
  readonly #config: OwnerConfig
  readonly #store: DeviceStore | undefined
  #db: IDBDatabase | undefined
  #isOpening = false
  #isClosed = false
  /** Does anybody take ranges back? */
  readonly takesBack: boolean
  /** Loaded once the page has its first ids. Before that nothing goes back. */
  sender: GiveBack | undefined
  /** The pieces that are gathered for a common request. */
  #gathered: ReturnedPiece[] | undefined
  /** Resolves when the last common requests are answered. */
  #sent: Promise<void> | undefined
  /** Headers of the last request: there is no time to ask for new ones. */
  headers: Record<string, string> = {}
  /** Check-ins that were answered in this run: to this page, or before its reload. */
  readonly answers: LastAnswers

  /** @param store the app's own: notes go there alone */
  constructor(config: OwnerConfig, store?: DeviceStore) {
    this.#config = config
    this.#store = store
    this.takesBack = !config.isAsked
    this.answers = store ? {} : takeAnswers(config.name)
    if (config.headers !== 'ask') this.headers = config.headers
    // While the worker starts: whoever asks for the bucket first waits longest.
    if (!store) openBucket()?.catch(() => {})
  }

  /**
   * Opens the connection that the last note is written through, once the owner has a database.
   * @param isInBucket is it in this package's bucket?
   */
  openStore(isInBucket?: boolean): void {
    if (this.#isOpening || this.#store) return
    this.#isOpening = true
    this.#open(isInBucket).catch(this.#forget)
  }

  async #open(isInBucket?: boolean): Promise<void> {
    const home = isInBucket ? await openBucket() : globalThis
    const request = home!.indexedDB.open(this.#config.name)
    request.onerror = this.#forget
    // The database is gone. If this made it again, the owner would find it without its stores.
    request.onupgradeneeded = () => request.transaction!.abort()
    request.onsuccess = () => {
      const db = request.result
      // The page was closed while it opened.
      if (this.#isClosed) return db.close()
      this.#db = db
      db.onclose = this.#forget
      db.onversionchange = () => {
        db.close()
        this.#forget()
      }
    }
  }

  readonly #forget = () => {
    this.#db = undefined
    this.#isOpening = false
  }

  /** Closes the connection to the storage: no note is written there any more. */
  close(): void {
    this.#isClosed = true
    this.#db?.close()
  }

  /** Notes that earlier pages left in `localStorage` for this collection. */
  readNotes(target: Target): Note[] {
    const notes: Note[] = []
    if (this.#store) return notes
    const prefix = this.#storagePrefix(target)
    attempt(() => {
      for (const key of Object.keys(localStorage).filter((each) => each.startsWith(prefix)))
        attempt(() => {
          const note = JSON.parse(localStorage.getItem(key)!)
          if (isNote(note)) notes.push(note)
        })
    })
    return notes
  }

  /** Removes the copies in `localStorage` of notes that are settled. */
  forgetNotes(target: Target, ids: readonly string[]): void {
    const prefix = this.#storagePrefix(target)
    if (this.#store) return
    for (const id of ids) attempt(() => localStorage.removeItem(prefix + id))
  }

  /** Leaves notes in two places at once: no engine loses both. */
  leaveNotes(target: Target, notes: readonly Note[]): void {
    if (this.#store) {
      this.#store.leaveNotes?.(this.#key(target), notes)
      return
    }
    const prefix = this.#storagePrefix(target)
    // guard: H5 the note in localStorage
    for (const note of notes)
      attempt(() => localStorage.setItem(prefix + idOf(note), JSON.stringify(note)))
    // guard: H5 the note in IndexedDB
    attempt(() => {
      if (!this.#db || notes.length === 0) return
      const tx = this.#db.transaction(NOTES_STORE, 'readwrite')
      for (const note of notes)
        tx.objectStore(NOTES_STORE).put(note, [...this.#key(target), idOf(note)])
      tx.commit()
    })
  }

  /** A check-in of this page was answered. */
  heard(target: Target, checkIn: string): void {
    this.answers[nameOf(this.#key(target))] = checkIn
  }

  /** The page goes: if it is reloaded, it need not ask again. */
  leaveAnswers(): void {
    if (!this.#store) leaveAnswers(this.#config.name, this.answers)
  }

  /**
   * All that `act` gives back, of all collections, goes in common requests, before this returns.
   */
  together(act: () => void): void {
    const pieces: ReturnedPiece[] = []
    this.#gathered = pieces
    act()
    this.#gathered = undefined
    if (pieces.length > 0) this.#sent = this.#send(pieces)
  }

  /** Resolves when the answer is here, if the page still is. */
  async giveBack(target: Target, ranges: readonly Range[]): Promise<void> {
    const pieces = ranges.map((range) => ({ target, range }))
    if (!this.#gathered) return this.#send(pieces)
    this.#gathered.push(...pieces)
    // Then they are sent.
    await undefined
    return this.#sent
  }

  #send(pieces: readonly ReturnedPiece[]): Promise<void> {
    return this.sender!(this.#config, this.headers, pieces)
  }

  #key({ database, collection, separator }: Target): StoreKey {
    return [this.#config.url, database, collection + separator]
  }

  #storagePrefix(target: Target): string {
    return notesKeyPrefix(this.#config.name, this.#key(target))
  }
}

/**
 * A page that closes can only try: storage may be full, closed or forbidden. A failure is a gap.
 */
function attempt(act: () => void): void {
  try {
    act()
  } catch {}
}
