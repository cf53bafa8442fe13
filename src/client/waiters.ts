/**
 * Callers that wait for numbers. Guarantees that each gets all it asked for or nothing, that a
 * caller whose timeout passed, or whose signal was aborted, gets none, and that callers are served
 * in the order in which they asked. Its cost does not grow with the number of callers.
 */
import { HiloError } from '../core/errors.js'
import { onAbort } from '../core/on-abort.js'
import { isPrerendering, onActivation } from './prerender.js'

/** How long a call may wait. */
export interface CallOptions {
  /**
   * Milliseconds until the call rejects with `timeout`. Default: the `timeout` option. `Infinity`
   * also waits while the device is exhausted and offline. In a page that the browser prerenders,
   * they begin when the user goes to it.
   */
  timeout?: number
  /** Aborting rejects the call with `aborted`; no id is used up. */
  signal?: AbortSignal
}

export interface WaitLimits {
  timeout: number
  signal?: AbortSignal | undefined
  /** The call that waits for a file that comes late. Absent: it waits for ids. */
  call?: string
}

interface Waiter {
  count: number
  timeout: number
  call: string | undefined
  /** When the timeout has passed; `Infinity` when it never does. */
  deadline: number
  serve(): void
  refuse(error: HiloError): void
}

export class Waiters {
  /** Callers that take `count` numbers, in the order in which they asked. */
  readonly #toTake = new Set<Waiter>()
  /** Callers that only want the page to hold `count` numbers. Nobody waits for them. */
  readonly #toHold = new Set<Waiter>()
  #taken = 0
  /** Callers with a timeout. */
  #timed = 0
  /** One timer for all: it goes off at the earliest deadline. */
  #timer: ReturnType<typeof setTimeout> | undefined
  #timerAt = Number.POSITIVE_INFINITY
  readonly #left: () => void

  /** @param left a caller's timeout has passed, or its signal was aborted */
  constructor(left: () => void) {
    this.#left = left
    if (isPrerendering()) onActivation(() => this.#beginAgain())
  }

  /** How many numbers the page has to hold to serve everybody. */
  get total(): number {
    let kept = 0
    for (const { count } of this.#toHold) kept = Math.max(kept, count)
    return this.#taken + kept
  }

  get isEmpty(): boolean {
    return this.#toTake.size + this.#toHold.size === 0
  }

  /** Does anybody wait to take a number? */
  get isTakeWaiting(): boolean {
    return this.#toTake.size > 0
  }

  /** Can anybody be served once `held` numbers are held? */
  canServe(held: number): boolean {
    for (const { count } of this.#all()) if (count <= held) return true
    return false
  }

  /**
   * Resolves with the result of `take`, once `count` numbers are held and it is this caller's turn.
   */
  add<T>(count: number, take: () => T, limits: WaitLimits): Promise<T> {
    return this.#wait(this.#toTake, count, take, limits)
  }

  /** Resolves once `count` numbers are held. */
  keep(count: number, limits: WaitLimits): Promise<void> {
    return this.#wait(this.#toHold, count, () => {}, limits)
  }

  /**
   * Serves the callers that want no more than the page holds.
   * @param mayOvertake the server gives no more now: where the first caller wants 10 and the page
   * holds 3, the callers behind it that want 1 get theirs
   */
  serve(held: () => number, mayOvertake = false): void {
    for (const waiter of this.#toTake) {
      // guard: H25 who can be served is served
      if (waiter.count <= held()) waiter.serve()
      else if (!mayOvertake) break
    }
    for (const waiter of this.#toHold) if (waiter.count <= held()) waiter.serve()
  }

  /** @param error made for a caller that asked for `count` numbers */
  refuse(error: (count: number) => HiloError, who: 'all' | 'with-timeout'): void {
    for (const waiter of this.#all())
      if (who === 'all' || waiter.deadline < Number.POSITIVE_INFINITY)
        waiter.refuse(error(waiter.count))
  }

  #wait<T>(
    waiting: Set<Waiter>,
    count: number,
    take: () => T,
    { timeout, signal, call }: WaitLimits,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        waiter.refuse(aborted(signal!, call))
        this.#left()
      }
      const leave = () => {
        waiting.delete(waiter)
        ignoreSignal?.()
        if (waiting === this.#toTake) this.#taken -= count
        // In Node, a timer that nobody needs keeps the process alive.
        if (waiter.deadline < Number.POSITIVE_INFINITY && --this.#timed === 0) this.#setTimer()
      }
      const waiter: Waiter = {
        count,
        timeout,
        call,
        deadline: deadlineOf(timeout),
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
      if (signal?.aborted) return reject(aborted(signal, call))
      const ignoreSignal = signal && onAbort(signal, abort)
      waiting.add(waiter)
      if (waiting === this.#toTake) this.#taken += count
      if (waiter.deadline < Number.POSITIVE_INFINITY) this.#timed++
      if (waiter.deadline < this.#timerAt) this.#setTimer(waiter.deadline)
    })
  }

  *#all(): Iterable<Waiter> {
    yield* this.#toTake
    yield* this.#toHold
  }

  #setTimer(deadline = Number.POSITIVE_INFINITY): void {
    clearTimeout(this.#timer)
    this.#timerAt = deadline
    if (deadline < Number.POSITIVE_INFINITY)
      this.#timer = setTimeout(() => this.#refuseLate(deadline), deadline - performance.now())
  }

  #refuseLate(deadline: number): void {
    if (isPrerendering()) return
    const now = Math.max(deadline, performance.now())
    let next = Number.POSITIVE_INFINITY
    for (const waiter of this.#all())
      if (waiter.deadline <= now) waiter.refuse(tooLate(waiter))
      else next = Math.min(next, waiter.deadline)
    this.#setTimer(next)
    this.#left()
  }

  /** Timeouts begin now that the user sees the page. */
  #beginAgain(): void {
    let next = Number.POSITIVE_INFINITY
    for (const waiter of this.#all()) {
      waiter.deadline = deadlineOf(waiter.timeout)
      next = Math.min(next, waiter.deadline)
    }
    this.#setTimer(next)
  }
}

/**
 * The result of `work`, unless the caller's timeout passes, or its signal is aborted, before.
 * @param unused takes a result that comes later
 */
export function withinLimits<T>(
  work: Promise<T>,
  limits: WaitLimits,
  unused: (result: T) => void = () => {},
): Promise<T> {
  const waiting = new Waiters(() => {})
  let result: T
  const served = waiting.add(1, () => result, limits)
  work.then(
    (done) => {
      result = done
      if (waiting.isEmpty) unused(done)
      else waiting.serve(() => 1)
    },
    (error) => waiting.refuse(() => error, 'all'),
  )
  return served
}

/** Timers with more milliseconds than 31 bits hold go off at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

const deadlineOf = (timeout: number): number =>
  timeout === Number.POSITIVE_INFINITY
    ? timeout
    : performance.now() + Math.min(timeout, MAX_TIMER_MS)

const tooLate = ({ timeout, call }: Waiter): HiloError =>
  new HiloError(
    'timeout',
    call
      ? `${call} did nothing within ${timeout} ms: its file did not load. Check the network.`
      : `No id came within ${timeout} ms; none was used up. The server or the storage does not ` +
          'answer. Does the server run?',
  )

const aborted = ({ reason: cause }: AbortSignal, call?: string): HiloError => {
  const who = call ?? 'The call'
  const meaning = call ? 'it did nothing' : 'no id was used up'
  return new HiloError('aborted', `${who} was aborted by its signal; ${meaning}.`, { cause })
}
