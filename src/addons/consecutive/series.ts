/**
 * The series of one collection on this device. Guarantees that each key has one number for ever,
 * that the numbers of a series follow each other without a hole, and that while the server answers
 * a number is handed out only after the server has heard of it from this copy of the device.
 */
import { because, HiloError } from '../../core/errors.js'
import { onAbort } from '../../core/on-abort.js'
import { whenLate } from '../../core/when-late.js'
import type { NumberRow } from '../../device/series-store.js'
import { newId } from './new-id.js'
import { isNamed } from './numbers.js'
import type { Heard, Holder, Online } from './online.js'
import type { Make } from './rows.js'
import type { Refusal } from './state.js'
import type { SeriesStorage } from './storage.js'

export interface SeriesContext {
  storage: SeriesStorage
  /**
   * The calls to the server: loaded when they are needed first.
   * @throws HiloError `server-unreachable` where it cannot be loaded
   */
  online(): Promise<Online>
  /** Aborted when the `Hilo` is closed. */
  signal: AbortSignal
  /** False while the app's own offline switch is on. The browser's own answer may be wrong. */
  isSwitchedOn(): boolean
}

export interface TakeOptions extends Omit<Make, 'checkIn'> {
  holder: Holder
  /** How many milliseconds the server has to hear of the number. */
  wait: number
}

/** A number, and whether the server had heard of it before it was handed out. */
export interface TakenNumber {
  row: Omit<NumberRow, 'place'>
  heard: boolean
}

/** A server that ends each series at once is asked for no more than so many in one call. */
const MOST_BEGUN = 3

export class Series {
  readonly #context: SeriesContext
  #claim: Promise<void> | undefined
  #telling: Promise<void> | undefined
  /** The last answer: how far the server has heard of which series. */
  #heard: Heard | undefined
  /** The last request failed, or its answer is late: nobody waits until one comes. */
  #silence: 'failed' | 'late' | undefined

  constructor(context: SeriesContext) {
    this.#context = context
  }

  /** @throws HiloError */
  async take({ holder, wait, ...make }: TakeOptions): Promise<TakenNumber> {
    const { storage, signal, online } = this.#context
    const deadline = deadlineOf(wait, () => {
      this.#silence = 'late'
    })
    const { late } = deadline
    const isHeardOut = () => wait > 0 && this.#mayWait(deadline)
    const isAsked = this.#silence === 'failed' && isDeaf() && wait > 0
    try {
      // guard: H32 a device that nobody tells of its network asks before each number
      if (isAsked) await this.#wait(this.tell(), late)
      for (let asked = 0, begun = 0; ; ) {
        // A device that finds out that it is a copy makes no number that it then cannot hand out.
        if (isHeardOut() && this.#telling) await this.#wait(this.#telling, late)
        signal.throwIfAborted()
        const checkIn = isHeardOut() ? newId() : undefined
        const taken = await storage.take({ ...make, checkIn }).catch((error: HiloError) => {
          // A person may have given a range meanwhile.
          if (error.code !== 'exhausted' || make.ranges !== 'server' || asked > 0) throw error
          return error
        })
        if (taken instanceof HiloError) {
          asked++
          await this.#wait(this.#tellAnew(), late)
        } else if (!taken) {
          if (begun++ >= MOST_BEGUN) throw (await online()).endless()
          await this.prepare(holder)
        } else if ('refused' in taken) {
          if (asked++ > 0) throw refusedBy(taken.refused)
          await this.#wait(this.#tellAnew(), late)
        } else if (taken.isOut || (await this.#isHeard(taken.begun, taken.row.place, deadline))) {
          const heard = taken.heard || !taken.isOut
          if (!heard && !isAsked) void this.tell()
          return { row: taken.row, heard }
        }
      }
    } finally {
      deadline.cancel()
    }
  }

  /** The page has started, or the network may have come: asks whether this is a copy. */
  look(): void {
    this.#silence = undefined
    void this.#tellAnew()
  }

  /** This device has a series, or gets one. */
  prepare(holder: Holder): Promise<void> {
    this.#claim ??= this.#begin(holder).finally(() => {
      this.#claim = undefined
    })
    return untilAborted(this.#context.signal, this.#claim)
  }

  /**
   * An answer that comes after this call's deadline says that the server is there. Were this call
   * to wait again, its deadline would end each wait at once, for ever.
   */
  #mayWait(deadline: Deadline): boolean {
    return !deadline.isOver() && !this.#silence && this.#context.isSwitchedOn()
  }

  /**
   * Waits until the server has heard of a number, or its answer is late.
   * @returns false: read the stored state again
   */
  async #isHeard(begun: string | undefined, place: number, deadline: Deadline): Promise<boolean> {
    while (this.#mayWait(deadline)) {
      await this.#wait(this.tell(), deadline.late)
      if (this.#heard?.begun !== begun) return false
      // guard: H28 an answer permits the numbers that its own check-in named
      if (this.#heard !== undefined && place <= this.#heard.heard) return true
    }
    return false
  }

  #wait(work: Promise<void>, late: Promise<void>): Promise<void> {
    return untilAborted(this.#context.signal, Promise.race([work, late]))
  }

  /**
   * Tells the server how far the series has come, and asks whether this is a copy. If no answer
   * comes, the device goes on, as it does offline. Calls at the same time share one request.
   */
  tell(): Promise<void> {
    if (!this.#context.isSwitchedOn()) return Promise.resolve()
    this.#telling ??= this.#ask().then(
      (isBehind) => {
        this.#silence = undefined
        this.#telling = undefined
        if (isBehind) void this.tell()
      },
      () => {
        this.#silence = 'failed'
        this.#telling = undefined
      },
    )
    return this.#telling
  }

  /** The same with a question of its own: the answer to one under way may be from before. */
  async #tellAnew(): Promise<void> {
    await this.#telling
    await this.tell()
  }

  /** @returns whether numbers were made since, of which the server has not heard yet */
  async #ask(): Promise<boolean> {
    const { tell } = await this.#context.online()
    return tell((heard) => {
      this.#heard = heard
    })
  }

  async #begin(holder: Holder): Promise<void> {
    const { storage, online } = this.#context
    // A device that has a series needs nothing of the network.
    const { held } = await storage.current()
    if (held && isNamed(held.series, holder.series)) return
    // Somebody may have closed the one that it has.
    if (held) await this.#tellAnew()
    const { begin } = await online()
    await begin(holder)
    this.#silence = undefined
  }
}

/** A browser says when a network comes; Node, Bun and Deno do not. */
const isDeaf = (): boolean => globalThis.navigator?.onLine === undefined

interface Deadline {
  late: Promise<void>
  isOver(): boolean
  cancel(): void
}

function deadlineOf(wait: number, onLate: () => void): Deadline {
  let cancel = () => {}
  let isOver = false
  const late = new Promise<void>((resolve) => {
    cancel = whenLate(wait, () => {
      isOver = true
      onLate()
      resolve()
    })
  })
  return { late, isOver: () => isOver, cancel }
}

/**
 * The result of `work`, unless `signal` is aborted before.
 * @param why the reason of its rejection then
 */
export function untilAborted<T>(
  signal: AbortSignal,
  work: Promise<T>,
  why: () => unknown = () => signal.reason,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => reject(why())
    if (signal.aborted) end()
    work.then(resolve, reject).finally(onAbort(signal, end))
  })
}

const refusedBy = ({ status, message }: Refusal): HiloError =>
  new HiloError(
    'server-refused',
    because(
      'No number was handed out: the server refuses this device. Once it accepts it again, ask ' +
        'with the same key.',
      { message },
    ),
    { status },
  )
