/** A profile is copied, and both copies go on: what the checker has to know of it. */
import { size } from '../../src/core/range.js'
import type { DeviceState } from '../../src/core/state.js'
import type { Device } from './device.js'
import { type Simulation, seriesOf } from './simulation.js'

const MOST_DEVICES = 5
/** Until every page of a device must have heard that it is a copy. */
const HEARD_MS = 30_000

export function copyProfile(simulation: Simulation, original: Device): void {
  const { devices, checker, sharedClaims } = simulation
  if (devices.length >= MOST_DEVICES) return
  simulation.hit('profile cloned')
  const copy = simulation.addDevice(`${original.name}-copy${devices.length}`, original.traits, original.disk)
  copy.node = original.node
  const both = [original.name, copy.name]
  for (const { ranges, leases, offers, claim } of simulation.statesOf(original)) {
    const held = [...ranges, ...[...leases, ...offers].map((each) => each.range)]
    for (const range of held) checker.shared(seriesOf(range), range.from, range.to, both)
    if (claim) sharedClaims.set(claim.id, [...(sharedClaims.get(claim.id) ?? []), ...both])
  }
  // Each of their numbers may be lost with one of the two.
  original.isLossy = true
  copy.isLossy = true
}

/** A check-in said so. From now on this device has to keep its hands off what it dropped. */
export function foundOut(simulation: Simulation, device: Device, before: DeviceState | undefined, after: DeviceState): void {
  const { checker, scheduler, driver, profile } = simulation
  if (!profile.hasClones && !profile.hasRestore) {
    mistaken(simulation, device)
    return
  }
  simulation.hit('clone found out')
  const canEveryPageHear =
    device.traits.hasBroadcasts && device.traits.hasIndexedDb && !profile.faults.has('workers') && !profile.faults.has('storage')
  if (!canEveryPageHear) return
  const kept = [...after.ranges, ...[...after.leases, ...after.offers].map(({ range }) => range)]
  const dropped = before ? [...before.ranges, ...before.leases.map(({ range }) => range)] : []
  const shared = dropped.flatMap((range) =>
    Array.from({ length: size(range) }, (_, i) => range.from + i)
      .filter((n) => !kept.some((other) => other.from <= n && n <= other.to && seriesOf(other) === seriesOf(range)))
      .flatMap((n) => checker.entry(seriesOf(range), n) ?? []),
  )
  scheduler.post(driver, HEARD_MS, `${device.name} must know that it is a copy`, () => {
    for (const entry of shared) entry.sharedBy?.delete(device.name)
  })
}

/** A node that never wrote a token takes it for superseded: what it covers is lost. Nothing else may have this effect. */
function mistaken(simulation: Simulation, device: Device): void {
  const { profile, checker } = simulation
  if (profile.nodes.length > 1) simulation.hit('taken for a copy by another node')
  else checker.complain(`${device.name} was taken for a copy, and is none`)
  device.isLossy = true
}
