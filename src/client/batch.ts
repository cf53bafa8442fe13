/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Ids that one caller has for itself. They are a lease of their own, so no other call of the page
 * takes them. Guarantees that nothing is issued once they went back.
 */
import { bindMethods } from '../core/bound.js'
import { HiloError } from '../core/errors.js'
import type { IdOf } from '../core/id-format.js'
import type { LeaseQueue } from '../device/page/lease-queue.js'
import { ambiguous } from '../device/page/page-refusals.js'

/** @internal The lease of a batch. */
export interface BatchLease {
  collection: string
  count: number
  queue: LeaseQueue
  /** Undefined: ids have the default form. */
  idOf: IdOf | undefined
  mixedNodes(): readonly string[] | undefined
  /** Set once the Hilo is closed. */
  closed(): unknown
  giveBack(): void
}

/** Ids that are the caller's alone, without `await`: the result of {@link Hilo.take}. */
export class Batch implements Disposable {
  readonly #lease: BatchLease
  #isEnded = false

  /** @internal */
  constructor(lease: BatchLease) {
    this.#lease = lease
    bindMethods(this)
  }

  /** How many ids are left. 0 when it was ended, or the page was left. */
  get left(): number {
    return this.#lease.queue.held
  }

  /**
   * The next id, at once.
   * @throws HiloError `not-leased`: all are used, it was ended, or the page was left and came back.
   * `closed`, and `invalid-argument` when `formatId` makes no id
   */
  next(): string {
    const { queue, idOf } = this.#lease
    return queue.id(this.#take(), idOf)
  }

  /** The bare number of the next id. Errors as {@link next}, and as {@link Hilo.nextNumber}. */
  nextNumber(): number {
    const nodes = this.#lease.mixedNodes()
    // guard: H10 a bare number of a batch is refused once two nodes have granted
    if (nodes) throw ambiguous(this.#lease.collection, nodes)
    return this.#take()
  }

  /** Gives the rest back to the device. `using` does this by itself, and so does the last id. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#lease.giveBack()
  }

  [Symbol.dispose](): void {
    this.end()
  }

  #take(): number {
    const { queue, closed } = this.#lease
    const number = queue.take()
    if (number < 0) throw closed() ?? this.#used()
    if (queue.held === 0) this.end()
    return number
  }

  #used(): HiloError {
    const { collection, count, queue } = this.#lease
    const why =
      queue.issued === count
        ? `all ${count} ids were used`
        : this.#isEnded
          ? 'it was ended'
          : 'the page was left or its storage changed'
    return new HiloError(
      'not-leased',
      `Collection '${collection}': this batch has no id, because ${why}. Take another one: ` +
        `\`await hilo.take('${collection}', n)\`.`,
    )
  }
}
