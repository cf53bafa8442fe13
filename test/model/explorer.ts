/**
 * Explores every state that a model can reach, breadth first, and finds the shortest way to a state
 * that breaks a property. It knows nothing of ids: {@link Model} does.
 */

export interface Model<S> {
  /** The events that led to the first state, if it is not the beginning of everything. */
  before?: readonly string[]
  initial(): S
  /** Every event that can happen in this state, and the state after it. */
  next(state: S): Step<S>[]
  /** Two numbers of 32 bits, the same for states that differ only in names. The second is not 0. */
  fingerprint(state: S): { high: number; low: number }
  /** Which property this state breaks, in a sentence. */
  broken(state: S): string | undefined
  /**
   * No event is left in this state. If no id could be made from here on, even if everything was
   * healed: why not. Every other state leads to such a state, for each event happens a limited
   * number of times.
   */
  stuck(state: S): string | undefined
}

export interface Step<S> {
  /** What happened, in words a person can read. */
  event: string
  state: S
}

export interface Limits {
  /** Stop after so many states. */
  states: number
  /** Called now and then. */
  progress?: ((seen: Progress) => void) | undefined
}

interface Progress {
  states: number
  transitions: number
  /** Events from the beginning to the states that are explored now. */
  depth: number
  /** States that are known and not explored yet. */
  waiting: number
}

export interface Exploration extends Progress {
  /** Was every reachable state explored? */
  isComplete: boolean
  violation?: { problem: string; trace: string[] } | undefined
}

const PROGRESS_EVERY = 100_000

export function explore<S>(model: Model<S>, { states: most, progress }: Limits): Exploration {
  const seen = new HashSet()
  const parents = new Column()
  const choices = new Column()
  const initial = model.initial()
  seen.add(model.fingerprint(initial))
  parents.push(0)
  choices.push(0)
  let [level, ids]: [(S | undefined)[], number[]] = [[initial], [0]]
  let transitions = 0
  let explored = 0
  for (let depth = 0; ; depth++) {
    const [nextLevel, nextIds]: [S[], number[]] = [[], []]
    for (let i = 0; i < level.length; i++) {
      const state = level[i]!
      // What is explored is not needed any more: only the states of two levels are in memory.
      level[i] = undefined
      explored++
      const steps = model.next(state)
      const found = (problem: string, id: number): Exploration => {
        const trace = traceTo(model, id, parents, choices)
        const waiting = level.length - i + nextLevel.length
        const size = { states: parents.length, transitions, depth: depth + 1, waiting }
        return { ...size, isComplete: false, violation: { problem, trace } }
      }
      if (steps.length === 0) {
        const stuck = model.stuck(state)
        if (stuck) return found(stuck, ids[i]!)
      }
      for (const [choice, step] of steps.entries()) {
        transitions++
        if (!seen.add(model.fingerprint(step.state))) continue
        const id = parents.length
        parents.push(ids[i]!)
        choices.push(choice)
        nextLevel.push(step.state)
        nextIds.push(id)
        const problem = model.broken(step.state)
        if (problem !== undefined) return found(problem, id)
        if (parents.length >= most)
          return {
            states: parents.length,
            transitions,
            depth: depth + 1,
            waiting: level.length - i + nextLevel.length,
            isComplete: false,
          }
      }
      if (explored % PROGRESS_EVERY === 0)
        progress?.({
          states: parents.length,
          transitions,
          depth,
          waiting: level.length - i + nextLevel.length,
        })
    }
    if (nextLevel.length === 0)
      return { states: parents.length, transitions, depth, waiting: 0, isComplete: true }
    ;[level, ids] = [nextLevel, nextIds]
  }
}

/** The events that lead to a state: its choices are made once more, from the first state. */
function traceTo<S>(model: Model<S>, id: number, parents: Column, choices: Column): string[] {
  const path: number[] = []
  for (let each = id; each !== 0; each = parents.at(each)) path.unshift(choices.at(each))
  const trace = [...(model.before ?? [])]
  let state = model.initial()
  for (const choice of path) {
    const step = model.next(state)[choice]!
    trace.push(step.event)
    state = step.state
  }
  return trace
}

/** Whole numbers below 2^32, as many as there is memory for. */
class Column {
  length = 0
  #values = new Uint32Array(1024)

  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = new Uint32Array(this.#values.length * 2)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.length++] = value
  }

  at(index: number): number {
    return this.#values[index]!
  }
}

/**
 * Which states were added, by 64 bits of a hash of each. Two of n states share theirs with a
 * probability of about n² / 2^65: for ten million, 3 in a million.
 */
class HashSet {
  #size = 0
  /** Pairs of 32 bits; 0, 0 is free. */
  #slots = new Uint32Array(2 * 1024)

  /** @returns whether it is new */
  add({ high, low }: { high: number; low: number }): boolean {
    if (this.#place(this.#slots, high, low)) {
      if (++this.#size * 4 > this.#slots.length) this.#grow()
      return true
    }
    return false
  }

  #place(slots: Uint32Array, high: number, low: number): boolean {
    const mask = slots.length / 2 - 1
    for (let slot = high & mask; ; slot = (slot + 1) & mask) {
      const i = 2 * slot
      if (slots[i + 1] === 0) {
        slots[i] = high
        slots[i + 1] = low
        return true
      }
      if (slots[i] === high && slots[i + 1] === low) return false
    }
  }

  #grow(): void {
    const larger = new Uint32Array(this.#slots.length * 2)
    for (let i = 0; i < this.#slots.length; i += 2)
      if (this.#slots[i + 1] !== 0) this.#place(larger, this.#slots[i]!, this.#slots[i + 1]!)
    this.#slots = larger
  }
}
