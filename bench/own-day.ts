/**
 * The day with this package: its own code, from the façade in each page to the authority that
 * counts, in the simulation's browsers and on its virtual clock. Every device has a clock of its
 * own; they run in turns of a minute, and share the authority.
 */
import '../src/client/online-calls.js'
import '../test/simulation/comlink.js'
import { Device, type Page } from '../test/simulation/device.js'
import { Gateway } from '../test/simulation/gateway.js'
import { Network, type Reply, type Request as SentRequest } from '../test/simulation/network.js'
import { createRandom, type Random } from '../test/simulation/random.js'
import { installGlobals, serverRealm } from '../test/simulation/realm.js'
import { Actor, Scheduler, turn } from '../test/simulation/scheduler.js'
import type { Authority } from './authorities.js'
import { type DayLog, issue, newDayLog } from './day-log.js'
import type { Happening } from './fleet-day.js'

const MINUTE = 60_000
/** The next morning all devices come back, and what was under way is settled. */
const MORNING_MS = 5 * MINUTE

interface Fleet {
  authority: Authority
  stations: Station[]
  log: DayLog
  issued: Set<string>
}

interface Station {
  scheduler: Scheduler
  device: Device
  driver: Actor
}

export async function ownDay(
  day: readonly Happening[],
  devices: number,
  length: number,
  random: Random,
  authority: Authority,
): Promise<DayLog> {
  const log = newDayLog()
  const serve = (request: SentRequest): Promise<Reply> => {
    log.requests++
    return authority.handle(request)
  }
  let running: Scheduler | undefined
  const restore = installGlobals({
    random,
    get current() {
      return running?.current
    },
  })
  const stations = Array.from({ length: devices }, (_, i) =>
    newStation(`d${i}`, createRandom(random.between(0, 2 ** 31)), serve),
  )
  const fleet: Fleet = { authority, stations, log, issued: new Set() }
  const runAll = async (until: number) => {
    for (const { scheduler } of stations) {
      running = scheduler
      await scheduler.runUntil(until)
    }
    running = undefined
    // Pages load a file on demand, in real time.
    await turn()
  }
  try {
    let next = 0
    for (let minute = MINUTE; minute <= length; minute += MINUTE) {
      for (; next < day.length && day[next]!.at < minute; next++) post(fleet, day[next]!)
      await runAll(minute)
    }
    const pages = stations.map(({ device }) => openOnline(device, authority))
    await runAll(length + MORNING_MS)
    // If nothing finds the copies of a device, what both hold is counted twice.
    const held = pages.reduce((sum, page) => sum + page.hilo.status('orders').available, 0)
    log.burnt = (await authority.outstanding()) - fleet.issued.size - held
    return log
  } finally {
    restore()
    await authority.close()
  }
}

const ignore = () => {}

function newStation(
  name: string,
  random: Random,
  handle: (request: SentRequest) => Promise<Reply>,
): Station {
  const scheduler = new Scheduler(random)
  const network = new Actor('network')
  network.realm = serverRealm(scheduler, () => 0)
  const traits = {
    engine: random.pick(['chromium', 'chromium', 'chromium', 'firefox', 'webkit'] as const),
    hasLocks: true,
    hasBroadcasts: true,
    hasIndexedDb: true,
    workers: 'work' as const,
  }
  return {
    scheduler,
    device: new Device(
      name,
      traits,
      scheduler,
      new Network(
        scheduler,
        network,
        { handle },
        new Gateway(createRandom(0), undefined, ignore),
        ignore,
      ),
    ),
    driver: new Actor('user'),
  }
}

function post(fleet: Fleet, happening: Happening): void {
  const { scheduler, driver } = fleet.stations[happening.device]!
  scheduler.post(driver, happening.at - scheduler.now, happening.what, () =>
    happen(fleet, happening),
  )
}

function openOnline(device: Device, { options }: Authority): Page {
  device.isOnline = true
  return device.openPage(() => options)
}

function happen(fleet: Fleet, { device: number, what, ids, from }: Happening): void {
  const { authority, stations, log } = fleet
  const { device } = stations[number]!
  const page = device.pages[0]
  const inPage = (act: (page: Page) => void) => page?.run(what, () => page.isAlive && act(page))
  const open = () => device.openPage(() => authority.options)
  switch (what) {
    case 'open':
      open()
      break
    case 'save':
      inPage(({ hilo }) => {
        for (let i = 0; i < ids; i++)
          hilo.nextId('orders').then(
            (id) => issue(log, fleet.issued, id),
            () => log.refused++,
          )
      })
      break
    case 'hide':
      inPage((each) => each.hide())
      break
    case 'show':
      inPage((each) => each.show())
      break
    case 'reload':
      inPage((each) => {
        each.leave()
        open()
      })
      break
    case 'close':
      inPage((each) => each.leave())
      break
    case 'die':
      log.burnt += page?.hilo.status('orders').leased ?? 0
      page?.die()
      break
    case 'copy':
      device.killBrowser()
      device.disk.copyOf(stations[from!]!.device.disk)
      break
    case 'offline':
      device.isOnline = false
      break
    case 'online':
      device.isOnline = true
      inPage((each) => each.window.emit('online'))
  }
}
