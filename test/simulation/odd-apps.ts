/**
 * Unusual things that apps do: they switch all tabs off together, mount a component twice, or ask
 * for bare numbers of two nodes.
 */
import { callApp } from './app.js'
import { close } from './closed.js'
import type { Device, Page } from './device.js'
import type { Simulation } from './simulation.js'

/**
 * All tabs are switched off while callers wait in them without a limit. Later all are switched on.
 */
export function switchOff(simulation: Simulation, device: Device): void {
  const { random, scheduler, driver } = simulation
  const pages = device.pages.filter(({ isAlive }) => isAlive)
  if (pages.length < 3) pages.push(simulation.openPage(device))
  simulation.hit('tabs switched off')
  for (const page of pages) {
    page.run('goOffline', () => page.isAlive && page.goOffline())
    callApp(simulation, page, 'burst')
    callApp(simulation, page, 'patient')
  }
  scheduler.post(driver, random.between(1_000, 90_000), 'tabs are switched on', () => {
    for (const page of pages)
      if (page.isAlive) page.run('goOnline', () => page.isAlive && page.goOnline())
  })
}

/**
 * A framework mounts a component, unmounts it at once, and mounts it again: React's StrictMode. Or
 * the component is unmounted for good while a call is under way.
 */
export function remount(simulation: Simulation, page: Page): void {
  const { random, checker } = simulation
  simulation.hit('mounted twice')
  const isForGood = random.chance(0.3)
  if (random.chance(0.5)) callApp(simulation, page, 'burst')
  page.run('unmounts', () => {
    if (!page.isAlive) return
    // What the closed instance had begun may never end, so numbers may be lost.
    simulation.excusePage(page, 'unmounted while busy')
    const closing = () => {
      close(simulation, page).catch((error) =>
        checker.complain(`${page.name}: close failed: ${error.stack}`),
      )
    }
    closing()
    page.mount()
    closing()
    if (!isForGood) page.mount()
    simulation.pauses.begun(page.name)
  })
}

/** The device reaches another node from now on, and an app that uses bare numbers goes on. */
export function changeNode(simulation: Simulation, device: Device): void {
  simulation.hit('other node')
  device.node = simulation.profile.nodes.find((node) => node !== device.node)!
  const page = device.pages.find(({ isAlive }) => isAlive)
  if (page && simulation.random.chance(0.5)) callApp(simulation, page, 'numbers')
}
