/**
 * The rules of RavenDB's own clients: each start of the app claims a range of its own and returns
 * the rest only at a clean exit. The server honours a return only while nobody else has claimed
 * since. Nothing is stored on the device.
 */
import { capacity } from '../src/core/wire.js'
import type { DayLog } from './day-log.js'
import type { Rules } from './peer-day.js'

interface App {
  next: number
  to: number
  size: number
  claimedAt: number | undefined
}

const FRESH: App = { next: 1, to: 0, size: 0, claimedAt: undefined }

export function ravenRules(log: DayLog): Rules {
  const apps = new Map<number, App>()
  let max = 0

  function claim(app: App, at: number): App {
    log.requests++
    const age = app.claimedAt === undefined ? undefined : at - app.claimedAt
    const size = capacity(app.size, age)
    max += size
    return { next: max - size + 1, to: max, size, claimedAt: at }
  }

  return {
    next(device, isOnline, at) {
      const held = apps.get(device) ?? FRESH
      if (held.next > held.to && !isOnline) return undefined
      const app = held.next > held.to ? claim(held, at) : held
      apps.set(device, { ...app, next: app.next + 1 })
      return String(app.next)
    },
    /** What the app still holds is lost, unless it returns that and nothing was granted since. */
    end(device, canSend) {
      const { next, to } = apps.get(device) ?? FRESH
      apps.delete(device)
      if (next > to) return
      if (canSend) log.requests++
      if (canSend && to === max) max = next - 1
      else log.burnt += to - next + 1
    },
  }
}
