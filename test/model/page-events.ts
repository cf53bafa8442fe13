/**
 * What pages do: they ask their device for numbers, issue them, give them up and go. The device's
 * part of it is the production code; the page's part is what `src/client` does, in few lines.
 */
import { exchange, settle } from '../../src/core/device.js'
import type { Exchange, Note } from '../../src/core/state.js'
import {
  cancelled,
  type Message,
  noteOf,
  type Page,
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
  const page: Page = { id: newId(), leases: [], offers: [], outbox: [] }
  return withDevice(system, d, (device) => ({
    ...device,
    pages: [...device.pages, page],
    notes: [...device.notes, ...device.local],
    local: [],
  }))
}

export function issue(system: System, d: number, p: number): System | undefined {
  const { leases } = system.devices[d]!.pages[p]!
  const at = leases.findIndex(hasMore)
  if (at < 0 || system.left.issues === 0) return undefined
  const number = leases[at]!.next
  const used = withPage(spend(system, 'issues'), d, p, (page) => ({
    ...page,
    leases: page.leases.map((each, i) => (i === at ? { ...each, next: number + 1 } : each)),
  }))
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
  const device = system.devices[d]!
  const page = device.pages[p]!
  if (want > 0 && page.leases.some(hasMore)) return undefined
  const spent = page.leases.filter((each) => !hasMore(each))
  const request: Exchange = {
    page: page.id,
    id: `${page.id}:${newId()}`,
    want,
    notes: [...page.outbox, ...spent.map(noteOf)],
    cuts: page.cuts ?? [],
    takeBack: page.offers.map((offer) => offer.id),
    offer: want === 0,
  }
  const asking = withPage(spend(system, 'exchanges'), d, p, (before) => ({
    ...before,
    outbox: [],
    cuts: undefined,
    offers: [],
    leases: before.leases.filter((each) => !spent.includes(each)),
  }))
  const asked = exchanged(asking, d, p, request)
  const { leases } = asked.devices[d]!.pages[p]!.asked!
  const told = [...request.notes, ...request.cuts, ...device.notes]
  const isForNothing = want > 0 && leases.length + told.length === 0
  return isForNothing ? undefined : asked
}

/** The answer was lost with a worker: the page asks the next one the same. */
export function askAgain(system: System, d: number, p: number): System | undefined {
  const { stored, pages } = system.devices[d]!
  const { asked } = pages[p]!
  if (!asked || system.left.workerDeaths === 0) return undefined
  const after = exchanged(spend(system, 'workerDeaths'), d, p, asked.request)
  const { leases } = after.devices[d]!.pages[p]!.asked!
  // Leases that were written off since are gone: then the page is leased others.
  const isLeased = stored.leases.some(({ id }) => asked.leases.some((each) => each.id === id))
  return isLeased && leases.length > asked.leases.length
    ? { ...after, problem: 'A page that asked the same again was leased more.' }
    : after
}

function exchanged(system: System, d: number, p: number, request: Exchange): System {
  const { stored, notes } = system.devices[d]!
  const settled = settle(stored, notes)
  const { state, leases, offers } = exchange(settled, request, settled.reserve ?? RESERVE)
  const asked = { request, leases, offers }
  const after = withPage(system, d, p, (page) => ({ ...page, asked }))
  return withDevice(after, d, (device) => ({ ...device, stored: state, notes: [] }))
}

export function hear(system: System, d: number, p: number): System {
  return withPage(system, d, p, ({ asked, ...page }) => ({
    ...page,
    leases: [...page.leases, ...asked!.leases.map((each) => ({ ...each, next: each.range.from }))],
    offers: [...page.offers, ...asked!.offers],
  }))
}

export function park(system: System, d: number, p: number): System | undefined {
  const page = system.devices[d]!.pages[p]!
  if (page.leases.length === 0 && !page.asked) return undefined
  return withPage(system, d, p, (before) => ({
    ...before,
    leases: [],
    cuts: undefined,
    asked: undefined,
    outbox: [...before.outbox, ...before.leases.map(noteOf), ...cancelled(before)],
  }))
}

/** The page gives its last number up, and goes on with the others of that lease. */
export function cut(system: System, d: number, p: number): System | undefined {
  const lease = system.devices[d]!.pages[p]!.leases.at(-1)
  if (!lease || system.left.cuts === 0) return undefined
  const to = lease.range.to - 1
  if (!hasMore(lease) || to < lease.range.from) return undefined
  return withPage(spend(system, 'cuts'), d, p, (page) => ({
    ...page,
    leases: page.leases.with(-1, { ...lease, range: { ...lease.range, to } }),
    cuts: [...(page.cuts ?? []), { lease: lease.id, to }],
  }))
}

/** The page gives its offers back, leaves a note of the rest, and is gone or in the cache. */
export function exit(
  system: System,
  d: number,
  p: number,
  kept: (typeof NOTES)[number],
  isCached: boolean,
): System | undefined {
  if (system.left.exits === 0) return undefined
  const page = system.devices[d]!.pages[p]!
  const isKept = kept !== LOST
  if (!isKept && system.left.losses === 0) return undefined
  const sends = page.offers.length > 0
  if (sends && system.left.giveBacks === 0) return undefined
  const notes: Note[] = [
    ...page.outbox,
    ...page.leases.map(noteOf),
    ...cancelled(page),
    ...page.offers.map(({ id, range: { from } }) => ({
      lease: id,
      next: from,
      givenBack: true as const,
    })),
  ]
  if (kept !== IN_BOTH && notes.length === 0) return undefined
  let after = spend(system, 'exits')
  if (sends) after = spend(after, 'giveBacks')
  if (!isKept) after = spend(after, 'losses')
  const sent = page.offers.map(
    ({ range: { from, to, token } }): Message => ({
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
  return withPage(after, d, p, ({ id }) => ({
    id,
    leases: [],
    offers: [],
    outbox: notes,
    isFrozen: true,
  }))
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

const hasMore = ({ next, range: { to } }: Page['leases'][number]): boolean => next <= to
