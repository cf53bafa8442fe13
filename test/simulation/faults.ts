/** Everything that can break, each under its name: a fault that is counted was really there. */
import { callApp } from './app.js'
import { unissued } from './calls.js'
import type { Device, Page } from './device.js'
import type { Lost } from './excuses.js'
import { NO_GATEWAY, STATUSES } from './gateway.js'
import { STORAGE_WORKS } from './idb-host.js'
import { PERFECT_NETWORK } from './network.js'
import { changeNode, remount, switchOff } from './odd-apps.js'
import { OwnServer } from './own-servers.js'
import type { FaultKind } from './profile.js'
import { type Simulation, seriesOf } from './simulation.js'

/** Longer than a page waits for its storage a few times over. */
const STANDS_MS = 45_000
const HANGS_MS = 60_000
const LONGEST_BUSY_MS = 5_000

export function breakSomething(simulation: Simulation, device: Device): void {
  device.disturb()
  FAULTS[simulation.random.pick([...simulation.profile.faults])](simulation, device)
}

const FAULTS: Record<FaultKind, (simulation: Simulation, device: Device) => void> = {
  crashes(simulation, device) {
    const { random } = simulation
    if (random.chance(0.3)) return killBrowser(simulation, device)
    const page = device.pages.find(({ isAlive }) => isAlive)
    if (!page) return
    if (page.kind === 'page' && random.chance(0.3)) return closeBusy(simulation, page)
    simulation.hit('page crashed')
    checkWaste(simulation, page)
    simulation.excusePage(page, 'page crashed')
    page.die()
  },

  powerCuts: cutPower,

  lostMessages: ({ network, random }) => {
    network.faults = {
      ...network.faults,
      loseRequest: random.pick([0, 0.1, 0.5]),
      loseAnswer: random.pick([0, 0.1, 0.5]),
    }
  },

  lateMessages: ({ network, random }) => {
    network.faults = { ...network.faults, late: random.pick([0, 0.1, 0.4]) }
  },

  duplicateMessages: ({ network, random }) => {
    network.faults = { ...network.faults, duplicate: random.pick([0, 0.1, 0.4]) }
  },

  servers(simulation, device) {
    const { random, network, servers, down } = simulation
    const server = servers.get(device.node)!
    switch (random.weighted({ busy: 1, killed: 2, unavailable: 2, down: 1, up: 1 })) {
      case 'busy':
        network.faults = { ...network.faults, busy: random.pick([0, 0.3]) }
        break
      case 'killed':
        if (server instanceof OwnServer) server.faults.killed = random.pick([0, 0.3])
        break
      case 'unavailable':
        if (server instanceof OwnServer) server.faults.unavailable = random.pick([0, 0.3])
        break
      case 'down':
        simulation.hit('server down')
        down.add(device.node)
        break
      case 'up':
        down.clear()
    }
  },

  nodes: changeNode,

  offline(simulation, device) {
    if (!device.isOnline) return comeOnline(device)
    simulation.hit('device offline')
    device.isOnline = false
    device.journeys++
    const page = device.pages.find(({ isAlive }) => isAlive)
    // Somebody signs out while there is no network.
    if (page && simulation.random.chance(0.4)) callApp(simulation, page, 'release')
  },

  storage(simulation, device) {
    const { random, scheduler } = simulation
    const { storageFaults } = device
    switch (random.weighted({ commit: 2, open: 1, lose: 2, stand: 3, heal: 2 })) {
      case 'commit':
        storageFaults.commitFails = 0.3
        break
      case 'open':
        storageFaults.open = random.pick(['fails', 'hangs'])
        simulation.hit(`storage ${storageFaults.open} to open`)
        device.mayLose('storage failed')
        break
      case 'lose':
        simulation.hit('database connection lost')
        device.mayLose('storage failed')
        device.databases.dropAll()
        break
      case 'stand': {
        simulation.hit('storage stands still')
        storageFaults.standsUntil = scheduler.now + random.between(1_000, STANDS_MS)
        device.disturb(storageFaults.standsUntil)
        const page = device.pages.find(({ isAlive }) => isAlive)
        if (page) callApp(simulation, page, random.pick(['reserve', 'release', 'nextIds']))
        break
      }
      case 'heal':
        Object.assign(storageFaults, STORAGE_WORKS)
    }
  },

  workers(simulation, device) {
    const { random, scheduler } = simulation
    const workers = device.pages.filter(({ isAlive }) => isAlive).flatMap((page) => page.workers)
    const worker = workers.find(({ actor }) => actor.state === 'alive')
    const page = device.pages.find(({ workers }) => workers.includes(worker!))
    if (!worker || !page) return
    // Other pages may think that a page with a silent worker is dead, and write its lease off.
    simulation.excusePage(page, 'worker lost')
    switch (random.weighted({ dies: 1, hangs: 1, fails: 1 })) {
      case 'dies':
        simulation.hit('worker died')
        scheduler.kill(worker.actor)
        break
      case 'hangs':
        simulation.hit('worker hung')
        device.disturb(scheduler.now + HANGS_MS)
        worker.actor.state = 'frozen'
        // The call may come back when nobody waits for it any more.
        if (random.chance(0.5)) {
          scheduler.post(
            simulation.driver,
            random.between(100, HANGS_MS),
            'a hung worker goes on',
            () => {
              if (worker.actor.state === 'frozen') worker.actor.state = 'alive'
            },
          )
        }
        break
      case 'fails':
        simulation.hit('worker failed')
        page.run('hears of a failed worker', () =>
          worker.handle.fail('The simulated worker failed.'),
        )
    }
  },

  clocks(simulation, device) {
    const { random } = simulation
    const jump = random.pick([-1, 1]) * random.pick([60_000, 86_400_000, 40 * 365 * 86_400_000])
    if (random.chance(0.5)) {
      simulation.hit('device clock jumped')
      device.clockError += jump
    } else {
      simulation.hit('server clock jumped')
      simulation.serverClockError += jump
    }
  },

  portals: ({ gateway, random, profile }) => {
    gateway.faults = {
      ...gateway.faults,
      portal: random.pick([0, 0.2, 1]),
      // `documentSource` writes a document only after it has read it.
      isForWrites: profile.authority === 'document' || random.chance(0.5),
      replaced: random.pick([0, 0.3]),
    }
  },

  proxies: ({ gateway, random }) => {
    const status = random.pick(STATUSES)
    gateway.faults = { ...gateway.faults, proxy: random.pick([0, 0.2, 1]), status }
  },

  caches: ({ gateway, random }) => {
    gateway.faults = { ...gateway.faults, cached: random.pick([0, 0.5, 1]) }
  },

  switches: switchOff,

  mounts(simulation, device) {
    const page = simulation.random.pick(device.pages)
    if (page?.isAlive) remount(simulation, page)
  },

  eviction(simulation, device) {
    simulation.hit('storage evicted')
    evict(simulation, device, () => device.disk.evict())
  },
}

/** The browser throws storage of the device away. */
export function evict(simulation: Simulation, device: Device, throwAway: () => void): void {
  for (const state of simulation.statesOf(device)) {
    for (const range of [
      ...state.ranges,
      ...[...state.leases, ...state.offers].map((each) => each.range),
    ])
      simulation.excuse(range, 'storage evicted')
    for (const { range } of [...state.leases, ...state.offers])
      simulation.checker.outlived(seriesOf(range), device.name, range.from, range.to)
  }
  device.mayLose('storage evicted')
  device.databases.dropAll()
  throwAway()
  simulation.copiesOnline.evicted(device.name)
}

/** The browser ends the worker at any time, without a word to it. */
export function stopServiceWorker(simulation: Simulation, page: Page): void {
  simulation.hit('service worker stopped')
  checkWaste(simulation, page)
  simulation.excusePage(page, 'service worker stopped')
  page.die()
}

/** Its thread is busy, and the browser may end it before it hears that it is closed. */
function closeBusy(simulation: Simulation, page: Page): void {
  const { random } = simulation
  simulation.hit('page closed while busy')
  simulation.excusePage(page, 'closed while busy')
  page.device.disturb(simulation.scheduler.now + LONGEST_BUSY_MS)
  page.closeBusy(random.between(0, LONGEST_BUSY_MS), random.chance(0.7))
}

export function cutPower(simulation: Simulation, device: Device): void {
  excuseAll(simulation, device, 'power cut')
  simulation.hit('power cut')
  if (device.cutPower()) simulation.hit('relaxed commits lost')
}

export function killBrowser(simulation: Simulation, device: Device): void {
  simulation.hit('browser killed')
  excuseAll(simulation, device, 'browser killed')
  for (const page of device.pages) if (page.isAlive) checkWaste(simulation, page)
  if (device.killBrowser() > 0) simulation.hit('localStorage writes lost')
}

/** Notes of pages that closed before may be lost with it. */
function excuseAll(simulation: Simulation, device: Device, why: Lost): void {
  for (const page of device.allPages) simulation.excusePage(page, why)
}

/**
 * H3: how many numbers are lost with a page that dies: at rest 16, and under load four times what
 * it issued in its last second, because it looks that far ahead. A page whose worker died or hangs
 * is not checked: it waits for the worker before it can park anything.
 */
function checkWaste(simulation: Simulation, page: Page): void {
  const { checker, profile } = simulation
  if (page.workers.some(({ actor }) => actor.state !== 'alive')) return
  for (const tag of page.hilo ? profile.collections : []) {
    const { leased } = page.hilo.status(tag)
    const most = unissued(simulation, page, tag)
    if (leased > most)
      checker.complain(`${page.name} held ${leased} unissued ${tag} when it crashed, not ${most}`)
  }
}

export function comeOnline(device: Device): void {
  device.isOnline = true
  device.journeys++
  for (const page of device.pages)
    if (page.isAlive) page.run('is online again', () => page.window.emit('online'))
}

export function heal(simulation: Simulation): void {
  const { network, gateway, devices, servers, down, words } = simulation
  words.heal(simulation)
  network.faults = { ...PERFECT_NETWORK }
  gateway.faults = { ...NO_GATEWAY }
  down.clear()
  for (const server of servers.values())
    if (server instanceof OwnServer) Object.assign(server.faults, { killed: 0, unavailable: 0 })
  for (const device of devices) {
    if (!device.isOnline) comeOnline(device)
    Object.assign(device.storageFaults, STORAGE_WORKS)
  }
}
