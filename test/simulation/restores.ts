/**
 * Replaces a node's database by an older copy of itself, and tells the checker what the node may
 * forget, and until when. When a device proves it, the node stops until the operator raises its
 * floors.
 */
import { askAtOnce } from './app.js'
import { type GivenSeries, OwnServer } from './own-servers.js'
import { restoredBefore } from './set-back.js'
import { type Simulation, seriesOf } from './simulation.js'

/** Operators need longer. */
const LONGEST_MS = 60_000
/** A grant or two. */
const MOST_TOO_LITTLE = 64
const TOO_LITTLE = 'floors raised, perhaps too little'
/** More than grants of which no device has heard yet. */
const ON_THE_WAY = 10_000

/** A backup is made, or the one that was made is restored. */
export function backUpOrRestore(simulation: Simulation, node: string): void {
  const { scheduler, servers, backups, checker, devices, database, receipts, profile } = simulation
  const server = servers.get(node)
  if (!(server instanceof OwnServer)) return
  const backup = backups.get(node)
  if (!backup) {
    scheduler.note(simulation.driver, `database ${node} is backed up`)
    const make = (series?: GivenSeries[]) =>
      backups.set(node, {
        copy: server.backUp(),
        known: checker.knownAt(node),
        heard: receipts?.heard(),
        ...(series !== undefined && { series }),
      })
    if (receipts) void server.givenSeries(database).then(make)
    else make()
    return
  }
  backups.delete(node)
  scheduler.post(simulation.networkActor, 0, `database ${node} is restored`, async () => {
    await server.stop()
    const given = await server.givenSeries(database)
    // A letter that was given after the backup would be given again.
    if (backup.series !== undefined && !mayForget(simulation, backup.series, given))
      return server.start()
    simulation.hit('server restored')
    checker.forget(node, backup.known)
    for (const device of devices) {
      restoredBefore(simulation, device)
      for (const { ranges, leases, offers } of simulation.statesOf(device)) {
        for (const { range } of leases) checker.mayComeBack(seriesOf(range), device.name, range)
        for (const range of [...ranges, ...offers.map((each) => each.range)])
          checker.mayComeBack(seriesOf(range), device.name, range, true)
      }
    }
    receipts?.restored(devices, profile.forgetsHandOvers ? undefined : backup.heard)
    if (profile.forgetsHandOvers) {
      const by = checker.highestOf(node) + ON_THE_WAY
      await server.restore(backup.copy, async (ledger) => {
        await ledger.raiseFloors({ database, by })
        await ledger.reopenSeries({ database })
      })
      checker.raised(node, by)
      receipts?.forgets(takenSince(backup.series ?? [], given), devices)
    } else {
      simulation.unawareOfRestore.add(node)
      await server.restore(backup.copy)
    }
    askAtOnce(simulation)
  })
}

/** May the ledger go back to where it had given the series `before`? */
function mayForget(
  { profile }: Simulation,
  before: readonly GivenSeries[],
  given: readonly GivenSeries[],
): boolean {
  if (!profile.forgetsHandOvers) return JSON.stringify(before) === JSON.stringify(given)
  return before.length === given.length
}

/** Series that other devices have got since, and which. What nobody had got then is void, too. */
function takenSince(
  before: readonly GivenSeries[],
  given: readonly GivenSeries[],
): { letter: string; takers: string[] }[] {
  const known = new Map(
    before.map(({ letter, takers }) => [letter, takers.findLastIndex((each) => each !== null) + 1]),
  )
  return given.flatMap(({ letter, takers }) => {
    const since = takers.slice(known.get(letter)).filter((each) => each !== null)
    return since.length > 0 ? [{ letter, takers: since }] : []
  })
}

/**
 * The node grants nothing from now on. Some time later its operator raises the floors, and may
 * believe that less was lost than was.
 */
export function copyProved(simulation: Simulation, node: string, server: OwnServer): void {
  const { scheduler, networkActor: actor, random, checker, copies } = simulation
  // Each process hears of it.
  if (copies.has(node)) return
  copies.add(node)
  for (const device of simulation.devices) restoredBefore(simulation, device)
  simulation.unawareOfRestore.delete(node)
  simulation.hit('restore proved')
  // A grant that was made before is told to the checker in the same turn.
  scheduler.post(actor, 0, `database ${node} is known to be a copy`, () => checker.stopped(node))
  scheduler.post(actor, random.between(1, LONGEST_MS), `floors of ${node} are raised`, async () => {
    const isFirst = !simulation.hits.has(TOO_LITTLE)
    const isTooLittle = isFirst && !simulation.isHealed && random.chance(0.5)
    const by = isTooLittle ? random.between(1, MOST_TOO_LITTLE) : checker.highestOf(node)
    const wereRaised = await server.raiseFloors(simulation.database, by)
    copies.delete(node)
    if (!wereRaised) return
    await server.reopenSeries(simulation.database)
    if (isTooLittle) simulation.hit(TOO_LITTLE)
    checker.raised(node, by)
  })
}
