/**
 * What this page has given up and the device has not confirmed yet: leases, the tails of leases,
 * and whole exchanges. Each exchange brings all of it to the device. An entry is removed when an
 * exchange that brought it is answered, so a failed exchange forgets nothing. To bring an entry
 * twice is safe.
 */
import type { Target } from '../core/contract.js'
import { idOf } from '../core/page-exit.js'
import type { Exchange, ExchangeNote, Note } from '../core/state.js'
import type { PageExit } from './page-exit.js'

type Cut = Exchange['cuts'][number]
export type Brought = Pick<Exchange, 'notes' | 'cuts' | 'takeBack'>

export class Outbox {
  readonly #target: Target
  readonly #pageExit: PageExit
  /** By lease or exchange. Later news of a lease replaces earlier. */
  readonly #entries = new Map<string, Note | Cut>()
  /** Exchanges under way. If one fails, its note cancels all that it did. */
  readonly #awaited = new Map<string, ExchangeNote>()
  /** Ids of notes that have a copy in `localStorage`; undefined: not read yet. */
  #copies: Set<string> | undefined

  constructor(target: Target, pageExit: PageExit) {
    this.#target = target
    this.#pageExit = pageExit
  }

  get size(): number {
    return this.#entries.size
  }

  /** Is there a note of everything, for the next page? */
  get isLeft(): boolean {
    return [...this.#entries.keys()].every((id) => this.#copies?.has(id))
  }

  put(entries: readonly (Note | Cut)[]): void {
    for (const entry of entries) this.#entries.set(idOf(entry), entry)
  }

  /**
   * An exchange begins. It brings everything that is in here, and notes that earlier pages left.
   * @param takeBack offers that the page has cancelled for it
   */
  begin(exchange: string, takeBack: string[]): Brought {
    this.#copies ??= this.#readCopies()
    this.#awaited.set(exchange, { exchange, takeBack })
    const entries = [...this.#entries.values()]
    return {
      notes: entries.filter(isNote),
      cuts: entries.filter(isCut),
      takeBack,
    }
  }

  /**
   * The exchange was answered: the device knows what it brought.
   * @param isDurable the storage that knows it is the one that earlier pages left their notes for
   * @returns whether the page still waits for the answer, and may use it
   */
  confirm(exchange: string, { notes, cuts }: Brought, isDurable: boolean): boolean {
    for (const entry of [...notes, ...cuts])
      if (this.#entries.get(idOf(entry)) === entry) this.#entries.delete(idOf(entry))
    const copied = notes.map(idOf).filter((id) => this.#copies!.delete(id))
    if (isDurable && copied.length > 0) this.#pageExit.forgetNotes(this.#target, copied)
    return this.#awaited.delete(exchange)
  }

  /** The exchange failed, or the page does not want its answer any more. */
  cancel(exchange: string): void {
    const note = this.#awaited.get(exchange)
    if (!note) return
    this.#awaited.delete(exchange)
    this.put([note])
  }

  cancelAll(): void {
    // guard: H6 a page that goes says which answers it will not use
    for (const exchange of this.#awaited.keys()) this.cancel(exchange)
  }

  /**
   * The page may be gone before the next exchange: leaves everything as notes, for the next page.
   * It holds no lease any more, so there is no tail of one in here.
   */
  leave(): void {
    if (this.size === 0) return
    this.#copies ??= this.#readCopies()
    const notes = [...this.#entries.values()].filter(isNote)
    for (const note of notes) this.#copies.add(idOf(note))
    this.#pageExit.leaveNotes(this.#target, notes)
  }

  #readCopies(): Set<string> {
    const notes = this.#pageExit.readNotes(this.#target)
    this.put(notes)
    return new Set(notes.map(idOf))
  }
}

const isCut = (entry: Note | Cut): entry is Cut => 'to' in entry
const isNote = (entry: Note | Cut): entry is Note => !isCut(entry)
