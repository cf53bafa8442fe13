/** Timers that the explorer moves, in place of this process's. */

interface Timer {
  at: number
  act(): void
  unref(): void
}

export class Clock {
  now = 0
  readonly timers = new Set<Timer>()

  /** Until the next timer goes off. */
  get wait(): number {
    return Math.min(...Array.from(this.timers, ({ at }) => at)) - this.now
  }

  set(act: () => void, ms = 0): Timer {
    const timer = { at: this.now + ms, act, unref() {} }
    this.timers.add(timer)
    return timer
  }

  /** Time passes until the next timer, which goes off. */
  pass(): void {
    const [next] = [...this.timers].sort((a, b) => a.at - b.at)
    if (!next) return
    this.timers.delete(next)
    this.now = next.at
    next.act()
  }
}

/**
 * From now on, this process's timers are those of the clock that is current.
 * @returns puts them back
 */
export function installClock(current: () => Clock): () => void {
  const { setTimeout, clearTimeout } = globalThis
  const { now } = performance
  globalThis.setTimeout = ((act: () => void, ms?: number) =>
    current().set(act, ms)) as unknown as typeof setTimeout
  globalThis.clearTimeout = ((timer: Timer) =>
    current().timers.delete(timer)) as unknown as typeof clearTimeout
  performance.now = () => current().now
  return () => {
    Object.assign(globalThis, { setTimeout, clearTimeout })
    performance.now = now
  }
}

/** Everything that waits for nothing but promises has its turn: `times` is plenty. */
export async function settled(times = 60): Promise<void> {
  for (let i = 0; i < times; i++) await undefined
}
