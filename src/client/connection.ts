/**
 * Calls to one owner. Guarantees that every call settles: with its answer, or, as soon as the owner
 * is lost, with a rejection. (Comlink never settles calls on a worker that died.)
 */
import { whenLate } from '../core/when-late.js'
import type { Owner } from '../device/contract.js'

/** A worker that runs answers {@link Owner.ping} within this time, also while it is busy. */
const HANG_MS = 4_000

type Method = {
  [M in keyof Owner]: Owner[M] extends (...args: never[]) => unknown ? M : never
}[keyof Owner]

export class Connection {
  readonly owner: Owner
  /** Rejects a call that waits; one function for each. */
  readonly #waiting = new Set<(reason: unknown) => void>()
  #cancelWatch: (() => void) | undefined
  readonly #worker: Worker | undefined
  #end: { reason: unknown } | undefined

  /** @param worker undefined: the owner is in this realm and lives as long as the page */
  constructor(owner: Owner, worker?: Worker) {
    this.owner = owner
    this.#worker = worker
    for (const type of ['error', 'messageerror'])
      worker?.addEventListener(type, () => this.end(LOST))
  }

  call<M extends Method>(
    method: M,
    args: Parameters<Owner[M]>,
  ): Promise<Awaited<ReturnType<Owner[M]>>> {
    return this.#end ? Promise.reject(this.#end.reason) : this.#send(method, args)
  }

  /**
   * Calls are rejected at once with `reason`. Resolves when the owner has ended: it first stores
   * its grants.
   */
  async close(reason: unknown): Promise<void> {
    this.#refuse(reason)
    await this.#send('close', []).catch(() => {})
    this.end(reason)
  }

  /** @param reason of the rejection of all calls: those that wait, and those to come */
  end(reason: unknown): void {
    this.#refuse(reason)
    this.#worker?.terminate()
  }

  #refuse(reason: unknown): void {
    this.#end ??= { reason }
    this.#stopWatch()
    // guard: H16 a call is raced with the worker’s death
    for (const reject of this.#waiting) reject(reason)
    this.#waiting.clear()
  }

  #send<M extends Method>(
    method: M,
    args: Parameters<Owner[M]>,
  ): Promise<Awaited<ReturnType<Owner[M]>>> {
    return new Promise((resolve, reject) => {
      const settled = () => {
        this.#waiting.delete(reject)
        if (this.#waiting.size === 0) this.#stopWatch()
      }
      this.#waiting.add(reject)
      this.#watch()
      const answer = (this.owner[method] as (...all: unknown[]) => unknown)(...args)
      Promise.resolve(answer as ReturnType<Owner[M]>)
        .then(resolve, reject)
        .finally(settled)
    })
  }

  /** While calls wait, the worker is asked now and then whether it runs. */
  #watch(): void {
    if (!this.#worker) return
    this.#cancelWatch ??= whenLate(HANG_MS, () => {
      let isAlive = false
      void Promise.resolve(this.owner.ping()).then(() => {
        isAlive = true
      })
      this.#cancelWatch = whenLate(HANG_MS, () => {
        this.#cancelWatch = undefined
        // guard: H16 a worker that does not answer is given up
        if (isAlive) this.#watch()
        else this.end(LOST)
      })
    })
  }

  #stopWatch(): void {
    this.#cancelWatch?.()
    this.#cancelWatch = undefined
  }
}

/** The worker died, or does not answer. */
export const LOST = Symbol('lost')
