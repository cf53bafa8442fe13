/**
 * The word `crash-at-commit`: a device crashes right before one of its next commits, or right after
 * it, before anybody hears of it; or its server crashes right before one. So each pair of commits
 * that follow each other may have a crash in between.
 */
import { askAtOnce } from './app.js'
import type { Device } from './device.js'
import { cutPower, killBrowser } from './faults.js'
import { OwnServer } from './own-servers.js'
import { isOneLedger } from './profile.js'
import type { Random } from './random.js'
import type { Simulation } from './simulation.js'
import type { Word } from './words.js'

const MOST_COMMITS = 4
/** Longer than a page needs to hear of its lease. */
const SLOW_MS = 50

export const crashAtCommit: Word = {
  fits: (profile) => isOneLedger(profile) && profile.faults.size > 0,
  happens(simulation, device, random) {
    // Another word has made the world calm.
    if (simulation.isClean) return
    const server = simulation.servers.get(device.node)
    if (random.chance(0.5)) crash(simulation, device, random)
    // A process that starts knows nothing of the ledger that was there before.
    else if (server instanceof OwnServer && !simulation.replacedLedger)
      server.dieAtCommit(random.between(1, MOST_COMMITS))
    askAtOnce(simulation, [device])
  },
  heal({ servers }) {
    for (const server of servers.values())
      if (server instanceof OwnServer) server.dieAtCommit(Number.POSITIVE_INFINITY)
  },
}

function crash(simulation: Simulation, device: Device, random: Random): void {
  const { databases } = device
  const { committed } = databases
  let left = random.between(1, MOST_COMMITS)
  const isNow = () => --left === 0 && !simulation.isHealed
  const usual = databases.delay.bind(databases)
  // A page could go on with what is not stored yet.
  databases.delay = () => Math.max(usual(), random.between(0, SLOW_MS))
  const now = () => {
    Reflect.deleteProperty(databases, 'delay')
    simulation.hit('crashed at a commit')
    device.disturb()
    if (random.chance(0.5)) killBrowser(simulation, device)
    else cutPower(simulation, device)
    askAtOnce(simulation, [device])
  }
  if (random.chance(0.5))
    databases.committed = (...commit) => {
      committed(...commit)
      if (isNow()) simulation.scheduler.afterThis(now)
    }
  else
    databases.crashes = () => {
      const crashes = isNow()
      if (crashes) now()
      return crashes
    }
}
