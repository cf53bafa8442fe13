/**
 * What may happen next in a world: an app uses its ids, a page comes or goes, or something breaks.
 */
import { callApp } from './app.js'
import { claimElsewhere, cloneProfile } from './clones.js'
import type { Device, Page } from './device.js'
import { breakSomething, stopServiceWorker } from './faults.js'
import { LocalStorage } from './local-storage.js'
import type { Load } from './realm.js'
import { backUpOrRestore } from './restores.js'
import { backUpOrGoBack } from './set-back.js'
import type { Simulation } from './simulation.js'

export function move(simulation: Simulation): void {
  const { random, devices, profile } = simulation
  const device = random.pick(devices)
  const page = device.pages.length > 0 ? random.pick(device.pages) : undefined
  const moves = {
    app: () => (page?.isAlive ? callApp(simulation, page) : comeBack(simulation, device, page)),
    page: () =>
      page?.isAlive ? movePage(simulation, device, page) : comeBack(simulation, device, page),
    fault: () => breakSomething(simulation, device),
    clone: () => cloneProfile(simulation, device),
    elsewhere: () => claimElsewhere(simulation, device),
    restore: () => backUpOrRestore(simulation, device.node),
    replaceLedger: () => simulation.replacedLedger?.act(device.node),
    goBack: () => backUpOrGoBack(simulation, device),
    receipt: () => page && simulation.receipts?.act(page),
    rewrite: () => simulation.receipts?.rewrite(device),
    handOver: () => simulation.receipts?.handOver(device),
  }
  const weights = {
    app: 6,
    page: 3,
    fault: profile.faults.size > 0 ? 2 : 0,
    clone: profile.hasClones ? 0.5 : 0,
    elsewhere: profile.hasClones ? 4 : 0,
    restore: profile.hasRestore ? 1.5 : 0,
    replaceLedger: simulation.replacedLedger ? 3 : 0,
    goBack: profile.goesBack ? 1.5 : 0,
    receipt: simulation.receipts ? 6 : 0,
    rewrite: simulation.receipts && profile.faults.has('crashes') ? 0.5 : 0,
    handOver: simulation.receipts && devices.length > 1 ? 1 : 0,
  }
  moves[random.weighted(weights)]()
}

function comeBack(simulation: Simulation, device: Device, page: Page | undefined): void {
  if (!page) simulation.openPage(device)
  else if (page.state === 'prerendered') page.activate()
  else if (simulation.random.chance(0.7)) {
    simulation.hit('page restored from cache')
    page.restore()
  } else {
    simulation.hit('cached page evicted')
    page.die()
  }
}

/** A page that has only just opened has no Hilo yet. */
export const isAtRest = ({
  hilo,
  batches,
}: Partial<Pick<Page, 'hilo'>> & Pick<Page, 'batches'>): boolean =>
  Object.values(hilo?.status().collections ?? {}).every(({ leased }) => leased === 0) &&
  batches.every(({ left }) => left === 0)

const MOVES = { hide: 3, show: 4, reload: 3, close: 1, cache: 2, tab: 3, worker: 1.5 }

function movePage(simulation: Simulation, device: Device, page: Page): void {
  if (page.kind === 'service worker') {
    // Where nothing goes wrong, the browser ends it at rest, and no number is lost.
    if (!simulation.isClean || isAtRest(page)) stopServiceWorker(simulation, page)
    return
  }
  const alive = (what: string, act: () => void) => page.run(what, () => page.isAlive && act())
  const { sessionStorage } = page.load
  const open = (type: Load['type'], storage = sessionStorage) =>
    simulation.openPage(device, undefined, 'page', { type, sessionStorage: storage })
  const go = (what: string, comesBack: boolean) => {
    simulation.hit(`page ${what}`)
    alive(what, () => {
      goodbye(simulation, page)
      page.leave()
      if (comesBack) open('reload')
    })
  }
  const moves = {
    hide() {
      if (page.state === 'visible') simulation.hit('page hidden')
      alive('is hidden', () => {
        if (page.state !== 'visible') return
        page.hide()
        for (const [name, { leased }] of Object.entries(page.hilo.status().collections))
          if (leased > (page.warmed.get(name) ?? 0))
            simulation.checker.complain(`${page.name} is hidden, and keeps ${leased} of ${name}`)
      })
    },
    show: () => alive('is shown', () => page.state === 'hidden' && page.show()),
    reload: () => go('reload', true),
    close: () => go('close', false),
    cache() {
      simulation.hit('page cached')
      const isReplaced = simulation.random.chance(0.8)
      alive('goes into the back/forward cache', () => {
        goodbye(simulation, page)
        page.cache()
        if (isReplaced) open('navigate')
      })
    },
    // A duplicated tab: it has a copy of the session storage (H7).
    tab() {
      if (device.pages.length >= 3) return
      const copy = new LocalStorage(() => simulation.scheduler.now)
      copy.copyOf(sessionStorage)
      open('navigate', copy)
    },
    worker() {
      const isThere = device.pages.some(({ kind }) => kind === 'service worker')
      if (!isThere) simulation.openPage(device, page.tenant, 'service worker')
    },
  }
  moves[simulation.random.weighted(MOVES)]()
}

/** What a page had begun when it went may never end, so numbers may be lost. */
export function goodbye(simulation: Simulation, page: Page): void {
  if (simulation.scheduler.awake - page.busyAt < 5_000)
    simulation.excusePage(page, 'gone while busy')
  const { traits, pages } = page.device
  // The only note of this page lies in `localStorage`. Only a page that is opened later reads it.
  // Until then the device may be granted a number of that note, and drop the answer.
  if (traits.engine === 'webkit' && pages.length > 1)
    page.device.mayLose('a note in localStorage that was read late')
}
