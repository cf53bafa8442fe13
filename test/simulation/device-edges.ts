/**
 * Words about one device whose server is fine: what it has stored has to stay of use.
 *
 * * `late-storage`: IndexedDB fails or stands still while a page opens, and works seconds later, as
 *   beside a large write of the app.
 * * `dead-connection`: each transaction of the open connections fails from now on, while one of a
 *   new connection would work.
 * * `two-options`: beside a page that keeps a reserve, one is opened that keeps none, and closed.
 * * `worker-lost-offline`: a worker dies without a network, so the code that would run in its place
 *   cannot be loaded.
 * * `prerendered`: the browser renders a page before its user goes there, and holds its worker back
 *   until then.
 */
import { type Range, total } from '../../src/core/range.js'
import { callApp } from './app.js'
import type { Device, Page } from './device.js'
import { evictCached, record } from './ending.js'
import { comeOnline } from './faults.js'
import { STORAGE_WORKS } from './idb-host.js'
import { goodbye } from './moves.js'
import { isOneLedger, type Profile } from './profile.js'
import type { Random } from './random.js'
import type { Simulation } from './simulation.js'
import type { Word } from './words.js'

/** Longer than any deadline of a page, so that it has done without its storage. */
const STANDS_MS = 12_000
/** Longer than a page waits for a worker that does not answer. */
const LONGEST_PRERENDERED_MS = 30_000
/** By then a page could have tried again. */
const SOON_MS = 15_000

/** Nothing else goes wrong, so each complaint is about this. */
const deviceWord = (happens: Word['happens'], least: Partial<Profile> = {}): Word => ({
  fits: isOneLedger,
  world: () => ({ faults: new Set(), sizeLimit: undefined, ...least }),
  happens(simulation, device, random) {
    if (simulation.receipts || simulation.replacedLedger || !device.traits.hasIndexedDb) return
    if (device.isOnline) happens(simulation, device, random)
  },
})

const after = ({ scheduler, driver }: Simulation, ms: number, what: string, act: () => void) =>
  scheduler.post(driver, ms, what, act)

/** Devices whose storage is late now: the next page there could not be told from the last. */
const late = new WeakSet<Device>()

export const lateStorage = deviceWord((simulation, device, random) => {
  const { storageFaults } = device
  if (late.has(device)) return
  late.add(device)
  if (random.chance(0.5)) storageFaults.open = 'fails'
  else storageFaults.standsUntil = simulation.scheduler.now + STANDS_MS
  simulation.hit('storage comes late')
  const page = simulation.openPage(device)
  after(simulation, STANDS_MS, 'the storage works', () => {
    Object.assign(storageFaults, STORAGE_WORKS)
    evictCached([device])
    after(simulation, SOON_MS, 'looks where its numbers are', () => {
      late.delete(device)
      const { awake } = simulation.scheduler
      // A page in the back/forward cache tries nothing.
      const hasTried = page.backAt < awake - SOON_MS
      const isOpen = page.isAlive && page.closedAt > awake
      if (isOpen && hasTried && page.hilo.status().storage === 'memory')
        simulation.checker.complain(`${page.name} stays in memory, and its storage works`)
    })
  })
})

export const deadConnection = deviceWord((simulation, device, random) => {
  // A storage that does not open yet gives no new connection either.
  if (late.has(device)) return
  const page = device.pages.find(({ hilo, state }) => hilo && state === 'visible')
  if (!page) return
  simulation.hit('database connection dead')
  // What a page writes as it goes is not written again.
  device.mayLose('storage failed')
  device.databases.killConnections()
  askOffline(simulation, device, page, random, 'its storage would open anew')
})

export const workerLostOffline = deviceWord((simulation, device, random) => {
  const page = device.pages.find(({ hilo, state }) => hilo && state === 'visible')
  const worker = page?.workers.find(({ actor }) => actor.state === 'alive')
  if (!page || !worker) return
  simulation.hit('worker died offline')
  device.mayLose('worker lost')
  page.canLoadOwner = false
  simulation.scheduler.kill(worker.actor)
  askOffline(simulation, device, page, random, 'another worker would start')
})

export const prerendered = deviceWord((simulation, device, random) => {
  const { engine, workers } = device.traits
  if (engine !== 'chromium' || workers !== 'work') return
  simulation.hit('page prerendered')
  const page = simulation.openPage(device)
  page.prerender()
  after(simulation, 500, 'asks for an id', () => callApp(simulation, page, 'nextId'))
  after(simulation, random.between(1_000, LONGEST_PRERENDERED_MS), 'its user comes', () => {
    if (page.state === 'prerendered') page.activate()
    after(simulation, SOON_MS, 'looks where its ids are made', () => {
      if (page.isAlive && page.hilo.status().degraded.includes('no-worker'))
        simulation.checker.complain(`${page.name} makes its ids without the worker that it has`)
    })
  })
})

/** The device has numbers, and no network. Its page has to get them. */
function askOffline(
  simulation: Simulation,
  device: Device,
  page: Page,
  random: Random,
  why: string,
): void {
  const tag = random.pick(simulation.profile.collections)
  device.isOnline = false
  device.journeys++
  const count = page.hilo.status(tag).leased + 1
  const stored = freeOn(simulation, device, tag)
  page.run(`nextIds ${count} ${tag}, offline`, () => {
    const call = { what: 'nextIds', tag, count, at: simulation.scheduler.now }
    // Calls that come later wait behind it.
    page.calls.add(call)
    void page.hilo.nextIds(tag, count).then(
      (ids) => {
        page.calls.delete(call)
        record(simulation, page, tag, ids)
      },
      ({ code }) => {
        page.calls.delete(call)
        if (code === 'storage-failed' && stored >= count)
          simulation.checker.complain(`${page.name}: ${code}, ${stored} are stored, and ${why}`)
      },
    )
    after(simulation, SOON_MS, 'is online again', () => comeOnline(device))
  })
}

/** How many numbers of a collection are stored that no page has. */
const freeOn = (simulation: Simulation, device: Device, tag: string): number =>
  count(
    tag,
    simulation.statesOf(device).flatMap(({ ranges }) => ranges),
  )

/** How many of them are stored in all, also for a page. */
const storedOn = (simulation: Simulation, device: Device, tag: string): number => {
  const leases = simulation.statesOf(device).flatMap(({ leases }) => leases)
  const leased = leases.map(({ range }) => range)
  return freeOn(simulation, device, tag) + count(tag, leased)
}

const count = (tag: string, ranges: readonly Range[]): number =>
  total(ranges.filter(({ prefix }) => prefix.toLowerCase() === `${tag}/`))

export const twoOptions = deviceWord(
  (simulation, device, random) => {
    const { scheduler, profile, checker } = simulation
    const tag = random.pick(profile.collections)
    const page = device.pages.find(({ hilo, state }) => hilo && state === 'visible')
    // What it has above its reserve goes back.
    const before = Math.min(freeOn(simulation, device, tag), profile.reserve)
    if (!page || before < profile.reserve / 2 || device.releases > 0) return
    simulation.hit('another page keeps no reserve')
    const { issuedCount } = checker
    const { releasesBegun } = device
    const dropped = () => simulation.statesOf(device).map(({ gaps }) => gaps.drop)
    const droppedBefore = dropped().join()
    const other = device.openPage(() => ({ ...simulation.options(''), reserve: 0 }), '')
    after(simulation, 500, 'makes an id', () => callApp(simulation, other, 'nextId'))
    after(simulation, 1_500, 'is closed', () =>
      other.run('is closed', () => {
        if (other.isAlive) goodbye(simulation, other)
        other.leave()
      }),
    )
    after(simulation, 2_500, 'looks what is stored', () => {
      // The first page may have asked for many in the meantime.
      const left = storedOn(simulation, device, tag)
      const used = checker.issuedCount - issuedCount
      // A `reserve(n)` or a `release()` of the app goes before all options, and so does an operator
      // who drops the collection.
      const isTold =
        device.releasesBegun !== releasesBegun ||
        dropped().join() !== droppedBefore ||
        simulation.statesOf(device).some(({ reserve }) => reserve !== undefined)
      if (page.isAlive && !isTold && left < before / 2 - used)
        checker.complain(
          `${device.name} keeps ${left} of ${before} ${tag}, because another page keeps none`,
        )
      scheduler.note(page.actor, `has ${left} of ${before}`)
    })
  },
  { reserve: 200 },
)
