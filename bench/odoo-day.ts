/**
 * The rules of Odoo's point of sale: the server gives a device an identifier once, and the device
 * counts its orders itself. Both are in `localStorage`.
 */
import type { DayLog } from './day-log.js'
import type { Rules } from './peer-day.js'

interface Stored {
  identifier: number
  next: number
}

export function odooRules(log: DayLog): Rules {
  const stored = new Map<number, Stored>()
  let identifiers = 0

  return {
    start(device, isOnline) {
      if (stored.has(device) || !isOnline) return
      log.requests++
      stored.set(device, { identifier: ++identifiers, next: 1 })
    },
    next(device) {
      const found = stored.get(device)
      if (!found) return undefined
      stored.set(device, { ...found, next: found.next + 1 })
      return `${found.identifier}-${found.next}`
    },
    copy(device, from) {
      const copied = stored.get(from)
      if (copied) stored.set(device, copied)
      else stored.delete(device)
    },
  }
}
