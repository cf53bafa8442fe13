/**
 * The gate in front of the ledger: every request that reads or writes it waits here for its turn.
 * Guarantees that a client with many requests delays itself: turns go round among all that wait,
 * and nobody has more than a part of the work that is under way. A request that finds no place is
 * refused before anything is done.
 */
import { queueFull, RETRY_SECONDS, tooOften } from './refusals.js'

interface Visit {
  /** Whose turn it is. */
  who: string
  /** Units of this visitor that may be here: those at work, and those that wait. */
  share: number
  /** Units of this visitor that may be at work. */
  part: number
  /** How much of a commit it takes: a claim or a request is 1, each token that it shows 1 more. */
  units: number
  /** Work about a bound collection delays no other: its counter may be locked by somebody else. */
  lane: string
}

export interface Gate {
  /**
   * Resolves as the work does.
   * @throws Refusal where all places are taken, or this visitor's
   */
  enter<T>(visit: Visit, work: () => Promise<T>): Promise<T>
  /** Units that wait for their turn. */
  waiting(): number
}

/** The size of a commit. More at work gains nothing, and the next one would wait longer. */
export const MOST_AT_WORK = 500
/** Bound collections, whose names devices may choose in a region. */
const MOST_FULL_LANES = 10

/** @param maxPresent units that may be in one lane; in all together ten times as many */
export function createGate(maxPresent: number, onRefused: (who: string) => void): Gate {
  /** Those in which somebody is. */
  const lanes = new Map<string, Lane>()
  /** Units by visitor. */
  const present = new Map<string, number>()
  let all = 0

  function refuse({ who, share, units, lane }: Visit): void {
    const ofWho = present.get(who) ?? 0
    // A request of any size may be here alone. Otherwise a large one would be refused for ever.
    // guard: H26 a token has a share of the places
    if (ofWho > 0 && ofWho + units > share) {
      onRefused(who)
      throw tooOften(
        `Requests of this token with ${ofWho} claims or tokens are waiting already. Nothing was ` +
          'granted. Send the same request again. If several devices use the token, give each one ' +
          'of its own, or say with the token how many there are ("devices").',
        RETRY_SECONDS,
      )
    }
    const inLane = lanes.get(lane)?.present ?? 0
    if ((inLane > 0 && inLane + units > maxPresent) || all >= maxPresent * MOST_FULL_LANES)
      throw queueFull()
  }

  function count(who: string, units: number): void {
    all += units
    add(present, who, units)
  }

  return {
    async enter(visit, work) {
      refuse(visit)
      const { who, units, lane: name } = visit
      const lane = lanes.get(name) ?? new Lane()
      lanes.set(name, lane)
      count(who, units)
      try {
        return await lane.enter(visit, work)
      } finally {
        count(who, -units)
        if (lane.present === 0) lanes.delete(name)
      }
    },
    waiting: () => [...lanes.values()].reduce((sum, lane) => sum + lane.present - lane.atWork, 0),
  }
}

interface Waiting extends Visit {
  start(): void
}

class Lane {
  /** Units. */
  present = 0
  atWork = 0
  /** The waiting lines; the next one stands first. */
  readonly #lines = new Map<string, Waiting[]>()
  /** Units at work, by visitor. */
  readonly #working = new Map<string, number>()

  enter<T>(visit: Visit, work: () => Promise<T>): Promise<T> {
    this.present += visit.units
    return new Promise<T>((resolve, reject) => {
      const start = () => void this.#run(visit, work).then(resolve, reject)
      const line = this.#lines.get(visit.who) ?? []
      line.push({ ...visit, start })
      this.#lines.set(visit.who, line)
      this.#next()
    })
  }

  #next(): void {
    for (const [who, line] of this.#lines) {
      if (this.atWork >= MOST_AT_WORK) return
      const [{ units, part }] = line as [Waiting]
      const working = this.#working.get(who) ?? 0
      // guard: H26 nobody has more than a part of the work
      if (working > 0 && working + units > part) continue
      const { start } = line.shift()!
      // After its turn a line stands behind all others.
      // guard: H26 turns go round
      this.#lines.delete(who)
      if (line.length > 0) this.#lines.set(who, line)
      start()
    }
  }

  async #run<T>({ who, units }: Visit, work: () => Promise<T>): Promise<T> {
    this.#count(who, units)
    try {
      return await work()
    } finally {
      this.#count(who, -units)
      this.present -= units
      this.#next()
    }
  }

  #count(who: string, units: number): void {
    this.atWork += units
    add(this.#working, who, units)
  }
}

/** Keeps no zero: the names come from requests. */
function add(counts: Map<string, number>, name: string, units: number): void {
  const sum = (counts.get(name) ?? 0) + units
  if (sum === 0) counts.delete(name)
  else counts.set(name, sum)
}
