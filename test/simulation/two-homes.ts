/**
 * The word `two-homes`: browsers with storage buckets. One learns them with an update, and goes on
 * with what it has in the default storage. A bucket does not open for a while, nobody can say where
 * the database is, or the bucket is evicted alone. A device must not begin a second life beside
 * numbers that it has stored.
 */
import { callApp } from './app.js'
import type { Device } from './device.js'
import { evict, killBrowser } from './faults.js'
import { isOfTheApp } from './profile.js'
import type { Random } from './random.js'
import type { Simulation } from './simulation.js'
import type { Word } from './words.js'

const LONGEST_MS = 15_000

export const twoHomes: Word = {
  fits: ({ authority, hasClones, goesBack, hasRestore, faults }) =>
    !isOfTheApp(authority) && !(hasClones || goesBack || hasRestore) && faults.size > 0,
  world: () => ({ hasBuckets: true }),
  happens(simulation, device, random) {
    const { engine, hasIndexedDb } = device.traits
    if (simulation.isClean || engine !== 'chromium' || !hasIndexedDb) return
    if (device.hasBuckets)
      EVENTS[random.pick(Object.keys(EVENTS) as Event[])](simulation, device, random)
    else update(simulation, device)
  },
}

function update(simulation: Simulation, device: Device): void {
  simulation.hit('a browser learned buckets')
  killBrowser(simulation, device)
  device.hasBuckets = true
  simulation.openPage(device)
}

type Event = 'fails' | 'unknown' | 'evicted'

const EVENTS: Record<Event, (simulation: Simulation, device: Device, random: Random) => void> = {
  fails(simulation, device, random) {
    simulation.hit('a bucket did not open')
    const { storageFaults } = device
    storageFaults.bucket = 'fails'
    visit(simulation, device, random.between(1, LONGEST_MS), () => {
      storageFaults.bucket = 'works'
    })
  },
  unknown(simulation, device, random) {
    simulation.hit('databases were not listed')
    const { storageFaults } = device
    storageFaults.lists = 'fail'
    if (random.chance(0.5)) storageFaults.bucket = 'fails'
    visit(simulation, device, random.between(1, LONGEST_MS), () => {
      Object.assign(storageFaults, { lists: 'work', bucket: 'works' })
    })
  },
  evicted(simulation, device) {
    simulation.hit('bucket evicted')
    evict(simulation, device, () => device.disk.evictBucket())
  },
}

/** Its user opens a page then. */
function visit(simulation: Simulation, device: Device, ms: number, ends: () => void): void {
  device.mayLose('storage failed')
  const page = simulation.openPage(device)
  callApp(simulation, page, 'nextIds')
  simulation.scheduler.post(simulation.driver, ms, 'the bucket works', ends)
}

/** Call it while pages are open. Checks that each device uses all that it has stored. */
export function lookForSecondHomes(simulation: Simulation): void {
  for (const device of simulation.devices) {
    const used = new Set([...device.databases.connections].map(({ home }) => home))
    for (const home of device.disk.homes('collections'))
      if (used.size > 0 && !used.has(home))
        simulation.checker.complain(
          `${device.name} has numbers in its home '${home}', and uses them no more`,
        )
  }
}
