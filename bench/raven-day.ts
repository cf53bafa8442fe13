/**
 * The day with the rules of RavenDB's own clients: each start of the app claims a range of its own
 * and returns the rest only at a clean exit. The server honours a return only while nobody else has
 * claimed since.
 */
import { capacity } from '../src/core/wire.js'
import { type DayLog, HOUR_MS } from './day-log.js'
import type { Happening } from './fleet-day.js'

interface App {
  next: number
  to: number
  size: number
  claimedAt: number | undefined
}

const freshApp = (): App => ({ next: 1, to: 0, size: 0, claimedAt: undefined })

export function ravenDay(day: readonly Happening[], devices: number, length: number): DayLog {
  const log: DayLog = { issued: 0, refused: 0, burnt: 0, claims: 0, hours: [] }
  const apps = Array.from({ length: devices }, freshApp)
  const offline = new Set<number>()
  let max = 0

  function save(app: App, { at, device, ids }: Happening): void {
    for (let i = 0; i < ids; i++) {
      if (app.next > app.to) {
        if (offline.has(device)) {
          log.refused += ids - i
          return
        }
        log.claims++
        app.size = capacity(app.size, app.claimedAt === undefined ? undefined : at - app.claimedAt)
        app.claimedAt = at
        app.next = max + 1
        max += app.size
        app.to = max
      }
      app.next++
      log.issued++
    }
  }

  /**
   * What the app still holds is lost, unless it can be returned and is the last that was granted.
   */
  function end(device: number, isClean: boolean): void {
    const app = apps[device]!
    const isReturned = isClean && !offline.has(device) && app.to === max
    if (isReturned) max = app.next - 1
    else log.burnt += app.to - app.next + 1
    apps[device] = freshApp()
  }

  const now = { hour: HOUR_MS }
  const closeHours = (at: number) => {
    for (; now.hour <= at; now.hour += HOUR_MS)
      log.hours.push({ issued: log.issued, burnt: log.burnt })
  }
  for (const happening of day) {
    const { at, device, what } = happening
    closeHours(at)
    if (what === 'save') save(apps[device]!, happening)
    else if (what === 'reload' || what === 'close') end(device, true)
    else if (what === 'die') end(device, false)
    else if (what === 'offline') offline.add(device)
    else if (what === 'online') offline.delete(device)
  }
  closeHours(length)
  return log
}
