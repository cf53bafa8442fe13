/**
 * A node's database is replaced by an older copy of itself: what it forgets by that, and until when
 * it may.
 */
import { OwnServer } from './own-servers.js'
import { type Simulation, seriesOf } from './simulation.js'

/** A backup is made, or the one that was made is restored. */
export function backUpOrRestore(simulation: Simulation, node: string): void {
  const { scheduler, servers, backups, checker, devices } = simulation
  const server = servers.get(node)
  if (!(server instanceof OwnServer)) return
  const backup = backups.get(node)
  if (!backup) {
    scheduler.note(simulation.driver, `database ${node} is backed up`)
    backups.set(node, { file: server.backUp(), known: checker.knownAt(node) })
    return
  }
  backups.delete(node)
  simulation.hit('server restored')
  scheduler.post(simulation.networkActor, 0, `database ${node} is restored`, async () => {
    checker.forget(node, backup.known)
    for (const device of devices)
      for (const { ranges, leases, offers } of simulation.statesOf(device))
        for (const range of [...ranges, ...[...leases, ...offers].map((each) => each.range)])
          checker.mayComeBack(seriesOf(range), device.name, range.from, range.to)
    await server.restore(backup.file)
  })
}
