/** Copies a profile, lets both copies go on, and tells the checker what each may issue. */
import { size } from '../../src/core/range.js'
import type { DeviceState } from '../../src/core/state.js'
import type { Device } from './device.js'
import { OwnServer } from './own-servers.js'
import { type Simulation, seriesOf } from './simulation.js'

const MOST_DEVICES = 5
/** After this time, every page of a device must know that the device is a copy. */
const HEARD_MS = 30_000

export function copyProfile(simulation: Simulation, original: Device): void {
  const { devices, checker, sharedClaims, claims } = simulation
  if (devices.length >= MOST_DEVICES) return
  simulation.hit('profile cloned')
  const copy = simulation.addDevice(
    `${original.name}-copy${devices.length}`,
    original.traits,
    original.disk,
  )
  copy.node = original.node
  for (const [series, state] of original.lastStates) {
    copy.lastStates.set(series, state)
    simulation.copiesOnline.copied(series, original.name, copy.name)
  }
  const both = [original.name, copy.name]
  for (const { ranges, leases, offers, claim } of simulation.statesOf(original)) {
    const held = [...ranges, ...[...leases, ...offers].map((each) => each.range)]
    for (const range of held) {
      const { from, to } = range
      checker.shared(seriesOf(range), from, to, both)
      const at = simulation.scheduler.now
      simulation.besideCopy.copied({ series: seriesOf(range), from, to, at })
    }
    if (!claim) continue
    const sharers = [...(sharedClaims.get(claim.id) ?? []), ...both]
    sharedClaims.set(claim.id, sharers)
    for (const { series, low, high } of claims.grantsOf(claim.id))
      checker.shared(series, low, high, sharers)
  }
  // From now on, either of the two may lose numbers without a recorded cause.
  original.isLossy = true
  copy.isLossy = true
}

/** A check-in said that this device is a copy. It must not issue what it has dropped. */
export function foundOut(
  simulation: Simulation,
  device: Device,
  before: DeviceState | undefined,
  after: DeviceState,
): void {
  const { checker, scheduler, driver, profile, servers } = simulation
  if (!profile.hasClones && !profile.goesBack && !profile.hasRestore) {
    mistaken(simulation, device)
    return
  }
  simulation.hit('clone found out')
  const kept = [...after.ranges, ...[...after.leases, ...after.offers].map(({ range }) => range)]
  const held = before
    ? [...before.ranges, ...[...before.leases, ...before.offers].map(({ range }) => range)]
    : []
  const heard = held.map((range) => {
    const series = seriesOf(range)
    const isKept = (n: number) =>
      kept.some((other) => other.from <= n && n <= other.to && seriesOf(other) === series)
    const server = servers.get(range.serverTag)
    // These numbers may have come back, and the answer that grants them anew may be under way.
    const isComing =
      server instanceof OwnServer && range.token
        ? server.wasGrantedSince(range.token, device.name)
        : () => false
    const numbers = Array.from({ length: size(range) }, (_, i) => range.from + i)
    return checker.dropped(
      series,
      device.name,
      numbers.filter((n) => !isKept(n) && !isComing(n)),
    )
  })
  const canEveryPageHear =
    device.traits.hasBroadcasts &&
    device.traits.hasIndexedDb &&
    !profile.faults.has('workers') &&
    !profile.faults.has('storage')
  if (!canEveryPageHear) return
  scheduler.post(driver, HEARD_MS, `${device.name} must know that it is a copy`, () => {
    for (const hear of heard) hear()
  })
}

/**
 * A device that is no copy was told that it is one. This may happen only with several nodes: a node
 * calls a token superseded that another node wrote. The numbers of that grant are lost.
 */
function mistaken(simulation: Simulation, device: Device): void {
  const { profile, checker } = simulation
  if (profile.nodes.length > 1) simulation.hit('taken for a copy by another node')
  else checker.complain(`${device.name} was taken for a copy, and is none`)
  device.isLossy = true
}
