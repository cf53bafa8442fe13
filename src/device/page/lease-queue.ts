/**
 * The numbers that this page may issue, in the order in which they were leased, and their ids.
 * Synchronous and free of I/O: the hot path. Guarantees that a number is taken at most once, and
 * none after {@link LeaseQueue.revoke}.
 */
import type { IdOf } from '../../core/id-format.js'
import { idSuffix } from '../../core/names.js'
import { size } from '../../core/range.js'
import type { Lease, LeaseNote } from '../state.js'

/** A lease that is used up to below `next`. */
export interface LeaseLeft {
  lease: Lease
  next: number
}

export class LeaseQueue {
  /** Unissued numbers. */
  held = 0
  /** All numbers ever taken. */
  issued = 0
  /** Of the number taken last. */
  prefix = ''
  suffix = ''
  serverTag = ''
  // Plain fields, so that the explorer can copy a queue.
  /** Of the first lease; 0 until a number of it was taken. */
  private next = 0
  private to = -1
  private leases: Lease[] = []
  private spent: LeaseNote[] = []

  /** The next number, or −1 when there is none. */
  take(): number {
    if (this.next > this.to && !this.advance()) return -1
    this.held--
    this.issued++
    return this.next++
  }

  /**
   * The id of the number that was taken last.
   * @param form the app's own; undefined: `orders/33-A`
   */
  id(number: number, form: IdOf | undefined): string {
    return form ? form(number, this) : this.prefix + number + this.suffix
  }

  add(leases: readonly Lease[]): void {
    this.leases.push(...leases)
    for (const lease of leases) this.held += size(lease.range)
  }

  /** Takes over the tokens that the server has renewed. */
  renew(leases: readonly Lease[]): void {
    const tokens = new Map(leases.map(({ id, range }) => [id, range.token]))
    this.leases = this.leases.map((lease) => {
      const token = tokens.get(lease.id)
      return token === undefined ? lease : { ...lease, range: { ...lease.range, token } }
    })
  }

  /** Notes on leases that were used up, handed out once. */
  takeSpent(): LeaseNote[] {
    if (this.held === 0) this.advance()
    const spent = this.spent
    this.spent = []
    return spent
  }

  /** How far each lease is used. Changes nothing. */
  progress(): LeaseNote[] {
    const [first] = this.leases
    return this.next > 0 ? [...this.spent, { lease: first!.id, next: this.next }] : this.spent
  }

  /** Gives every lease up, at once and for good, and says how far each was used. */
  // guard: H6 a lease given up is void
  revoke(): LeaseLeft[] {
    const left = this.leases.map((lease, i) => ({
      lease,
      next: this.next > 0 && i === 0 ? this.next : lease.range.from,
    }))
    this.next = 0
    this.to = -1
    this.leases = []
    this.held = 0
    return left
  }

  /**
   * Gives the newest numbers up until only `count` are held: whole leases as notes, the tail of one
   * as a cut.
   */
  cutTo(count: number): { notes: LeaseNote[]; cuts: { lease: string; to: number }[] } {
    const notes: LeaseNote[] = []
    while (this.held > count) {
      const lease = this.leases.pop()!
      const isCurrent = this.next > 0 && this.leases.length === 0
      const excess = this.held - count
      // At least one number of the current lease is issued, so a cut never leaves a lease empty.
      if (isCurrent || size(lease.range) > excess) {
        const to = lease.range.to - excess
        this.leases.push({ ...lease, range: { ...lease.range, to } })
        if (isCurrent) this.to = to
        this.held = count
        return { notes, cuts: [{ lease: lease.id, to }] }
      }
      this.held -= size(lease.range)
      notes.push({ lease: lease.id, next: lease.range.from })
    }
    return { notes, cuts: [] }
  }

  private advance(): boolean {
    if (this.next > 0) this.spent.push({ lease: this.leases.shift()!.id, next: this.to + 1 })
    const [first] = this.leases
    this.next = 0
    this.to = -1
    if (!first) return false
    const { from, to, prefix, serverTag } = first.range
    this.next = from
    this.to = to
    this.prefix = prefix
    this.serverTag = serverTag
    this.suffix = idSuffix(first.range)
    return true
  }
}
