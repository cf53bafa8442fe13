/**
 * The one loop that everything in a simulation runs in: events, each owned by an actor, on a
 * virtual clock. Guarantees that one event at a time runs, together with all promises that it
 * settles. The seed alone decides which event is next.
 */
import type { Random } from './random.js'

/** A page, a worker, a server process, the network: whatever runs and can stop running. */
export class Actor {
  state: 'alive' | 'frozen' | 'dead' = 'alive'
  /** What its globals answer with; see realm.ts. */
  realm: object | undefined
  readonly onDeath: (() => void)[] = []

  constructor(readonly name: string) {}
}

/** Events of one queue run in the order they were posted, whatever their delays. */
export class Queue {
  /** The search for what may come next that has seen its first event. */
  search = 0
}

interface Pending {
  at: number
  actor: Actor
  what: string
  run: () => unknown
  queue: Queue | undefined
}

/** More events within one simulated second mean that something never comes to rest. */
const STORM = 20_000

/** Captured before a simulation replaces any global. */
const realSetImmediate = setImmediate

/** After this many steps the event loop turns: only then does Node report unhandled rejections. */
const STEPS_PER_TURN = 32

/**
 * All microtasks run before Node takes the next tick; a turn of the event loop would cost as much
 * as an event.
 */
const drain = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))

/** Runs all microtasks, and lets Node report what it has to report. */
export const turn = (): Promise<void> => new Promise((resolve) => realSetImmediate(resolve))

export class Scheduler {
  /** Milliseconds since the simulation began. */
  now = 0
  /** How many of them everybody slept through. */
  slept = 0
  steps = 0
  /** The actor whose event is running now. */
  current: Actor | undefined
  /** If given, gets one readable line for each event. */
  trace: string[] | undefined
  readonly random: Random
  #pending: Pending[] = []
  /** What the last search found. */
  readonly #eligible: Pending[] = []
  #searches = 0
  readonly #afterThis: (() => void)[] = []
  #calm = { at: 0, steps: 0 }

  constructor(random: Random) {
    this.random = random
  }

  /** @returns a function that cancels the event */
  post(actor: Actor, delay: number, what: string, run: () => unknown, queue?: Queue): () => void {
    if (actor.state === 'dead') return () => {}
    const pending: Pending = { at: this.now + Math.max(0, delay), actor, what, run, queue }
    this.#pending.push(pending)
    return () => {
      const at = this.#pending.indexOf(pending)
      if (at >= 0) this.#pending.splice(at, 1)
    }
  }

  /**
   * Time passes, and nothing runs. Afterwards all that was due meanwhile is due at once.
   * @param judge waits as long as before: who sleeps had no time for what the judge looks for
   */
  sleep(ms: number, judge: Actor): void {
    this.now += ms
    this.slept += ms
    for (const pending of this.#pending) if (pending.actor === judge) pending.at += ms
  }

  /** Milliseconds in which somebody could do something. */
  get awake(): number {
    return this.now - this.slept
  }

  /** Runs after the present event and all that follows from it. */
  afterThis(run: () => void): void {
    this.#afterThis.push(run)
  }

  /**
   * Runs one event, and everything that follows from it without further events. False: nothing is
   * left to run.
   */
  async step(): Promise<boolean> {
    const first = this.#search()
    if (first === Number.POSITIVE_INFINITY) return false
    await this.#step(first)
    return true
  }

  /** Runs until `time`, or until nothing is left. */
  async runUntil(time: number): Promise<void> {
    for (let first = this.#search(); first <= time; first = this.#search()) await this.#step(first)
    this.now = Math.max(this.now, time)
  }

  /** @param first when the first event is due; the clock moves there */
  async #step(first: number): Promise<void> {
    this.now = Math.max(this.now, first)
    const next = this.#take()
    this.steps++
    this.#watchForStorm()
    this.note(next.actor, next.what)
    this.current = next.actor
    const outside = next.run()
    // Only servers do real work outside this loop (a database); nothing else runs meanwhile.
    if (outside instanceof Promise) await outside
    await (this.steps % STEPS_PER_TURN === 0 ? turn() : drain())
    this.current = undefined
    if (this.#afterThis.length > 0) for (const run of this.#afterThis.splice(0)) run()
  }

  /** Removes all its events for ever, as a crash does. */
  kill(actor: Actor): void {
    if (actor.state === 'dead') return
    actor.state = 'dead'
    this.#pending = this.#pending.filter((pending) => pending.actor !== actor)
    for (const run of actor.onDeath.splice(0)) run()
  }

  note(actor: Actor, what: string): void {
    this.trace?.push(`${this.now.toFixed(0).padStart(9)}  ${actor.name.padEnd(12)} ${what}`)
  }

  #watchForStorm(): void {
    if (this.now - this.#calm.at > 1_000) this.#calm = { at: this.now, steps: this.steps }
    if (this.steps - this.#calm.steps > STORM)
      throw new Error(`A storm: more than ${STORM} events within a second`)
  }

  /** One of the events that the last search found and that are due. */
  #take(): Pending {
    const due = this.#eligible.filter(({ at }) => at <= this.now)
    const taken = due.length === 1 ? due[0]! : this.random.pick(due)
    this.#pending.splice(this.#pending.indexOf(taken), 1)
    return taken
  }

  /**
   * Finds the events that may come next: only the first one of each queue.
   * @returns when the first of them is due; infinity if there is none
   */
  #search(): number {
    const search = ++this.#searches
    let first = Number.POSITIVE_INFINITY
    this.#eligible.length = 0
    for (const pending of this.#pending) {
      const { actor, queue, at } = pending
      if (actor.state !== 'alive') continue
      if (queue) {
        if (queue.search === search) continue
        queue.search = search
      }
      this.#eligible.push(pending)
      if (at < first) first = at
    }
    return first
  }
}
