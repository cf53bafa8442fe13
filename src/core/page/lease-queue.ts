/**
 * The numbers this page may issue, in the order they were leased. Synchronous and free of I/O: the
 * hot path. Guarantees that a number is taken at most once, and none after
 * {@link LeaseQueue.revoke}.
 */

import { idSuffix } from '../names.js'
import { size } from '../range.js'
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
  private next = 0
  private to = -1
  private current: Lease | undefined
  private waiting: Lease[] = []
  private spent: LeaseNote[] = []

  /** The next number, or −1 when there is none. */
  take(): number {
    if (this.next > this.to && !this.#advance()) return -1
    this.held--
    this.issued++
    return this.next++
  }

  add(leases: readonly Lease[]): void {
    this.waiting.push(...leases)
    for (const lease of leases) this.held += size(lease.range)
  }

  /** Takes over the tokens that the server has renewed. */
  renew(leases: readonly Lease[]): void {
    const tokens = new Map(leases.map(({ id, range }) => [id, range.token]))
    const renewed = (lease: Lease): Lease => {
      const token = tokens.get(lease.id)
      return token === undefined ? lease : { ...lease, range: { ...lease.range, token } }
    }
    this.waiting = this.waiting.map(renewed)
    if (this.current) this.current = renewed(this.current)
  }

  /** Notes on leases that were used up, handed out once. */
  takeSpent(): LeaseNote[] {
    const spent = this.spent
    this.spent = []
    return spent
  }

  /** How far each lease is used. Changes nothing. */
  progress(): LeaseNote[] {
    return this.current ? [...this.spent, { lease: this.current.id, next: this.next }] : this.spent
  }

  /** Gives every lease up, at once and for good, and says how far each was used. */
  // guard: H6 a lease given up is void
  revoke(): LeaseLeft[] {
    const left = this.current ? [{ lease: this.current, next: this.next }] : []
    left.push(...this.waiting.map((lease) => ({ lease, next: lease.range.from })))
    this.current = undefined
    this.waiting = []
    this.to = -1
    this.next = 0
    this.held = 0
    return left
  }

  /**
   * Gives the newest numbers up until only `count` are held: whole leases as notes, the tail of one
   * as a cut.
   */
  cutTo(count: number): { notes: LeaseNote[]; cuts: { lease: string; to: number }[] } {
    const notes: LeaseNote[] = []
    while (this.waiting.length > 0 && this.held > count) {
      const lease = this.waiting.at(-1)!
      const excess = this.held - count
      if (size(lease.range) > excess) return { notes, cuts: [this.#cutWaiting(lease, excess)] }
      this.waiting.pop()
      this.held -= size(lease.range)
      notes.push({ lease: lease.id, next: lease.range.from })
    }
    if (!this.current || this.held <= count) return { notes, cuts: [] }
    // At least one number of the current lease is issued, so a cut never leaves a lease empty.
    this.to -= this.held - count
    this.held = count
    this.current = { ...this.current, range: { ...this.current.range, to: this.to } }
    return { notes, cuts: [{ lease: this.current.id, to: this.to }] }
  }

  #cutWaiting(lease: Lease, excess: number): { lease: string; to: number } {
    const to = lease.range.to - excess
    this.waiting[this.waiting.length - 1] = { ...lease, range: { ...lease.range, to } }
    this.held -= excess
    return { lease: lease.id, to }
  }

  #advance(): boolean {
    if (this.current) this.spent.push({ lease: this.current.id, next: this.to + 1 })
    this.current = this.waiting.shift()
    if (!this.current) return false
    const { from, to, prefix, serverTag } = this.current.range
    this.next = from
    this.to = to
    this.prefix = prefix
    this.serverTag = serverTag
    this.suffix = idSuffix(this.current.range)
    return true
  }
}
