/**
 * The rules of DHIS2's Android app: a device reserves 100 values, stores them, and fills up to 100
 * again when fewer than half are left. A value that is stored stays the device's.
 */
import type { DayLog } from './day-log.js'
import type { Rules } from './peer-day.js'

const POOL = 100

export function dhis2Rules(log: DayLog): Rules {
  const pools = new Map<number, readonly number[]>()
  let max = 0

  function filled(pool: readonly number[], isOnline: boolean): readonly number[] {
    if (pool.length >= POOL / 2 || !isOnline) return pool
    log.requests++
    return [...pool, ...Array.from({ length: POOL - pool.length }, () => ++max)]
  }

  return {
    next(device, isOnline) {
      const [value, ...rest] = filled(pools.get(device) ?? [], isOnline)
      pools.set(device, rest)
      return value === undefined ? undefined : String(value)
    },
    /** Nobody uses what was reserved on this device before. */
    copy(device, from) {
      log.burnt += pools.get(device)?.length ?? 0
      pools.set(device, pools.get(from) ?? [])
    },
  }
}
