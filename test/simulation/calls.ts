/**
 * What an app may expect of every call, besides ids that nobody else has: the call settles. If the
 * page has enough numbers, the call succeeds at once. If it fails, its error tells the truth.
 */
import { HiloError } from '../../src/core/errors.js'
import type { Page } from './device.js'
import type { Simulation } from './simulation.js'

export interface Call {
  what: string
  tag: string
  count: number
  at: number
}

/** What a proxy answers when its server is down: no server has refused anything. */
const DOWN = [502, 503, 504]
/** Errors that do not mean that there are too few numbers. */
const OTHER_REASONS = ['timeout', 'aborted', 'closed', 'storage-failed', 'invalid-argument']
/** Longer than a worker hangs, and after it the longest pause between two claims. */
const PATIENCE_MS = 150_000
/**
 * A page measures its pace over up to two seconds, and checks again a second later. An exchange
 * takes some time, too.
 */
const RECENT_MS = 3_500
/** A device waits so long for the answer to a request. */
const ANSWER_MS = 10_000
const AT_REST = 16
/** Under load a page holds the numbers of this many seconds. */
const AHEAD = 4
/** A hidden page may hold one number: the one that `ready` has just waited for. */
const HIDDEN_AT_REST = 1

/** A call was made. If its page holds enough ids for it, the call gets them in the same turn. */
export function begin({ scheduler, checker }: Simulation, page: Page, call: Call): void {
  const { what, tag, count } = call
  const isTaker = what === 'nextId' || what === 'nextIds'
  const isNext = [...page.calls].every((other) => other.tag !== tag || other.what === 'warm')
  const isAtHand = isTaker && isNext && page.hilo.status(tag).leased >= count
  page.calls.add(call)
  if (!isAtHand) return
  scheduler.afterThis(() => {
    if (page.calls.has(call))
      checker.complain(`${page.name}: ${what} ${count} ${tag} waits, and its page holds enough`)
  })
}

export function failed(simulation: Simulation, page: Page, call: Call, error: HiloError): void {
  const { checker } = simulation
  const { what, tag, count } = call
  const wrong = (why: string) => checker.complain(`${page.name}: ${what} ${count} ${tag} ${why}`)
  for (let each: unknown = error; each instanceof HiloError; each = each.cause)
    if (each.code === 'server-refused' && DOWN.includes(each.status ?? 0))
      wrong(`takes a server that is down (${each.status}) for one that refuses`)
  if (count === 0 && error.code === 'storage-failed' && error.retryAfter)
    wrong('gives up because the storage hung once')
  if (OTHER_REASONS.includes(error.code) || count === 0) return
  const { leased } = page.hilo.status(tag)
  if (leased >= count) wrong(`fails with ${error.code}, but its page holds ${leased}`)
  if (what === 'warm' && leased > unissued(simulation, page, tag))
    wrong(`has failed, and its page keeps ${leased}`)
}

/**
 * All faults have ended. So each call that still waits settles by itself. One exception: a database
 * that was restored grants nothing until its operator has raised the floors.
 */
export async function settleAll(simulation: Simulation): Promise<void> {
  const { scheduler, checker, devices, profile } = simulation
  for (const device of devices)
    for (const page of device.pages)
      if (page.isAlive && page.isSwitchedOff) page.run('goOnline', () => page.goOnline())
  await scheduler.runUntil(scheduler.now + PATIENCE_MS)
  if (profile.hasRestore) return
  for (const { pages } of devices)
    for (const { isAlive, calls, name } of pages)
      for (const { what, tag, at } of isAlive ? calls : [])
        checker.complain(`${name}: ${what} ${tag} of ${at} ms never settled`)
}

/**
 * How many numbers a page may hold: those of a page at rest, four times what it issued lately, or
 * what it was asked for, with the number that `ready` waits for. The largest counts. What it wanted
 * when its device sent a request, it may get when that has ended.
 */
export function unissued({ scheduler, askedAt }: Simulation, page: Page, tag: string): number {
  const recent = scheduler.awake - RECENT_MS
  const asked = askedAt.get(page.device.name) ?? Number.NEGATIVE_INFINITY
  const since = asked + ANSWER_MS < recent ? recent : Math.min(recent, asked - RECENT_MS)
  const sum = (times: { until: number; count: number }[] = []) =>
    times.reduce((all, { until, count }) => (until >= since ? all + count : all), 0)
  const atRest = page.state === 'visible' ? AT_REST : HIDDEN_AT_REST
  return Math.max(
    atRest,
    AHEAD * sum(page.issues.get(tag)),
    HIDDEN_AT_REST + sum(page.wishes.get(tag)),
  )
}
