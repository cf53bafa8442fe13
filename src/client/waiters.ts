/**
 * Callers that wait for numbers. Guarantees that they are served in turn, that each gets all it
 * asked for or nothing, and that a caller whose timeout passed, or whose signal was aborted, gets
 * none.
 */
import { HiloError } from '../core/errors.js'

/** What one call may wait. */
export interface CallOptions {
  /**
   * Milliseconds until the call rejects with `timeout`. Default: the `timeout` option. `Infinity`
   * also waits while the device is exhausted and offline.
   */
  timeout?: number
  /** Aborting rejects the call with `aborted`; no number is burnt. */
  signal?: AbortSignal
}

export interface WaitLimits {
  timeout: number
  signal?: AbortSignal | undefined
}

interface Waiter {
  count: number
  /** Without one, the caller waits for the network while the device is exhausted and offline. */
  hasTimeout: boolean
  serve(): void
  refuse(error: HiloError): void
}

export class Waiters {
  #waiting: Waiter[] = []

  /** Numbers asked for, in all. */
  get total(): number {
    return this.#waiting.reduce((sum, waiter) => sum + waiter.count, 0)
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  get someHaveTimeout(): boolean {
    return this.#waiting.some((waiter) => waiter.hasTimeout)
  }

  /**
   * Resolves with what `take` returns, once `count` numbers are held and it is this caller's turn.
   */
  add<T>(count: number, take: () => T, { timeout, signal }: WaitLimits): Promise<T> {
    return new Promise((resolve, reject) => {
      const hasTimeout = timeout !== Number.POSITIVE_INFINITY
      let timer: ReturnType<typeof setTimeout> | undefined
      const leave = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        this.#waiting = this.#waiting.filter((other) => other !== waiter)
      }
      const waiter: Waiter = {
        count,
        hasTimeout,
        serve() {
          leave()
          try {
            resolve(take())
          } catch (error) {
            reject(error)
          }
        },
        refuse(error) {
          leave()
          reject(error)
        },
      }
      const abort = () =>
        waiter.refuse(
          new HiloError('aborted', 'The call was aborted by its signal; no id was burnt.', {
            cause: signal?.reason,
          }),
        )
      if (signal?.aborted) return abort()
      signal?.addEventListener('abort', abort)
      if (hasTimeout)
        timer = setTimeout(() => waiter.refuse(tooLate(timeout)), Math.min(timeout, MAX_TIMER_MS))
      this.#waiting.push(waiter)
    })
  }

  /** Serves from the front, as long as enough is held. */
  serve(held: () => number): void {
    while (this.#waiting.length > 0 && this.#waiting[0]!.count <= held()) this.#waiting[0]!.serve()
  }

  refuse(error: HiloError, who: 'all' | 'with-timeout'): void {
    for (const waiter of [...this.#waiting])
      if (who === 'all' || waiter.hasTimeout) waiter.refuse(error)
  }
}

/** Timers with more milliseconds than 31 bits hold go off at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

const tooLate = (timeout: number): HiloError =>
  new HiloError(
    'timeout',
    `No id came within ${timeout} ms; none was burnt. Try again, or pass a longer \`timeout\`.`,
  )
