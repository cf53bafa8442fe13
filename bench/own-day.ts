/**
 * The day with this package: its own code, from the façade in each page to the server's ledger, in
 * the simulation's browsers and on its virtual clock. Every device has a clock of its own; they run
 * in turns of a minute, and share the server.
 */
import '../test/simulation/comlink.js'
import { rmSync } from 'node:fs'
import { createHiloHandler, openLedger } from '../server/src/index.js'
import { Device, type Page } from '../test/simulation/device.js'
import { Gateway } from '../test/simulation/gateway.js'
import { Network, type Reply, type Request as SentRequest } from '../test/simulation/network.js'
import { createRandom, type Random } from '../test/simulation/random.js'
import { installGlobals, serverRealm } from '../test/simulation/realm.js'
import { Actor, Scheduler } from '../test/simulation/scheduler.js'
import { makeFolder } from '../test/simulation/sqlite-storage.js'
import { type DayLog, HOUR_MS } from './day-log.js'
import type { Happening } from './fleet-day.js'

const MINUTE = 60_000
/** The next morning all devices come back, and what was under way is settled. */
const MORNING_MS = 5 * MINUTE
const OPTIONS = { url: 'https://hilo.test', database: 'fleet', collections: { orders: {} } }

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
): Promise<DayLog> {
  const log: DayLog = { issued: 0, refused: 0, burnt: 0, claims: 0, hours: [] }
  const dataDir = makeFolder()
  const ledger = await openLedger({ dataDir })
  const handler = createHiloHandler({ ledger })
  const serve = async ({ method, url, headers, body }: SentRequest): Promise<Reply> => {
    if (url.pathname.endsWith('/next')) log.claims++
    const response = await handler(
      new Request(url, { method, headers, ...(body !== undefined && { body }) }),
    )
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    }
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
  const runAll = async (until: number) => {
    for (const { scheduler } of stations) {
      running = scheduler
      await scheduler.runUntil(until)
    }
    running = undefined
  }
  try {
    let next = 0
    for (let minute = MINUTE; minute <= length; minute += MINUTE) {
      for (; next < day.length && day[next]!.at < minute; next++)
        post(stations[day[next]!.device]!, day[next]!, log)
      await runAll(minute)
      if (minute % HOUR_MS === 0) log.hours.push({ issued: log.issued, burnt: log.burnt })
    }
    const pages = stations.map((station) => open(station))
    await runAll(length + MORNING_MS)
    const [{ outstanding } = { outstanding: 0 }] = await ledger.status()
    const held = pages.reduce((sum, page) => sum + page.hilo.status('orders').available, 0)
    log.burnt = outstanding - log.issued - held
    log.hours[log.hours.length - 1] = { issued: log.issued, burnt: log.burnt }
    return log
  } finally {
    restore()
    await ledger.close()
    rmSync(dataDir, { recursive: true, force: true })
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

function post(station: Station, happening: Happening, log: DayLog): void {
  const { scheduler, driver } = station
  scheduler.post(driver, happening.at - scheduler.now, happening.what, () =>
    happen(station, happening, log),
  )
}

function open(station: Station): Page {
  station.device.isOnline = true
  return station.device.openPage(() => OPTIONS)
}

function happen({ device }: Station, { what, ids }: Happening, log: DayLog): void {
  const page = device.pages[0]
  const inPage = (act: (page: Page) => void) => page?.run(what, () => page.isAlive && act(page))
  switch (what) {
    case 'open':
      device.openPage(() => OPTIONS)
      break
    case 'save':
      inPage(({ hilo }) => {
        for (let i = 0; i < ids; i++)
          hilo.nextId('orders').then(
            () => log.issued++,
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
        device.openPage(() => OPTIONS)
      })
      break
    case 'close':
      inPage((each) => each.leave())
      break
    case 'die':
      log.burnt += page?.hilo.status('orders').leased ?? 0
      page?.die()
      break
    case 'offline':
      device.isOnline = false
      break
    case 'online':
      device.isOnline = true
      inPage((each) => each.window.emit('online'))
  }
}
