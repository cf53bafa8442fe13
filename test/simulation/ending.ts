/**
 * How every schedule ends: all faults stop, old pages go, late messages arrive, and each device
 * comes back once more. Then the devices give everything back, or use everything up, which shows a
 * number with two owners. In the end every number is accounted for.
 */
import type { HiloError } from '../../src/core/errors.js'
import type { Range } from '../../src/core/range.js'
import { surplus } from '../../src/device/device.js'
import { reserveOf } from '../../src/device/reserve.js'
import { ID } from './app.js'
import { settleAll } from './calls.js'
import type { Device, Page } from './device.js'
import { heal, stopServiceWorker } from './faults.js'
import { isAtRest } from './moves.js'
import { isOfTheApp } from './profile.js'
import { type Simulation, seriesOf } from './simulation.js'
import { ofTenant } from './tenants.js'
import { lookForSecondHomes } from './two-homes.js'

/** Longer than any message takes. */
const ALL_ARRIVED_MS = 500_000
/** Longer than a device takes to issue all it has, and shorter than the pauses that follow. */
const USED_UP_MS = 5_000
/** Ids that a device issues at once at the end. A fault in its numbers shows in the first ones. */
const MOST_ISSUED = 3_000

export async function end(simulation: Simulation): Promise<void> {
  const { scheduler, devices, profile, checker } = simulation
  scheduler.note(simulation.driver, '— everything heals —')
  heal(simulation)
  evictCached(devices)
  await wait(simulation, 5_000)
  // One may have been on its way there.
  evictCached(devices)
  if (simulation.random.chance(0.5)) await settleAll(simulation)
  for (const device of devices) {
    for (const page of [...device.pages]) {
      if (page.kind === 'page') page.run('closes at the end', () => page.leave())
      else {
        if (!isAtRest(page)) device.mayLose('service worker stopped')
        stopServiceWorker(simulation, page)
      }
    }
  }
  await wait(simulation, ALL_ARRIVED_MS)
  simulation.isHealed = true
  const pages = devices.flatMap((device) =>
    profile.tenants.map((tenant) => simulation.openPage(device, tenant)),
  )
  await wait(simulation, 100_000)
  for (const { device, hilo, name } of pages)
    if (device.traits.hasIndexedDb && hilo.status().storage === 'memory')
      checker.complain(`${name} does without a storage that works`)
  await serveEverybody(simulation, pages)
  lookForSurplus(simulation)
  lookForSecondHomes(simulation)
  if (profile.ending === 'account') await giveAllBack(simulation, pages)
  else await useAllUp(simulation, devices, pages)
  account(simulation)
}

/** A browser evicts a cached page whose open transaction holds up those of other pages. */
export function evictCached(devices: readonly Device[]): void {
  for (const { pages } of devices)
    for (const page of [...pages]) if (page.state === 'cached') page.die()
}

/** All faults have ended, so every page gets an id. */
async function serveEverybody(simulation: Simulation, pages: readonly Page[]): Promise<void> {
  for (const page of pages) simulation.receipts?.last(page)
  for (const page of pages)
    for (const tag of simulation.profile.collections)
      page.run(`nextId ${tag}, at the end`, () => {
        page.hilo
          .nextId(tag, { timeout: 90_000 })
          .then((id) => record(simulation, page, tag, [id]), complain(simulation, 'nextId'))
      })
  await wait(simulation, 100_000)
}

/**
 * Checks: a page at rest has set aside all that its device does not keep for offline work, so that
 * it can send it back when it is left.
 */
function lookForSurplus(simulation: Simulation): void {
  const { checker, devices, profile } = simulation
  if (profile.authority !== 'own') return
  for (const device of devices)
    for (const state of simulation.statesOf(device)) {
      const isUsed = state.leases.some((lease) =>
        device.pages.some((page) => page.isNamed(lease.page)),
      )
      const left = isUsed ? surplus(state, reserveOf(state, profile.reserve)) : 0
      if (left > 0) checker.complain(`${device.name} is at rest, and does not offer ${left} ids`)
    }
}

/** Checks: each number was issued, or a server or a disk has it, or its loss has a cause. */
function account(simulation: Simulation): void {
  const { checker, devices, profile, claims } = simulation
  const stored = new Map<string, Pick<Range, 'from' | 'to'>[]>()
  const store = (series: string, range: Pick<Range, 'from' | 'to'>) =>
    stored.set(series, [...(stored.get(series) ?? []), range])
  for (const device of devices)
    for (const { ranges, leases, offers, claim } of simulation.statesOf(device)) {
      for (const range of [...ranges, ...[...leases, ...offers].map((each) => each.range)])
        store(seriesOf(range), range)
      // A claim that was granted: nobody asks for its collection any more, so it stays stored.
      for (const { series, low, high } of claim ? claims.grantsOf(claim.id) : [])
        store(series, { from: low, to: high })
    }
  const isStored = (series: string, n: number) =>
    stored.get(series)?.some(({ from, to }) => from <= n && n <= to) ?? false
  // An answer that was lost cannot be asked for again.
  if (isOfTheApp(profile.authority))
    for (const device of devices) device.mayLose("a counter of the app's own")
  if (simulation.twoLedgers.areThere)
    for (const tag of profile.collections)
      for (const tenant of profile.tenants)
        for (const node of profile.nodes)
          checker.excuseAll(`${ofTenant(tag, tenant)}-${node}`, 'two ledgers answered')
  const lossy = devices.filter(({ isLossy }) => isLossy).map(({ name }) => name)
  const { count, unexplained } = checker.gaps(isStored, lossy)
  simulation.gaps = count
  simulation.receipts?.account(devices)
  if (unexplained.length === 0) return
  checker.complain(
    `${unexplained.length} gaps without a cause: ${unexplained.slice(0, 40).join(', ')}`,
  )
}

async function giveAllBack(simulation: Simulation, pages: readonly Page[]): Promise<void> {
  const { profile } = simulation
  for (const page of pages) {
    // Sends a claim whose answer was lost once more: a device has one claim at a time.
    page.run('asks for more', () => {
      for (const tag of profile.collections)
        page.hilo
          .reserve(tag, page.hilo.status(tag).available + 1)
          .catch(complain(simulation, 'reserve'))
    })
    await wait(simulation, 20_000)
    page.run('releases', () => void page.hilo.release().catch(complain(simulation, 'release')))
    await wait(simulation, 20_000)
    page.run('closes', () => page.leave())
    await wait(simulation, 20_000)
  }
}

async function useAllUp(
  simulation: Simulation,
  devices: readonly Device[],
  pages: readonly Page[],
): Promise<void> {
  const { profile } = simulation
  async function issue(page: Page, tag: string, count: number): Promise<void> {
    record(simulation, page, tag, await page.hilo.nextIds(tag, count))
  }
  async function issueAll(page: Page, tag: string): Promise<void> {
    try {
      await issue(page, tag, Math.min(page.hilo.status(tag).available, MOST_ISSUED))
      for (;;) await issue(page, tag, 1)
    } catch {
      // It has no id left.
    }
  }
  for (const device of devices) device.isOnline = false
  for (const page of pages) {
    for (const tag of profile.collections)
      page.run(`uses up ${tag}`, () => void issueAll(page, tag))
  }
  await wait(simulation, USED_UP_MS)
  for (const device of devices) device.isOnline = true
  const fresh = simulation.addDevice('fresh')
  for (const node of profile.nodes) {
    fresh.node = node
    for (const tag of profile.collections)
      fresh.pages[0]!.run(
        `takes what the server has of ${tag}`,
        () => void issue(fresh.pages[0]!, tag, 200).catch(() => {}),
      )
    await wait(simulation, 60_000)
  }
}

/** A page has issued these ids. */
export function record(
  { scheduler, checker }: Simulation,
  page: Page,
  tag: string,
  ids: readonly string[],
): void {
  const { actor, tenant, device, isInMemory } = page
  scheduler.note(actor, `issues ${ids[0]} … ${ids.at(-1)}`)
  for (const id of ids) {
    const [, , number, node = ''] = ID.exec(id) ?? []
    const series = `${ofTenant(tag, tenant)}-${node}`
    checker.issued(series, device.name, Number(number), isInMemory, page.stateOf(tag))
  }
}

/**
 * A server may grant a copy, or a device of a restored server, numbers that the device holds. The
 * device drops that answer, and says so.
 */
/** A device stops at a second ledger, or refuses a grant of it that it holds from the first. */
const OF_TWO_LEDGERS = ['other-ledger', 'invalid-response']

const complain = (simulation: Simulation, what: string) => (error: Error) =>
  (simulation.twoLedgers.areThere && OF_TWO_LEDGERS.includes((error as HiloError).code)) ||
  simulation.profile.hasClones ||
  simulation.profile.goesBack ||
  simulation.profile.hasRestore ||
  simulation.checker.complain(`after healing, ${what} failed: ${error.stack}`)

async function wait({ scheduler, checker }: Simulation, ms: number): Promise<void> {
  const until = scheduler.now + ms
  if (checker.violations.length === 0) await scheduler.runUntil(until)
}
