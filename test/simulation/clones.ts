/**
 * Copies a profile, of a device that runs or is closed, lets both copies go on, and tells the
 * checker what each may issue.
 */
import { type Range, size } from '../../src/core/range.js'
import type { DeviceState } from '../../src/device/state.js'
import { askAtOnce, callApp } from './app.js'
import { collectionOf } from './claims.js'
import type { Device } from './device.js'
import { OwnServer, SOMEBODY } from './own-servers.js'
import { isCalm } from './set-back.js'
import { type Simulation, seriesOf } from './simulation.js'

const BESIDE = 'made by a copy beside its original'
const MOST_DEVICES = 5
/** After this time, every page of a device must know that the device is a copy. */
const HEARD_MS = 30_000

/** Longer than the server needs to hear of what was made. */
const CLOSED_MS = 120_000

export function cloneProfile(simulation: Simulation, original: Device): void {
  const { profile, random, scheduler, driver } = simulation
  const page = original.pages.find(({ isAlive }) => isAlive)
  const isQuiet = isCalm(simulation) && profile.nodes.length === 1
  if (!page || !isQuiet || random.chance(0.3)) {
    const copy = copyProfile(simulation, original)
    if (copy) askAtOnce(simulation, [original, copy])
    return
  }
  callApp(simulation, page, 'nextIds')
  closeWhileItTells(simulation, original)
  scheduler.post(driver, CLOSED_MS, `${original.name} and a copy of it start`, () => {
    close(original)
    const copy = copyProfile(simulation, original)
    askAtOnce(simulation, [original, copy ?? []].flat())
  })
}

/** The server is about to hear of what was made. If it has just heard, it is not told soon. */
function closeWhileItTells(simulation: Simulation, device: Device, looks = 200): void {
  const { scheduler, driver } = simulation
  const isTelling = [...device.lastStates.values()].some(({ checkIn }) => checkIn !== undefined)
  if (isTelling || looks === 0) close(device)
  else
    scheduler.post(driver, 10, `${device.name} is looked at`, () =>
      closeWhileItTells(simulation, device, looks - 1),
    )
}

function close(device: Device): void {
  device.killBrowser()
  device.mayLose('browser killed')
}

/** Has it to ask the server whether it is a copy, before it goes on? */
const asksFirst = ({ allPages }: Device): boolean =>
  allPages.every(({ isAlive, switchedOffUntil }) => !isAlive && switchedOffUntil < 0)

function copyProfile(simulation: Simulation, original: Device): Device | undefined {
  const { checker, sharedClaims, claims } = simulation
  if (simulation.devices.length >= MOST_DEVICES) return undefined
  simulation.hit('profile cloned')
  const copy = simulation.addDevice(
    `${original.name}-copy${simulation.devices.length}`,
    original.traits,
    original.disk,
  )
  copy.node = original.node
  for (const [series, state] of original.lastStates) {
    copy.lastStates.set(series, state)
    simulation.copiesOnline.copied(series, original.name, copy.name)
  }
  const devices = [original, copy]
  const both = devices.map(({ name }) => name)
  const bothAsk = asksFirst(original)
  for (const state of simulation.statesOf(original)) {
    const { ranges, leases, offers, claim } = state
    if (bothAsk) simulation.hit('closed profile cloned')
    const held = [...ranges, ...[...leases, ...offers].map((each) => each.range)]
    for (const range of held) {
      const { from, to } = range
      checker.shared(seriesOf(range), from, to, both, BESIDE)
      const at = simulation.scheduler.now
      simulation.besideCopy.copied({ series: seriesOf(range), from, to, at, bothAsk, devices })
    }
    if (!claim) continue
    const sharers = [...(sharedClaims.get(claim.id) ?? []), ...both]
    sharedClaims.set(claim.id, sharers)
    for (const { series, low, high } of claims.grantsOf(claim.id))
      checker.shared(series, low, high, sharers, BESIDE)
  }
  for (const device of devices) device.mayLose('copied or set back')
  return copy
}

/**
 * Somebody has a copy of this device's storage, and a client of his own. Later, when the server has
 * replaced a token and the device gives back, he shows it in a claim for another collection: that
 * finds a copy, and what the grant gave back goes to nobody, though somebody asks for it next.
 */
export function claimElsewhere(simulation: Simulation, device: Device): void {
  const { servers, scheduler, networkActor, database, checker, random, stolen } = simulation
  const server = servers.get(device.node)
  if (!(server instanceof OwnServer)) return
  const at = stolen.findIndex(({ token }) => server.isOld(token!, true))
  if (at < 0) {
    device.mayLose('copied by somebody')
    for (const range of simulation.statesOf(device).flatMap(({ ranges }) => ranges)) {
      if (!range.token) continue
      const { from, to } = range
      stolen.push(range)
      const both = [device.name, SOMEBODY]
      checker.shared(seriesOf(range), from, to, both, 'made by somebody who copied the storage')
      checker.excuse(seriesOf(range), from, to, 'copied by somebody')
    }
    return
  }
  const [old] = stolen.splice(at, 1) as [Range]
  simulation.hit('an old token shown elsewhere')
  const series = seriesOf(old)
  const page = device.pages.find(({ isAlive }) => isAlive)
  if (page) callApp(simulation, page, 'release')
  const claim = { database, id: `elsewhere${random.between(0, 2 ** 40)}`, count: 1, at: 0 }
  scheduler.post(networkActor, RELEASED_MS, 'somebody claims elsewhere', async () => {
    const shown = { token: old.token!, next: old.from }
    const first = { ...claim, collection: 'elsewhere' }
    const then = { ...claim, collection: collectionOf(series), count: 100 }
    await server.claimBySomebody(first, shown)
    await server.claimBySomebody(then)
  })
}

/** Until a release has given everything back, as a rule. */
const RELEASED_MS = 2_000

const COPIED = ['copied or set back', 'copied by somebody'] as const

/** A check-in said that this device is a copy. It must not issue what it has dropped. */
export function foundOut(
  simulation: Simulation,
  device: Device,
  before: DeviceState | undefined,
  after: DeviceState,
): void {
  const { checker, scheduler, driver, profile, servers } = simulation
  const mayBeCopy = COPIED.some((why) => device.losses.has(why)) || simulation.wasRestored
  if (!mayBeCopy) {
    mistaken(simulation, device)
    return
  }
  simulation.hit('clone found out')
  // Perhaps by mistake, as below.
  if (profile.nodes.length > 1) device.mayLose('taken for a copy by another node')
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
        ? server.wasGrantedSince(range.token, (_, { devices }) => devices.includes(device.name))
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
  device.mayLose('taken for a copy by another node')
}
