/**
 * What is known of each number of one series, in arrays by number: a grant can have a million of them.
 * Devices are bits of a mask.
 */

/** What can be the matter with a number. */
export const LIMITS = {
  /** It was granted at least once. */
  granted: 1,
  /** Copies of one profile held it. */
  copied: 2,
  /** The server knows that, and must not grant it any more. */
  retired: 4,
  /** The server was restored from a copy that knows nothing of its grant: it may grant it again, until somebody shows a higher number. */
  forgotten: 8,
  /** It was free in that copy. */
  wasFree: 16,
  /** Its lease token is as old as the database that was restored: a give-back that was late may find it valid again. */
  rolledBack: 32,
  /** A restored server did grant it again. */
  doubled: 64,
  /** A node took it back from a device that another node had granted its range. */
  astray: 128,
} as const

/** The documented limits (docs/why-it-cannot-duplicate.md). */
export type Limit =
  | 'granted again by a restored server'
  | 'issued twice after a restored server granted them again'
  | 'given back late, after a restore made their token valid again'
  | 'granted again after a copied profile gave them back'
  | 'issued twice after a profile was copied'
  | 'given back at another node, before its first answer'
  | 'granted again after a give-back at another node'
  | 'issued twice after a give-back at another node'
  | 'issued by a copy before all of its pages had heard of it'

export interface Snapshot {
  /** To whom a number was granted, 0 where it is free. */
  held: Uint16Array
  isKnown: Uint8Array
  /** The highest that was granted by then. */
  highest: number
}

export const isIn = (mask: number, bit: number): boolean => (mask & bit) !== 0

export class Numbers {
  highest = 0
  /** Who may issue it. */
  holders = new Uint16Array(64)
  /** Who did. */
  issuers = new Uint16Array(64)
  /** Whose the grant is, as the server sees it; 0 while the server has it. */
  owners = new Uint16Array(64)
  /** Copies that have dropped it, and whose pages need not all know. */
  hearing = new Uint16Array(64)
  /** Why it may become a gap; an index into the checker's list. */
  excuses = new Uint8Array(64)
  #marks = new Uint8Array(64)
  /** The highest number that the restored copy knew; undefined: nothing was ever restored. */
  #restoredHighest: number | undefined

  /** Makes room. */
  reach(n: number): void {
    this.highest = Math.max(this.highest, n)
    if (n < this.holders.length) return
    const length = 2 ** Math.ceil(Math.log2(n + 1))
    this.holders = grown(this.holders, new Uint16Array(length))
    this.issuers = grown(this.issuers, new Uint16Array(length))
    this.owners = grown(this.owners, new Uint16Array(length))
    this.hearing = grown(this.hearing, new Uint16Array(length))
    this.excuses = grown(this.excuses, new Uint8Array(length))
    this.#marks = grown(this.#marks, new Uint8Array(length))
  }

  has(n: number, mark: number): boolean {
    return isIn(this.#marks[n]!, mark)
  }

  set(n: number, mark: number): void {
    this.#marks[n]! |= mark
  }

  grant(n: number, bit: number): void {
    this.holders[n]! |= bit
    this.owners[n] = bit
    this.excuses[n] = 0
    this.#marks[n]! |= LIMITS.granted
    this.#marks[n]! &= ~(LIMITS.forgotten | LIMITS.wasFree)
  }

  giveBack(n: number, bit: number): void {
    this.holders[n]! &= ~bit
    this.owners[n] = 0
  }

  issue(n: number, bit: number): void {
    this.holders[n]! &= ~bit
    this.issuers[n]! |= bit
  }

  snapshot(): Snapshot {
    const isKnown = (marks: number) => isIn(marks, LIMITS.granted) && (!isIn(marks, LIMITS.forgotten) || isIn(marks, LIMITS.wasFree))
    const known = this.#marks.map((marks) => (isKnown(marks) ? 1 : 0))
    return { held: this.owners.map((owners, n) => (known[n] ? owners : 0)), isKnown: known, highest: known.lastIndexOf(1) }
  }

  /** The server knows no more than this. */
  rollBack(known: Snapshot | undefined, reason: number): void {
    for (let n = 1; n <= this.highest; n++) {
      if (!this.has(n, LIMITS.granted)) continue
      const heldThen = known?.held[n] ?? 0
      const isSomebodys = this.holders[n] || this.issuers[n]
      const mark = (limit: number, isSet: unknown) => {
        this.#marks[n] = isSet ? this.#marks[n]! | limit : this.#marks[n]! & ~limit
      }
      mark(LIMITS.forgotten, heldThen === 0 && isSomebodys)
      mark(LIMITS.wasFree, known?.isKnown[n] && heldThen === 0)
      this.set(n, LIMITS.rolledBack)
      // What came back since the copy is held again there; who has it now is not known.
      if (heldThen && heldThen !== this.owners[n]) this.set(n, LIMITS.doubled)
      this.owners[n] = heldThen
      this.excuses[n] ||= reason
    }
    this.#restoredHighest = Math.min(known?.highest ?? 0, this.#restoredHighest ?? Number.POSITIVE_INFINITY)
  }

  /** The server has heard of a number so high: nothing that it did not know up to it is granted anew (H20). */
  protect(lastMax: number): void {
    if (this.#restoredHighest === undefined) return
    for (let n = 1; n <= Math.min(lastMax, this.highest); n++) if (!this.has(n, LIMITS.wasFree)) this.#marks[n]! &= ~LIMITS.forgotten
  }
}

function grown<T extends Uint8Array | Uint16Array>(from: T, to: T): T {
  to.set(from)
  return to
}
