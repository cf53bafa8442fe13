/**
 * What the checker knows of each number of one series. Each fact is an array with a place for each
 * number, because a grant can have a million numbers. A device is one bit of a mask.
 */

/** What may be true of a number. */
export const LIMITS = {
  /** It was granted at least once. */
  granted: 1,
  /** Copies of one profile held it. */
  copied: 2,
  /** The server knows that it was copied, and must not grant it any more. */
  retired: 4,
  /**
   * The server was restored from a copy in which it is free, or not granted yet: it may grant it to
   * somebody else.
   */
  forgotten: 8,
  /** It was granted before the server was restored. */
  rolledBack: 16,
  /** A node took it back, but another node had granted it. */
  astray: 32,
  /** A restore undid its give-back, which counts when it comes again. */
  undone: 64,
} as const

export interface Snapshot {
  /** The device that each number was granted to; 0 if it is free. */
  held: Uint16Array
  /** The highest number that was granted or shown then. */
  peak: number
  floor: number
}

export const isIn = (mask: number, bit: number): boolean => (mask & bit) !== 0

export class Numbers {
  highest = 0
  /** The devices that may issue it. */
  holders = new Uint16Array(64)
  /** The devices that have issued it. */
  allocators = new Uint16Array(64)
  /** The device that has its grant, as far as the server knows; 0 while the server has it. */
  owners = new Uint16Array(64)
  /** Devices that may issue it because they are copies, or went back. */
  copies = new Uint16Array(64)
  /** Copies that have dropped it, while some of their pages may not know yet. */
  hearing = new Uint16Array(64)
  /** The holders and allocators that the server has forgotten by a restore. */
  strangers = new Uint16Array(64)
  /** Devices whose storage was evicted while a page held it: that page may still hold it. */
  outlived = new Uint16Array(64)
  /** Devices that hold it twice: in a page of before the eviction, and in the new storage. */
  twice = new Uint16Array(64)
  /** Why it may become a gap; an index into the checker's list. */
  excuses = new Uint8Array(64)
  /** Why two devices may issue it; an index into the checker's list. */
  reasons = new Uint8Array(64)
  /** By ledger: the devices that it granted each number to. */
  readonly #grantees = new Map<string, Uint16Array>()
  #marks = new Uint8Array(64)
  /** The highest number that the server has granted, or was shown. */
  #peak = 0
  /**
   * Nothing up to here is granted any more: somebody has shown a higher number than the server knew
   * (H20).
   */
  #floor = 0

  /** Makes the arrays longer. */
  reach(n: number): void {
    this.highest = Math.max(this.highest, n)
    if (n < this.holders.length) return
    const length = 2 ** Math.ceil(Math.log2(n + 1))
    this.holders = grown(this.holders, new Uint16Array(length))
    this.allocators = grown(this.allocators, new Uint16Array(length))
    this.owners = grown(this.owners, new Uint16Array(length))
    this.copies = grown(this.copies, new Uint16Array(length))
    this.hearing = grown(this.hearing, new Uint16Array(length))
    this.strangers = grown(this.strangers, new Uint16Array(length))
    this.outlived = grown(this.outlived, new Uint16Array(length))
    this.twice = grown(this.twice, new Uint16Array(length))
    this.excuses = grown(this.excuses, new Uint8Array(length))
    this.reasons = grown(this.reasons, new Uint8Array(length))
    for (const [ledger, devices] of this.#grantees)
      this.#grantees.set(ledger, grown(devices, new Uint16Array(length)))
    this.#marks = grown(this.#marks, new Uint8Array(length))
  }

  has(n: number, mark: number): boolean {
    return isIn(this.#marks[n]!, mark)
  }

  set(n: number, mark: number): void {
    this.#marks[n]! |= mark
  }

  /** The devices that have it or had it. */
  known(n: number): number {
    return this.holders[n]! | this.allocators[n]!
  }

  /**
   * May a restored server grant it, though somebody has it? It may, if it has forgotten everybody
   * who has it.
   */
  mayBeGrantedAgain(n: number): boolean {
    return this.has(n, LIMITS.forgotten) && (this.known(n) & ~this.strangers[n]!) === 0
  }

  /** Of all who have issued it and this one, is at most one known to the server? */
  isOneStranger(n: number, bit: number): boolean {
    const known = (this.allocators[n]! | bit) & ~this.strangers[n]!
    return (this.strangers[n]! & (this.allocators[n]! | bit)) !== 0 && (known & (known - 1)) === 0
  }

  /** Was it shown to the server as one that it must not grant any more? */
  isBelowFloor(n: number): boolean {
    return n <= this.#floor
  }

  /** Has a device it, or had it, by a grant of this ledger? */
  isOfLedger(n: number, ledger: string, devices = this.known(n)): boolean {
    return isIn(this.#grantees.get(ledger)?.[n] ?? 0, devices)
  }

  /** Can each that has issued it, and this one, have it from a ledger of its own? */
  isOnceByLedger(n: number, bit: number): boolean {
    const issuers = this.allocators[n]! | bit
    const ledgers = [...this.#grantees.values()].filter((devices) => isIn(devices[n]!, issuers))
    return ledgers.length >= ones(issuers) + (isIn(this.allocators[n]!, bit) ? 1 : 0)
  }

  grant(n: number, bit: number, ledger: string): void {
    const grantees = this.#grantees.get(ledger) ?? new Uint16Array(this.holders.length)
    this.#grantees.set(ledger, grantees)
    grantees[n]! |= bit
    this.#peak = Math.max(this.#peak, n)
    this.holders[n]! |= bit
    this.owners[n] = bit
    this.excuses[n] = 0
    this.#marks[n]! |= LIMITS.granted
    this.#marks[n]! &= ~(LIMITS.forgotten | LIMITS.undone)
  }

  /**
   * Call this before `grant`: it notes whether the device holds it already.
   * @param bit the device, if two of its pages may hold one number; otherwise 0
   */
  grantTwice(n: number, bit: number): void {
    this.twice[n]! |= this.holders[n]! & bit
  }

  /**
   * @param bit the device that gave it back. 0: the device had no right to, but the server took it
   * back all the same
   */
  giveBack(n: number, bit: number, ledger: string): void {
    this.#letGo(n, bit)
    const grantees = this.#grantees.get(ledger)
    if (grantees) grantees[n]! &= ~bit
    this.owners[n] = 0
    // A page of before the eviction holds it, too, and has not given it back.
    if (isIn(this.holders[n]!, bit)) this.strangers[n]! |= bit
    if (bit === 0) this.strangers[n]! |= this.known(n)
    if (this.has(n, LIMITS.rolledBack) && this.known(n) !== 0) this.set(n, LIMITS.forgotten)
  }

  issue(n: number, bit: number): void {
    this.#letGo(n, bit)
    // One of its pages held it. Now none does.
    this.hearing[n]! &= ~bit
    this.allocators[n]! |= bit
  }

  #letGo(n: number, bit: number): void {
    const isTwo = isIn(this.twice[n]!, bit)
    this.twice[n]! &= ~bit
    if (!isTwo) this.holders[n]! &= ~bit
  }

  snapshot(): Snapshot {
    return { held: this.owners.slice(), peak: this.#peak, floor: this.#floor }
  }

  /** A restore: from now on the server knows no more than this. */
  rollBack(known: Snapshot | undefined, reason: number): void {
    for (let n = 1; n <= this.highest; n++) {
      if (!this.has(n, LIMITS.granted)) continue
      const then = known?.held[n] ?? 0
      // The server never knew of copies: one that was made since shows the same token.
      const heldThen = isIn(then, this.copies[n]!) ? then | this.copies[n]! : then
      // A copy that has dropped it may issue it until all of its pages have heard of that. Of two
      // pages in memory that hold it, the server may know the grant of one.
      const mayIssue = this.allocators[n]! | this.hearing[n]! | this.twice[n]!
      const forgottenBefore = this.strangers[n]! & mayIssue
      this.strangers[n] = forgottenBefore | (this.known(n) & ~heldThen)
      this.#marks[n]! &= ~(LIMITS.forgotten | LIMITS.undone)
      if ((heldThen & ~this.owners[n]!) !== 0) this.set(n, LIMITS.undone)
      if (heldThen === 0 && this.strangers[n] !== 0) this.set(n, LIMITS.forgotten)
      this.set(n, LIMITS.rolledBack)
      this.owners[n] = heldThen
      this.excuses[n] ||= reason
    }
    this.#peak = known?.peak ?? 0
    this.#floor = known?.floor ?? 0
  }

  /**
   * A restore undid its give-back. The device may get it again.
   * @param apart the device, if what it has issued of it came from another storage of its own: the
   * server has forgotten that
   */
  mayComeBack(n: number, bit: number, apart: number): void {
    if (!isIn(this.owners[n]!, bit)) return
    if (isIn(this.allocators[n]!, bit & ~apart)) return
    this.holders[n]! |= bit
    this.strangers[n]! |= this.allocators[n]! & apart
  }

  /**
   * A device showed the server a number this high. If the server has granted none so high, it is an
   * older copy of itself, and grants nothing up to that number (H20).
   */
  show(lastMax: number): void {
    if (lastMax > this.#peak) this.raise(lastMax)
  }

  /** Nothing up to this much above the highest number that the server knows is granted any more. */
  raiseBy(by: number): void {
    this.raise(this.#peak + by)
  }

  /** Nothing up to here is granted any more. */
  raise(floor: number): void {
    this.#peak = Math.max(this.#peak, floor)
    this.#floor = Math.max(this.#floor, floor)
  }
}

/** How many devices a mask has. */
function ones(mask: number): number {
  let count = 0
  for (let left = mask; left !== 0; left &= left - 1) count++
  return count
}

function grown<T extends Uint8Array | Uint16Array>(from: T, to: T): T {
  to.set(from)
  return to
}
