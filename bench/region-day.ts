/**
 * A day of many devices in several regions, with the state of a region's device as the server keeps
 * it: how many requests reach each level, and what each level has to keep to survive an hour alone.
 */
import { total } from '../src/core/range.js'
import { addGrant, beginClaim } from '../src/device/claim.js'
import { exchange, settle } from '../src/device/device.js'
import { isLow } from '../src/device/sizes.js'
import { type DeviceState, emptyState } from '../src/device/state.js'
import type { Random } from '../test/simulation/random.js'

const HOUR_MS = 3_600_000
const DAY_HOURS = 24
/** Work begins at eight and ends at six; most of it is done around noon. */
const OPENS = 8
const CLOSES = 18

export interface RegionDay {
  /** Ids that the devices made. */
  ids: number
  claimsAtRegions: number
  claimsAtRoot: number
  /** The largest range that the root granted. */
  largest: number
  /** Numbers that regions and devices hold at the end, for the days to come. */
  held: number
  /** Most numbers that one region granted within an hour. */
  busiestHour: number
  /** Most ids that a device makes within an hour. */
  deviceHour: number
}

export interface Fleet {
  devices: number
  regions: number
  /** Of each device. */
  idsPerDay: number
  deviceReserve: number
  regionReserve: number
}

export function regionDay(fleet: Fleet, random: Random): RegionDay {
  const { devices, regions, idsPerDay, deviceReserve, regionReserve } = fleet
  // A device claims when half of its reserve is used, and fills it up.
  const perClaim = deviceReserve / 2
  const claimsPerDevice = idsPerDay / perClaim
  const claims = Math.round((devices / regions) * claimsPerDevice)
  let max = 0
  const day: RegionDay = {
    ids: devices * idsPerDay,
    claimsAtRegions: claims * regions,
    claimsAtRoot: 0,
    largest: 0,
    held: 0,
    busiestHour: 0,
    deviceHour: Math.ceil((2 * idsPerDay) / (CLOSES - OPENS)),
  }
  const askRoot = (state: DeviceState, want: number, now: number): DeviceState => {
    const begun = beginClaim(state, `${day.claimsAtRoot++}`, want, regionReserve, now)
    const count = begun.claim!.lastBatchSize
    day.largest = Math.max(day.largest, count)
    const range = { from: max + 1, to: max + count, prefix: 'orders/', serverTag: 'A' }
    max += count
    const granted = { range: { ...range, token: `${max}` } }
    return addGrant(begun.state, begun.claim!.id, granted, now)
  }
  for (let region = 0; region < regions; region++) {
    let state = emptyState()
    const perHour = new Array<number>(DAY_HOURS).fill(0)
    const times = Array.from({ length: claims }, () => timeOfDay(random)).sort((a, b) => a - b)
    for (const [i, now] of times.entries()) {
      if (total(state.ranges) < perClaim) state = askRoot(state, perClaim, now)
      state = take(state, `p.${i}`, perClaim)
      perHour[Math.floor(now / HOUR_MS)]! += perClaim
      if (isLow(total(state.ranges), regionReserve)) state = askRoot(state, regionReserve / 2, now)
    }
    day.held += total(state.ranges)
    day.busiestHour = Math.max(day.busiestHour, ...perHour)
  }
  return day
}

function take(state: DeviceState, id: string, want: number): DeviceState {
  const request = { page: 'p', id, want, notes: [], cuts: [], takeBack: [], offer: false }
  const { state: after, leases } = exchange(state, request, 0)
  return settle(
    after,
    leases.map((lease) => ({ lease: lease.id, next: lease.range.to + 1 })),
  )
}

/** The mean of two: twice as much at the middle of the day as on the average. */
function timeOfDay(random: Random): number {
  const [a, b] = [random.next(), random.next()]
  return (OPENS + ((a + b) / 2) * (CLOSES - OPENS)) * HOUR_MS
}
