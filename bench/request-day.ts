/** The rules of a design that asks its server for each id: nothing is lost, nothing is stored. */
import type { DayLog } from './day-log.js'
import type { Rules } from './peer-day.js'

export function requestRules(log: DayLog): Rules {
  let max = 0
  return {
    next(_, isOnline) {
      if (!isOnline) return undefined
      log.requests++
      return String(++max)
    },
  }
}
