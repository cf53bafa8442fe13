/**
 * Knows the truth about every number, beside the system under test: who may issue it, who issued
 * it, whether the server has it back. Complains at the first step that breaks a promise. Excuses
 * nothing but what the documents allow: excuses.ts.
 */
import type { Lost, Twice } from './excuses.js'
import { isIn, LIMITS, Numbers, type Snapshot } from './numbers.js'
import type { TwoLedgers } from './two-ledgers.js'

/** Numbers of one collection from one node: `orders-A`. */
export type Series = string

/** What a node's database knows at one moment, by series. */
export type Known = ReadonlyMap<Series, Snapshot>

/** Does the ledger know that a give-back comes too late, or did it know it before a restore? */
export type Late = 'as the ledger knows' | 'as a restore forgot'

export class Checker {
  readonly violations: string[] = []
  /** How often each excuse was needed. */
  readonly tolerated = new Map<Twice, number>()
  issuedCount = 0
  /**
   * Two copies both issue this number, which they were allowed to for this reason. Does it still
   * hold? Undefined: no other one does.
   * @param devices the copies, or the device that went back
   */
  whyBothMake: (
    series: Series,
    n: number,
    why: Twice,
    devices: readonly string[],
  ) => Twice | undefined = (_, __, why) => why
  /** What is known of another ledger at the same address. */
  twoLedgers: Pick<TwoLedgers, 'areThere' | 'isStopped'> = {
    areThere: false,
    isStopped: () => false,
  }
  readonly #series = new Map<Series, Numbers>()
  /** The place of a device in this list is the place of its bit in a mask. */
  readonly #devices: string[] = []
  readonly #excuses: (Lost | undefined)[] = [undefined]
  readonly #reasons: Twice[] = []
  /** Nodes that know that their database is an older copy of itself. */
  readonly #stopped = new Set<string>()
  /** Devices that may hold numbers apart from those that they show to the server. */
  #apart = 0

  complain(what: string): void {
    this.violations.push(what)
  }

  /** The documents allow this. */
  tolerate(what: Twice): void {
    this.tolerated.set(what, (this.tolerated.get(what) ?? 0) + 1)
  }

  /** @param ledger which of the ledgers that answer at one address */
  granted(series: Series, device: string, low: number, high: number, ledger = ''): void {
    const numbers = this.#numbers(series)
    const bit = this.#bit(device)
    numbers.reach(high)
    if (this.#stopped.has(nodeOf(series)))
      this.complain(`${series} ${low} was granted to ${device} by what is known to be a copy`)
    let isDropped = false
    for (let n = low; n <= high; n++) {
      if (numbers.isBelowFloor(n))
        this.complain(
          `${series} ${n} was granted to ${device}, after a higher one had been shown to an ` +
            'older copy',
        )
      else if (numbers.known(n) !== 0) {
        const isForgotten = numbers.mayBeGrantedAgain(n)
        const cameBack = numbers.owners[n] === 0
        isDropped ||= isForgotten
        if (isForgotten) {
          this.tolerate('granted again by a restored server')
          numbers.grantTwice(n, bit & (this.#apart | numbers.outlived[n]!))
        } else if (cameBack && numbers.has(n, LIMITS.copied) && !numbers.has(n, LIMITS.retired))
          this.tolerate('granted again after a copy gave them back')
        else if (cameBack && numbers.has(n, LIMITS.astray))
          this.tolerate('granted again after a give-back at another node')
        else if (this.twoLedgers.areThere && !numbers.isOfLedger(n, ledger)) {
          this.tolerate('granted by two ledgers')
          numbers.grantTwice(n, bit & (this.#apart | numbers.outlived[n]!))
        } else
          this.complain(
            `${series} ${n} was granted to ${device}, but ${this.#describe(numbers, n)}`,
          )
      }
      numbers.grant(n, bit, ledger)
    }
    // A device that already holds one of them drops the whole answer.
    if (isDropped) this.excuse(series, low, high, 'granted again')
  }

  /**
   * The server took `low` to `high` back from `device`.
   * @param lateness was this number granted anew before the give-back arrived, to the device itself
   * or to another one, or was the token of its grant replaced?
   * @param ledger which of the ledgers that answer at one address
   */
  returned(
    series: Series,
    device: string,
    low: number,
    high: number,
    lateness: (n: number) => Late | undefined = () => undefined,
    ledger = '',
  ): void {
    const numbers = this.#numbers(series)
    const bit = this.#bit(device)
    numbers.reach(high)
    for (let n = low; n <= high; n++) {
      const isHolder = isIn(numbers.holders[n]!, bit)
      const late = lateness(n)
      const isItsOwn = isHolder && isIn(numbers.owners[n]!, bit) && !late
      const isForgotten = late ? late === 'as a restore forgot' : numbers.has(n, LIMITS.undone)
      // The other ledger may have granted it to somebody else since.
      const isOfOneOfTwo =
        this.twoLedgers.areThere && isHolder && numbers.isOfLedger(n, ledger, bit)
      if (!isItsOwn) {
        if (isIn(numbers.hearing[n]!, bit))
          this.tolerate('given back by a copy before all of its pages had heard of it')
        else if (isForgotten)
          this.tolerate('given back late, after a restore made their token valid again')
        else if (numbers.has(n, LIMITS.astray))
          this.tolerate('given back at another node, before its first answer')
        else if (isOfOneOfTwo) this.tolerate('granted by two ledgers')
        else
          this.complain(
            `${series} ${n} was given back by ${device}, but ${this.#describe(numbers, n)}`,
          )
      }
      numbers.giveBack(n, isItsOwn || isOfOneOfTwo ? bit : 0, ledger)
    }
  }

  /** A node without tokens took numbers back that another node had granted (H9). */
  returnedAstray(series: Series, low: number, high: number): void {
    const numbers = this.#numbers(series)
    for (let n = low; n <= high; n++) {
      numbers.owners[n] = 0
      if (!numbers.holders[n] && !numbers.allocators[n]) continue
      this.tolerate('given back at another node, before its first answer')
      numbers.set(n, LIMITS.astray)
    }
  }

  /**
   * @param isInMemory does the page that issued it wait for its storage to open?
   * @param state the name of the device's state that had it (tenants.ts)
   */
  issued(
    series: Series,
    device: string,
    n: number,
    isInMemory = () => false,
    state = `${series.slice(0, series.lastIndexOf('-'))}/`,
  ): void {
    this.issuedCount++
    const numbers = this.#numbers(series)
    const bit = this.#bit(device)
    numbers.reach(n)
    if (this.twoLedgers.isStopped(device, state)) {
      if (isInMemory()) this.tolerate('issued from memory by a device that has stopped')
      else this.complain(`${series} ${n} was issued by ${device}, which had heard two ledgers`)
    }
    if (isIn(numbers.hearing[n]!, bit))
      this.tolerate('issued by a copy before all of its pages had heard of it')
    else if (!isIn(numbers.holders[n]!, bit))
      this.complain(`${series} ${n} was issued by ${device}, but ${this.#describe(numbers, n)}`)
    else if (numbers.allocators[n]) {
      if (numbers.has(n, LIMITS.copied)) {
        const reason = this.#reasons[numbers.reasons[n]!]!
        const why = this.whyBothMake(series, n, reason, this.#names(numbers.copies[n]!))
        if (why) this.tolerate(why)
        else this.complain(`${series} ${n} was made by ${device}, long after it was made before`)
      } else if (numbers.has(n, LIMITS.astray))
        this.tolerate('issued twice after a give-back at another node')
      else if (numbers.isOneStranger(n, bit))
        this.tolerate('issued twice after a restored server granted them again')
      else if (this.twoLedgers.areThere && numbers.isOnceByLedger(n, bit))
        this.tolerate('issued by devices of two ledgers')
      else
        this.complain(`${series} ${n} was issued by ${device}, but ${this.#describe(numbers, n)}`)
    }
    numbers.issue(n, bit)
  }

  /** May this device issue it? */
  isHolder(series: Series, device: string, n: number): boolean {
    return isIn(this.#numbers(series).holders[n] ?? 0, this.#bit(device))
  }

  /** Has somebody issued one of these? */
  isInUse(series: Series, low: number, high: number): boolean {
    const { allocators } = this.#numbers(series)
    return allocators.subarray(low, high + 1).some((bits) => bits !== 0)
  }

  /**
   * A page of this device holds these numbers, and the device's storage was evicted. A server that
   * forgot them may grant them to the device once more.
   */
  outlived(series: Series, device: string, low: number, high: number): void {
    const numbers = this.#numbers(series)
    for (let n = low; n <= Math.min(high, numbers.highest); n++)
      numbers.outlived[n]! |= this.#bit(device)
  }

  /**
   * This device has another spelling of a collection, or a page that cannot use the storage.
   * Neither shows the server anything of what the device has stored. So a server that forgot those
   * numbers may grant them to the device once more.
   */
  holdsApart(device: string): void {
    this.#apart |= this.#bit(device)
  }

  /** These devices are copies now: a number here that one may issue, each of them may issue. */
  shared(series: Series, low: number, high: number, devices: readonly string[], why: Twice): void {
    const numbers = this.#numbers(series)
    const bits = devices.reduce((all, device) => all | this.#bit(device), 0)
    if (bits === 0) return
    const reason = indexOf(this.#reasons, why)
    for (let n = low; n <= Math.min(high, numbers.highest); n++) {
      if (numbers.holders[n]! & bits) numbers.holders[n]! |= bits
      if (numbers.owners[n]! & bits) numbers.owners[n]! |= bits
      numbers.copies[n]! |= bits
      numbers.set(n, LIMITS.copied)
      numbers.reasons[n] = reason
    }
  }

  /** This device was set back to where it held these: the server could not know what it used. */
  mayIssueAgain(
    series: Series,
    device: string,
    { from, to }: { from: number; to: number },
    why: Twice,
  ): void {
    const numbers = this.#numbers(series)
    const reason = indexOf(this.#reasons, why)
    for (let n = from; n <= Math.min(to, numbers.highest); n++) {
      numbers.holders[n]! |= this.#bit(device)
      numbers.copies[n]! |= this.#bit(device)
      numbers.set(n, LIMITS.copied)
      numbers.reasons[n] = reason
    }
  }

  /**
   * A copy dropped these numbers. Until all of its pages know it, one of them may still issue some.
   * @returns a function to call when every page knows it
   */
  dropped(series: Series, device: string, dropped: readonly number[]): () => void {
    const numbers = this.#numbers(series)
    const bit = this.#bit(device)
    const held = dropped.filter((n) => isIn(numbers.holders[n]!, bit))
    for (const n of held) {
      numbers.holders[n]! &= ~bit
      numbers.hearing[n]! |= bit
    }
    return () => {
      for (const n of held) numbers.hearing[n]! &= ~bit
    }
  }

  /** The device has heard that its storage is a copy, and that another copy has these (H13). */
  mustDrop(series: Series, device: string, dropped: readonly number[]): void {
    const numbers = this.#numbers(series)
    for (const n of dropped) numbers.holders[n]! &= ~this.#bit(device)
  }

  /**
   * The server has found out that a grant was copied. Numbers of that grant may still come back,
   * but from now on the server grants them to nobody (H13).
   */
  retired(series: Series, retired: readonly number[]): void {
    const numbers = this.#numbers(series)
    for (const n of retired) numbers.set(n, LIMITS.retired)
  }

  /**
   * What a node's database knows: every number that it ever granted, with its holder if it has one.
   */
  knownAt(node: string): Known {
    return new Map(this.#of(node).map(([series, numbers]) => [series, numbers.snapshot()]))
  }

  /** The node's database was replaced by a copy that knows only this. */
  forget(node: string, known: Known): void {
    const reason = indexOf(this.#excuses, 'database restored')
    for (const [series, numbers] of this.#of(node)) {
      numbers.rollBack(known.get(series), reason)
      // What a device in memory has given back, and may get again, is on no disk. Each of its pages
      // is a storage of its own.
      for (const bit of this.#devices.map((_, i) => this.#apart & (1 << i)))
        for (let n = 1; n <= numbers.highest; n++) numbers.mayComeBack(n, bit, bit)
    }
    this.#stopped.delete(node)
  }

  /** The node knows that its database is an older copy: it grants nothing any more (H20). */
  stopped(node: string): void {
    this.#stopped.add(node)
  }

  /**
   * A token of a grant that a restore has taken away was shown. If its numbers end above the floor,
   * the node has to know from now on that it is a copy, whatever its operator believes.
   */
  mustStop(series: Series, high: number): boolean {
    return !this.#numbers(series).isBelowFloor(high)
  }

  /** The highest number that the node has granted, also before a restore. */
  highestOf(node: string): number {
    return Math.max(0, ...this.#of(node).map(([, { highest }]) => highest))
  }

  /** The operator raised the node's floors by this much. */
  raised(node: string, by: number): void {
    this.#stopped.delete(node)
    for (const [, numbers] of this.#of(node)) numbers.raiseBy(by)
  }

  /**
   * A restore undid a give-back of these numbers. A device that does not know what became of the
   * give-back may get them again.
   * @param isUnused no page of this storage can have issued one
   */
  mayComeBack(
    series: Series,
    device: string,
    { from, to }: { from: number; to: number },
    isUnused = false,
  ): void {
    const numbers = this.#numbers(series)
    const bit = this.#bit(device)
    const apart = isUnused ? bit & this.#apart : 0
    for (let n = from; n <= Math.min(to, numbers.highest); n++) numbers.mayComeBack(n, bit, apart)
  }

  /** A device has shown the highest number it knows of. */
  showed(series: Series, lastMax: number): void {
    this.#numbers(series).show(lastMax)
  }

  /** A number that this device holds may become a gap. */
  excuse(series: Series, low: number, high: number, why: Lost): void {
    const numbers = this.#numbers(series)
    const reason = indexOf(this.#excuses, why)
    for (let n = low; n <= Math.min(high, numbers.highest); n++) numbers.excuses[n] ||= reason
  }

  /** All that was granted of this series until now. */
  excuseAll(series: Series, why: Lost): void {
    this.excuse(series, 1, Number.POSITIVE_INFINITY, why)
  }

  /**
   * Numbers that nobody issued, that no server has, and that no device has stored.
   * @param isStored does a device still have it?
   * @param lossy devices that may lose numbers without a recorded cause
   */
  gaps(
    isStored: (series: Series, n: number) => boolean,
    lossy: readonly string[],
  ): { count: number; unexplained: string[] } {
    const lossyBits = lossy.reduce((all, device) => all | this.#bit(device), 0)
    const unexplained: string[] = []
    let count = 0
    for (const [series, numbers] of this.#series) {
      for (let n = 1; n <= numbers.highest; n++) {
        if (!numbers.owners[n] || numbers.allocators[n] || isStored(series, n)) continue
        count++
        if (numbers.excuses[n] === 0 && (numbers.owners[n]! & ~lossyBits) !== 0)
          unexplained.push(
            `${series} ${n} (granted to ${this.#names(numbers.owners[n]!).join(' and ')})`,
          )
      }
    }
    return { count, unexplained }
  }

  #describe(numbers: Numbers, n: number): string {
    const names = (bits: number) => this.#names(bits).join(' and ')
    if (numbers.allocators[n]) return `${names(numbers.allocators[n]!)} had issued it`
    if (numbers.holders[n]) return `${names(numbers.holders[n]!)} holds it`
    return numbers.has(n, LIMITS.granted)
      ? `${names(numbers.owners[n]!)} had given it back`
      : 'the server never granted it'
  }

  #names(bits: number): string[] {
    return this.#devices.filter((_, i) => isIn(bits, 1 << i))
  }

  #numbers(series: Series): Numbers {
    const numbers = this.#series.get(series) ?? new Numbers()
    this.#series.set(series, numbers)
    return numbers
  }

  #of(node: string): [Series, Numbers][] {
    return [...this.#series].filter(([series]) => nodeOf(series) === node)
  }

  #bit(device: string): number {
    return 1 << indexOf(this.#devices, device)
  }
}

const nodeOf = (series: Series): string => series.slice(series.lastIndexOf('-') + 1)

/** Where `item` is in the list. If it was not there, adds it at the end. */
function indexOf<T>(list: T[], item: T): number {
  const at = list.indexOf(item)
  return at >= 0 ? at : list.push(item) - 1
}
