/**
 * What pages do: they ask their device for numbers, issue them, give them up and go. Every step is
 * the production code, the page's and the device's; what stands here is who calls it when.
 */
import { exchange, settle } from '../../src/device/device.js'
import { type LeaseLeft, LeaseQueue } from '../../src/device/page/lease-queue.js'
import {
  answered,
  ask as askDevice,
  cancel,
  cutTo,
  exit as exitPage,
  giveUp,
  hearDropped,
  newPage,
  notesToLeave,
  type Page,
} from '../../src/device/page/page.js'
import type { Exchange } from '../../src/device/state.js'
import {
  type Message,
  type OpenPage,
  type System,
  spend,
  withDevice,
  withIssued,
  withPage,
} from './state.js'

export const RESERVE = 0

const IN_BOTH = 'kept'
const IN_INDEXED_DB = 'kept in IndexedDB'
const IN_LOCAL = 'kept in localStorage'
const LOST = 'lost'
/** What becomes of the note of a page that is left. */
export const NOTES = [IN_BOTH, IN_INDEXED_DB, IN_LOCAL, LOST] as const

export function openPage(system: System, d: number, newId: () => string): System {
  const id = newId()
  // What it would adopt from `localStorage`, it brings to the device at once.
  const holds: Page = { ...newPage(id), copies: new Set() }
  return withDevice(system, d, (device) => ({
    ...device,
    pages: [...device.pages, { id, holds, asked: [] }],
    notes: [...device.notes, ...device.local],
    local: [],
  }))
}

/** An event of the production page changes it in place: here, it changes a copy. */
function changed<T>(system: System, d: number, p: number, event: (page: Page) => T): [System, T] {
  const holds = copyOf(system.devices[d]!.pages[p]!.holds)
  const result = event(holds)
  return [withPage(system, d, p, (page) => ({ ...page, holds })), result]
}

const copyOf = (page: Page): Page => ({
  ...page,
  queue: copyOfQueue(page.queue),
  unconfirmed: new Map(page.unconfirmed),
  awaited: new Map(page.awaited),
  offers: [...page.offers],
  copies: new Set(page.copies),
})

function copyOfQueue(queue: LeaseQueue): LeaseQueue {
  const copy = Object.assign(new LeaseQueue(), queue)
  for (const [name, value] of Object.entries(queue))
    if (Array.isArray(value)) Object.assign(copy, { [name]: [...value] })
  return copy
}

export function issue(system: System, d: number, p: number): System | undefined {
  const { held } = system.devices[d]!.pages[p]!.holds.queue
  if (held === 0 || system.left.issues === 0) return undefined
  const [used, number] = changed(spend(system, 'issues'), d, p, ({ queue }) => queue.take())
  return withIssued(used, number, system.devices[d]!.name)
}

/** The worker does the exchange at once, in one transaction; its answer is under way. */
export function ask(
  system: System,
  d: number,
  p: number,
  want: number,
  newId: () => string,
): System | undefined {
  if (system.left.exchanges === 0) return undefined
  const { pages, notes } = system.devices[d]!
  const { id, holds } = pages[p]!
  if (want > 0 && holds.queue.held > 0) return undefined
  const wish = { id: `${id}:${newId()}`, want, offer: want === 0 }
  const [asking, request] = changed(spend(system, 'exchanges'), d, p, (page) =>
    askDevice(page, wish),
  )
  const asked = exchanged(asking, d, p, request)
  const { leases } = asked.devices[d]!.pages[p]!.asked.at(-1)!.answer
  const told = [...request.notes, ...request.cuts, ...notes]
  const isForNothing = want > 0 && leases.length + told.length === 0
  return isForNothing ? undefined : asked
}

/** The answer was lost with a worker: the page asks the next one the same. */
export function askAgain(system: System, d: number, p: number, a: number): System | undefined {
  if (system.left.workerDeaths === 0) return undefined
  const { stored, pages } = system.devices[d]!
  const { request, answer } = pages[p]!.asked[a]!
  const dead = withPage(spend(system, 'workerDeaths'), d, p, (page) => ({
    ...page,
    asked: page.asked.filter((_, i) => i !== a),
  }))
  const after = exchanged(dead, d, p, request)
  const { leases } = after.devices[d]!.pages[p]!.asked.at(-1)!.answer
  // Leases that were written off since are gone: then the page is leased others.
  const isLeased = stored.leases.some(({ id }) => answer.leases.some((each) => each.id === id))
  return isLeased && leases.length > answer.leases.length
    ? { ...after, problem: 'A page that asked the same again was leased more.' }
    : after
}

function exchanged(system: System, d: number, p: number, request: Exchange): System {
  const { stored, notes } = system.devices[d]!
  const settled = settle(stored, notes)
  const { state, ...answer } = exchange(settled, request, settled.reserve ?? RESERVE)
  const asked = { request, answer, forks: state.gaps.fork }
  const after = withPage(system, d, p, (page) => ({ ...page, asked: [...page.asked, asked] }))
  return withDevice(after, d, (device) => ({ ...device, stored: state, notes: [] }))
}

export function hear(system: System, d: number, p: number, a: number): System {
  const { request, answer, forks } = system.devices[d]!.pages[p]!.asked[a]!
  const [heard, settled] = changed(system, d, p, (page) => {
    const [, copies] = answered(page, request, answer)
    learn(page, forks)
    return copies
  })
  const after = withPage(heard, d, p, (page) => ({
    ...page,
    asked: page.asked.filter((_, i) => i !== a),
  }))
  if (settled.length === 0) return after
  return withDevice(after, d, (device) => ({
    ...device,
    local: device.local.filter(
      (note) => !settled.includes('lease' in note ? note.lease : note.exchange),
    ),
  }))
}

/** Every page hears of a fork, and gives all up that it holds. */
export function hearOfFork(system: System, d: number): System {
  const { pages, stored } = system.devices[d]!
  return pages.reduce(
    (now, _, p) => changed(now, d, p, (page) => learn(page, stored.gaps.fork))[0],
    system,
  )
}

/** A page that hears of a fork tells its device so. Here this fails, so that it takes no event. */
function learn(page: Page, forks: number): void {
  if (hearDropped(page, { fork: forks, drop: 0 }).fork === 0 || page.offers.length === 0) return
  const { id } = askDevice(page, { id: `${page.id}:fork ${forks}`, want: 0, offer: true })
  cancel(page, id)
}

export function park(system: System, d: number, p: number): System | undefined {
  const { holds } = system.devices[d]!.pages[p]!
  if (leasesOf(holds).length === 0 && holds.awaited.size === 0) return undefined
  return changed(system, d, p, giveUp)[0]
}

/** The page gives its last number up, and goes on with the others. */
export function cut(system: System, d: number, p: number): System | undefined {
  const { held } = system.devices[d]!.pages[p]!.holds.queue
  if (held === 0 || system.left.cuts === 0) return undefined
  return changed(spend(system, 'cuts'), d, p, (page) => cutTo(page, held - 1))[0]
}

/** The page gives its offers back, leaves a note of the rest, and is gone or in the cache. */
export function exit(
  system: System,
  d: number,
  p: number,
  kept: (typeof NOTES)[number],
  isCached: boolean,
): System | undefined {
  const { left } = system
  if (left.exits === 0) return undefined
  const isKept = kept !== LOST
  if (!isKept && left.losses === 0) return undefined
  const { id, holds } = system.devices[d]!.pages[p]!
  if (holds.offers.length > 0 && left.giveBacks === 0) return undefined
  const { serverTag } = system.devices[d]!.stored
  const [exited, { ranges, notes }] = changed(spend(system, 'exits'), d, p, (page) => ({
    ranges: exitPage(page, `${id}:exit`, true, serverTag, false),
    notes: notesToLeave(page),
  }))
  if (kept !== IN_BOTH && notes.length === 0) return undefined
  let after = exited
  if (ranges.length > 0) after = spend(after, 'giveBacks')
  if (!isKept) after = spend(after, 'losses')
  const sent = ranges.map(
    ({ from, to, token }): Message => ({
      to: 'server',
      kind: 'give-back',
      end: to,
      last: from - 1,
      token,
    }),
  )
  after = { ...after, messages: [...after.messages, ...sent] }
  after = withDevice(after, d, (device) => ({
    ...device,
    notes: isKept && kept !== IN_LOCAL ? [...device.notes, ...notes] : device.notes,
    local: isKept && kept !== IN_INDEXED_DB ? [...device.local, ...notes] : device.local,
  }))
  // What lies in `localStorage` alone nobody finds before a page opens: others may write it off.
  if (!isCached) return gone(after, d, p, isKept && kept !== IN_LOCAL)
  return withPage(after, d, p, (page) => ({ ...page, isFrozen: true }))
}

export function thaw(system: System, d: number, p: number): System {
  return withPage(system, d, p, ({ isFrozen: _, ...page }) => page)
}

export function kill(system: System, d: number, p: number): System | undefined {
  if (system.left.kills === 0) return undefined
  return gone(spend(system, 'kills'), d, p, false)
}

/** A page in the cache is thrown away. */
export const remove = (system: System, d: number, p: number): System => gone(system, d, p, false)

function gone(system: System, d: number, p: number, isSettled: boolean): System {
  return withDevice(system, d, (device) => ({
    ...device,
    pages: device.pages.filter((_, i) => i !== p),
    dead: isSettled ? device.dead : [...device.dead, device.pages[p]!.id],
  }))
}

/** The leases of a page, each with the next number that it would issue. */
export const leasesOf = ({ queue }: Page): LeaseLeft[] => copyOfQueue(queue).revoke()

/** What makes a page different from others. */
export function imageOf({ id, holds, asked, isFrozen }: OpenPage): object {
  const queue = copyOfQueue(holds.queue)
  const { offers, unconfirmed, awaited, copies, dropped } = holds
  const spent = queue.takeSpent()
  return {
    id,
    leases: queue.revoke(),
    spent,
    offers,
    unconfirmed: [...unconfirmed.values()],
    awaited: [...awaited.values()],
    copies: [...copies!],
    forks: dropped?.fork,
    asked,
    isFrozen,
  }
}
