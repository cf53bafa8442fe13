/** Checks the state that a device stores with each commit, and tells what has changed in it. */
import type { Range } from '../../src/core/range.js'
import type { DeviceState } from '../../src/device/state.js'
import { readState } from '../../src/device/stored.js'
import { claimKey } from './claims.js'
import { foundOut } from './clones.js'
import type { Device } from './device.js'
import { HOMES, storeIn, type Write } from './disk.js'
import { type Simulation, seriesOf } from './simulation.js'
import { labelled, ofTenant, tenantIn } from './tenants.js'

/** The stores of their states. */
const COLLECTIONS = HOMES.map((home) => storeIn(home, 'collections'))

export function look(simulation: Simulation, device: Device, writes: readonly Write[]): void {
  const { unrest, checker, copiesOnline, seenBefore, scheduler } = simulation
  unrest.saw(device.name, 'transactions')
  for (const { store, key, value } of writes) {
    if (!COLLECTIONS.includes(store) || value === undefined) continue
    const read = readState(value)
    if ('refused' in read)
      checker.complain(`${device.name} stored a state that cannot be used: ${read.refused}`)
    else {
      const state = labelled(key, read.state)
      const { fork } = state.gaps
      const series = JSON.stringify(key)
      const before = device.lastStates.get(series)
      if (before && device.releases > 0 && simulation.wasReached(device))
        for (const range of [
          ...before.ranges,
          ...[...before.leases, ...before.offers].map((each) => each.range),
        ])
          if (!range.token) simulation.excuse(range, 'released without a token')
      if (fork > (before?.gaps.fork ?? 0)) foundOut(simulation, device, before, state)
      noteLeases(simulation, device, before, state)
      device.lastStates.set(series, state)
      const claimed = state.claim && claimKey(state.claim.id, collectionIn(key))
      copiesOnline.stored(series, device.name, state, claimed)
      if (claimed && !seenBefore.has(claimed)) seenBefore.set(claimed, highestOf(state))
      simulation.excuseLeases(state, device)
      if (scheduler.trace) scheduler.note(device.databases.actor, `has ${describe(state, device)}`)
    }
  }
}

function noteLeases(
  { scheduler, besideCopy }: Simulation,
  device: Device,
  before: DeviceState | undefined,
  { leases }: DeviceState,
): void {
  const known = new Set(before?.leases.map(({ id }) => id))
  for (const { id, range } of leases) {
    const { prefix, from, to } = range
    if (known.has(id)) continue
    device.leased.push({ prefix, from, to, at: scheduler.now })
    besideCopy.leased({
      series: seriesOf(range),
      device: device.name,
      from,
      to,
      at: scheduler.now,
    })
  }
}

/** A state's key is a server's address, a database, and a collection with its separator. */
const collectionIn = (key: unknown): string =>
  ofTenant((key as string[])[2]!.slice(0, -1), tenantIn(JSON.stringify(key)))

/** The highest number that a device knows to be granted, as its state has it. */
const highestOf = ({ ranges, leases, offers, issued }: DeviceState): number =>
  Math.max(
    issued,
    ...[
      ...ranges,
      ...[...leases, ...offers.filter(({ isSent }) => !isSent)].map(({ range }) => range),
    ].map(({ to }) => to),
  )

/** A state as a schedule prints it. */
function describe(
  { ranges, leases, offers, claim, checkIn, gaps }: DeviceState,
  { allPages }: Device,
): string {
  const text = ({ prefix, from, to, serverTag }: Range) => `${prefix}${from}–${to}-${serverTag}`
  const owner = (id: string) => allPages.find((page) => page.isNamed(id))?.name ?? 'nobody'
  return [
    `free ${ranges.map(text).join(' ') || 'none'}`,
    ...leases.map(({ id, range }) => `leased to ${owner(id)} ${text(range)}`),
    ...offers.map(
      ({ id, page, range, isSent }) =>
        `offered to ${owner(page || id)} ${text(range)}${isSent ? ' sent' : ''}`,
    ),
    ...(claim ? ['a claim'] : []),
    ...(checkIn ? ['a check-in'] : []),
    ...(gaps.crash + gaps.giveBack + gaps.fork > 0 ? [`gaps ${JSON.stringify(gaps)}`] : []),
  ].join(', ')
}
