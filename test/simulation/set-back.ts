/**
 * A device that goes back in place: its storage is replaced by an older copy of itself, as a backup
 * or a snapshot does, while nobody else has that copy. Tells the checker what the server could know
 * then: what it had heard of must not be issued again.
 */
import type { Range } from '../../src/core/range.js'
import type { DeviceState } from '../../src/device/state.js'
import { askAtOnce } from './app.js'
import type { Series } from './checker.js'
import type { Device } from './device.js'
import { Disk } from './disk.js'
import type { Twice } from './excuses.js'
import { OwnServer } from './own-servers.js'
import { type Simulation, seriesOf } from './simulation.js'

/**
 * Two report intervals and the way to the server, while a page is open: a backup may hold a report
 * that was under way, and whose answer proves nothing when it comes again.
 */
export const REPORTED_MS = 25_000

/** Where nothing else is broken, the device has to keep exactly what is promised. */
export const isCalm = ({ profile }: Simulation): boolean => profile.faults.size === 0

/** Since this time, could each of these devices be heard, and hear the server? */
function wereHeard(simulation: Simulation, devices: readonly Device[], since: number): boolean {
  const { profile, wasRestored } = simulation
  if (wasRestored || profile.nodes.length > 1) return false
  return devices.every((device) => !device.wasDisturbedSince(since))
}

/**
 * Why two copies, or a device that went back, may make this number again.
 * @param names of these devices
 */
export function whyBothMake(
  simulation: Simulation,
  series: Series,
  n: number,
  why: Twice,
  names: readonly string[],
): Twice | undefined {
  if (why === 'made again where more is broken') {
    const wentBack = simulation.devices.filter(
      ({ name, setBackAt }) => setBackAt >= 0 && names.includes(name),
    )
    const since = Math.max(...wentBack.map(({ setBackAt }) => setBackAt))
    return wereHeard(simulation, wentBack, since) ? undefined : why
  }
  if (why !== 'made by a copy beside its original') return why
  const copied = simulation.besideCopy.tooLate(series, n)
  if (!copied) return why
  const { devices, at } = copied
  return wereHeard(simulation, devices, at) ? undefined : 'made by a copy where more is broken'
}

/**
 * A backup is made, or the one that was made is restored.
 * @param what goes back: of a machine without a clock of its own, or of its image, the clock, too;
 * or one record alone
 */
export function backUpOrGoBack(
  simulation: Simulation,
  device: Device,
  what: 'the disk' | 'disk and clock' | 'a record' = 'the disk',
): void {
  const { backup } = device
  if (!backup) {
    const disk = new Disk(() => simulation.scheduler.now)
    disk.copyOf(device.disk)
    device.backup = {
      at: simulation.scheduler.now,
      disk,
      leased: device.leased.length,
    }
    simulation.scheduler.note(simulation.driver, `${device.name} is backed up`)
    return
  }
  device.backup = undefined
  simulation.hit('device set back')
  device.killBrowser()
  if (what === 'disk and clock') device.clockError = backup.at - simulation.scheduler.now
  const key = what === 'a record' ? putBack(simulation, device, backup.disk) : undefined
  if (what !== 'a record') device.disk.copyOf(backup.disk)
  device.mayLose('copied or set back')
  device.setBackAt = simulation.scheduler.now
  simulation.copiesOnline.evicted(device.name)
  device.lastStates.clear()
  for (const [series, state] of simulation.storedOn(device)) {
    device.lastStates.set(series, state)
    if (key === undefined || series === key) judge(simulation, device, state, backup)
  }
  simulation.receipts?.forgot(device)
  askAtOnce(simulation, [device])
}

/** One record goes back alone. @returns its key */
function putBack({ random }: Simulation, { disk }: Device, { stores }: Disk): string {
  const store = 'collections'
  const older = [...(stores.get(store) ?? [])].filter(([key]) => disk.stores.get(store)?.has(key))
  if (older.length === 0) return ''
  const [key, record] = random.pick(older)
  disk.commit([{ store, ...record }], true)
  return key
}

function judge(
  simulation: Simulation,
  device: Device,
  state: DeviceState,
  { leased, at }: NonNullable<Device['backup']>,
): void {
  const { servers, checker } = simulation
  const server = servers.get(device.node)
  if (!(server instanceof OwnServer)) return
  const held = heldIn(state)
  const tokens = held.flatMap(({ token }) => token ?? [])
  const isUnderWay = state.checkIn !== undefined || state.claim !== undefined
  const isKnown = tokens.some((token) => server.isOld(token, isUnderWay))
  // An app that has switched the network off tells nobody, and asks nobody.
  const mayTell = !device.allPages.some(
    ({ switchedOffUntil }) => switchedOffUntil >= at - REPORTED_MS,
  )
  const isForgotten = tokens.some((token) => server.isOldAsTheBackup(token, isUnderWay))
  // Without a network it cannot hear, nor from a server that answers nobody.
  const isAnswered = device.isOnline && !simulation.copies.has(device.node)
  const mustHear = isCalm(simulation) && isAnswered
  const why = whyAgain(mustHear, { isKnown, isForgotten, mayTell })
  if (isKnown) simulation.hit('device set back, and the server knows')
  if (!why) return
  // What was granted since is not in the backup: nobody makes it again.
  const since = device.leased
    .slice(leased)
    .filter(({ prefix, from, to }) =>
      held.some((range) => range.prefix === prefix && range.from <= to && from <= range.to),
    )
  const late = since.filter(({ at }) => at < device.leftAt - REPORTED_MS)
  const wasHeard = wereHeard(simulation, [device], late[0]?.at ?? 0)
  if (wasHeard && !isKnown && mayTell && late.length > 0)
    checker.complain(
      `${device.name} has leased ${late.map(({ from, to }) => `${from}–${to}`).join(' ')}, and ` +
        'the server did not hear of it',
    )
  mayMakeAgain(simulation, device, state, why)
}

/**
 * Its server is restored, or answers nobody since that was proved. A device that has gone back, and
 * has had no answer since, cannot hear that from it.
 */
export function restoredBefore(simulation: Simulation, device: Device): void {
  if (device.setBackAt < 0 || device.reachedAt > device.setBackAt) return
  for (const state of simulation.statesOf(device))
    mayMakeAgain(simulation, device, state, 'made again where more is broken')
}

function mayMakeAgain(
  { checker, claims }: Simulation,
  { name }: Device,
  state: DeviceState,
  why: Twice,
): void {
  for (const range of heldIn(state)) checker.mayIssueAgain(seriesOf(range), name, range, why)
  // The claim is sent again, and brings the same numbers.
  for (const { series, low, high } of state.claim ? claims.grantsOf(state.claim.id) : [])
    checker.mayIssueAgain(series, name, { from: low, to: high }, why)
}

const heldIn = ({ ranges, leases, offers }: DeviceState): Range[] => [
  ...ranges,
  ...[...leases, ...offers].map(({ range }) => range),
]

/** Undefined: the device has to hear that it went back before it goes on. */
function whyAgain(
  mustHear: boolean,
  { isKnown, isForgotten, mayTell }: Record<'isKnown' | 'isForgotten' | 'mayTell', boolean>,
): Twice | undefined {
  if (!isKnown && isForgotten) return 'made again by a copy that is as old as the backup'
  if (!isKnown)
    return mayTell
      ? 'made again before the server had heard of them'
      : 'made again where the app had switched the network off'
  return mustHear ? undefined : 'made again where more is broken'
}
