/**
 * The day with the rules of another way to make ids: goes through the events, asks the rules for
 * each id, and counts.
 */
import { type DayLog, issue, newDayLog } from './day-log.js'
import type { Happening } from './fleet-day.js'

export interface Rules {
  /** Undefined: no id can be made, because the device is offline. */
  next(device: number, isOnline: boolean, at: number): string | undefined
  /** The app ends, or its page loads again. Where it is killed, nothing can be sent any more. */
  end?(device: number, canSend: boolean): void
}

/** @param rulesOf is given the log, in which the rules count their requests and what they burn */
export function peerDay(day: readonly Happening[], rulesOf: (log: DayLog) => Rules): DayLog {
  const log = newDayLog()
  const rules = rulesOf(log)
  const offline = new Set<number>()
  const issued = new Set<string>()

  function save(device: number, ids: number, at: number): void {
    for (let i = 0; i < ids; i++) {
      const id = rules.next(device, !offline.has(device), at)
      if (id === undefined) {
        log.refused++
        continue
      }
      issue(log, issued, id)
    }
  }

  function happen({ at, device, what, ids }: Happening): void {
    const isOnline = !offline.has(device)
    if (what === 'save') save(device, ids, at)
    else if (what === 'close' || what === 'die') rules.end?.(device, what === 'close' && isOnline)
    else if (what === 'offline') offline.add(device)
    else if (what === 'online') offline.delete(device)
    else if (what === 'reload') rules.end?.(device, isOnline)
  }

  for (const happening of day) happen(happening)
  return log
}
