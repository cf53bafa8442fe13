/**
 * How every schedule ends: everything is healed, old pages go, late messages arrive, each device comes back once more.
 * Then either all is given back and every number accounted for, or all is used up, which shows a number with two owners.
 */
import type { Device, Page } from './device.js'
import { heal } from './faults.js'
import type { Simulation } from './simulation.js'

/** Longer than any message is late. */
const ALL_ARRIVED_MS = 500_000

export async function end(simulation: Simulation): Promise<void> {
  const { scheduler, devices, profile, checker } = simulation
  scheduler.note(simulation.driver, '— everything heals —')
  heal(simulation)
  await wait(simulation, 5_000)
  for (const device of devices) {
    for (const page of [...device.pages]) {
      if (page.state === 'cached') page.die()
      else page.run('closes at the end', () => page.leave())
    }
  }
  await wait(simulation, ALL_ARRIVED_MS)
  const pages = devices.map((device) => simulation.openPage(device))
  await wait(simulation, 100_000)
  if (profile.ending === 'account') await giveAllBack(simulation, pages)
  else await useAllUp(simulation, devices, pages)
  for (const [, , entry] of checker.entries()) if (entry.isHeld && !entry.issuedBy) simulation.gaps++
}

async function giveAllBack(simulation: Simulation, pages: readonly Page[]): Promise<void> {
  const { profile, checker } = simulation
  for (const page of pages) {
    // A claim whose answer was lost is asked again before another one is made.
    page.run('asks for more', () => {
      for (const tag of profile.collections)
        page.hilo.reserve(tag, page.hilo.status(tag).available + 1).catch(complain(simulation, 'reserve'))
    })
    await wait(simulation, 20_000)
    page.run('releases', () => void page.hilo.release().catch(complain(simulation, 'release')))
    await wait(simulation, 20_000)
    page.run('closes', () => page.leave())
    await wait(simulation, 20_000)
  }
  // What one node granted cannot go back while another one answers.
  if (profile.authority !== 'own' || profile.nodes.length > 1 || profile.hasClones || profile.hasRestore) return
  const unexplained = checker
    .unexplained()
    .filter((each) => !simulation.devices.some((device) => device.isLossy && each.includes(`(granted to ${device.name})`)))
  if (unexplained.length > 0) checker.complain(`${unexplained.length} gaps without a cause: ${unexplained.slice(0, 40).join(', ')}`)
}

async function useAllUp(simulation: Simulation, devices: readonly Device[], pages: readonly Page[]): Promise<void> {
  const { profile, scheduler, checker } = simulation
  async function issueAll(page: Page, tag: string, most: number): Promise<void> {
    for (let i = 0; i < most; i++) {
      try {
        const id = await page.hilo.nextId(tag)
        scheduler.note(page.actor, `issues ${id}`)
        const [, , number, node] = /^(\w+)\/(\d+)-([A-Z])$/.exec(id) ?? []
        checker.issued(`${tag}-${node}`, page.device.name, Number(number))
      } catch {
        return
      }
    }
  }
  for (const device of devices) device.isOnline = false
  for (const page of pages) {
    for (const tag of profile.collections) page.run(`uses up ${tag}`, () => void issueAll(page, tag, 3_000))
  }
  await wait(simulation, 120_000)
  for (const device of devices) device.isOnline = true
  const fresh = simulation.addDevice('fresh')
  for (const node of profile.nodes) {
    fresh.node = node
    for (const tag of profile.collections)
      fresh.pages[0]!.run(`takes what the server has of ${tag}`, () => void issueAll(fresh.pages[0]!, tag, 200))
    await wait(simulation, 60_000)
  }
}

/** A copy, or a device of a restored server, may be granted what it holds; it drops that answer, and says so. */
const complain = (simulation: Simulation, what: string) => (error: Error) =>
  simulation.profile.hasClones ||
  simulation.profile.hasRestore ||
  simulation.checker.complain(`after healing, ${what} failed: ${error.stack}`)

async function wait({ scheduler, checker }: Simulation, ms: number): Promise<void> {
  const until = scheduler.now + ms
  if (checker.violations.length === 0) await scheduler.runUntil(until)
}
