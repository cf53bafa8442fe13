/**
 * How many ids a page holds: when it fetches how many, when it is dry, and how many it gives up.
 * All of it is decided here, without I/O; the page's shell asks and acts. A decision can waste or
 * save numbers; it never changes a number's owner.
 */
import type { Failure } from '../../core/errors.js'
import type { Exchange } from '../state.js'

/** At rest a page holds at most this many unissued ids, which a crash may waste (H3). */
// guard: H3 a page at rest holds few
export const PAGE_AT_REST = 16

/**
 * Under load a page looks ahead, to this many times the ids that it issued in the last second (H3).
 */
// guard: H3 a busy page holds four times its pace at most
const LOOK_AHEAD = 4

/**
 * `unused`: nobody has asked for ids here, or the page was released or closed since. `stocked`: it
 * holds all that it wants; with fewer than `low` it fetches the next lease. `dry`: the last fetch
 * brought too few. `fetching`: it asks its device, and becomes `next` when that ends; `again`: a
 * caller came meanwhile, so the page asks once more. `isIdle`: nobody asked for an id, so released
 * numbers stay released.
 */
export type Mode =
  | { is: 'unused' | 'stocked' | 'dry'; low: number }
  | { is: 'fetching'; low: 0; next: 'again' | 'stocked' | 'dry' | 'unused'; isIdle: boolean }

export const UNUSED: Mode = { is: 'unused', low: 0 }

/** A page asks its device for numbers that are stored, or for numbers of the server. */
export type Call = 'exchange' | 'claim'

/** The facts that the decisions depend on. */
export interface PageNeeds {
  /** Unissued numbers of the page. */
  held: number
  /** How many numbers the callers want that wait. */
  called: number
  /** How many ids the page issued in the last second. */
  perSecond: number
  /** How many numbers of `warm` are not issued yet. */
  warmed: number
  /** A hidden page may be killed without notice (H4). */
  isVisible: boolean
}

/**
 * How many ids a page should hold if nobody waits: as many as it issued in the last second, or as
 * many as `warm` asked for. A hidden page holds no others, unless it makes one id after another: a
 * transaction for each id would be too slow.
 */
export function needed({ isVisible, perSecond, warmed }: PageNeeds): number {
  if (isVisible) return Math.max(PAGE_AT_REST, perSecond, warmed)
  return Math.max(perSecond > PAGE_AT_REST ? perSecond : 0, warmed)
}

/**
 * How many ids a page may hold while the device has plenty (H3). For a hidden page, one id is no
 * load yet: most often it is the only one.
 */
export function limit({ isVisible, perSecond, warmed }: PageNeeds): number {
  if (isVisible) return Math.max(PAGE_AT_REST, LOOK_AHEAD * perSecond, warmed)
  return Math.max(perSecond > 1 ? LOOK_AHEAD * perSecond : 0, warmed)
}

/** How many numbers the page asks its device for, and how many more to look ahead. */
export function wish(
  needs: PageNeeds,
  mode: Mode,
): Required<Pick<Exchange, 'want' | 'ahead' | 'isIdle'>> | undefined {
  if (!lacksNumbers(needs)) return undefined
  const { held, called } = needs
  const want = Math.max(0, wanted(needs) - held)
  const ahead = Math.max(0, limit(needs) - held - want)
  return { want, ahead, isIdle: mode.is === 'fetching' && mode.isIdle && called === 0 }
}

/**
 * The device has answered, and did not bring enough if the page lacks numbers still. It then asks
 * its device again while that has free numbers, or while the page has offers, which the next
 * exchange takes back. Otherwise the server is asked; if no caller waits, once, and not one that
 * has just failed.
 * @param atHand free numbers of the device, and offers of the page
 * @param last the step that the page has just made
 */
export function nextCall(
  needs: PageNeeds,
  atHand: number,
  failure: Failure | undefined,
  last: Call,
): Call | undefined {
  const isWaitedFor = needs.called > 0 || needs.held === 0
  const isEnough = !isWaitedFor && (failure !== undefined || last === 'claim')
  if (isEnough || !lacksNumbers(needs)) return undefined
  return atHand > 0 ? 'exchange' : 'claim'
}

/**
 * The device or another page reported something, and callers wait.
 * @param before why the last claim had failed until now
 * @param canServe enough is free for one of the callers
 */
export function heard(
  mode: Mode,
  before: Failure | undefined,
  failure: Failure | undefined,
  canServe: boolean,
): 'fetch' | 'refuse' | undefined {
  if (canServe || (before && !failure)) return 'fetch'
  // guard: H25 callers that wait hear that a repetition was refused
  return failure && !failure.isRepeated && mode.is !== 'fetching' ? 'refuse' : undefined
}

/**
 * Down to how many numbers the page parks when another page of its device has none left. Its own
 * pace counts for nothing then.
 */
export const spared = (mode: Mode, needs: PageNeeds): number =>
  (isDry(mode) ? needed : wanted)(needs)

/**
 * A second has passed since the page was busy, hidden or asked: does it park the numbers above its
 * limit, and set surplus aside?
 */
export function parksAtRest(mode: Mode, needs: PageNeeds, hasSurplus: boolean): boolean {
  const isUnasked = mode.is !== 'fetching' || needs.called === 0
  // guard: H3 what callers left that wait no more is parked, also during a claim
  return isUnasked && (needs.held > limit(needs) || hasSurplus)
}

/**
 * Does it look again after another second, because it holds more than it needs at rest, or is busy
 * in the background?
 * @param most its limit before it parked
 */
// guard: H29 a page at rest sets no timer
export const looksAgain = (atRest: PageNeeds, most: number): boolean =>
  atRest.held > needed(atRest) || (!atRest.isVisible && most > 0)

/** Somebody asks for ids: a caller, or a page that runs low or is seen again. */
export const asked = (isIdle: boolean): Mode => ({ is: 'fetching', low: 0, next: 'again', isIdle })

/** The fetch begins. @returns undefined when nothing is left to fetch */
export const nextFetch = (mode: Mode): Mode | undefined =>
  mode.is === 'fetching' && mode.next === 'again' ? { ...mode, next: 'stocked' } : undefined

/** No more numbers come now. Calls that came since the fetch began are not forgotten. */
export function failed(mode: Mode): Mode {
  if (mode.is === 'stocked') return { ...mode, is: 'dry' }
  return mode.is === 'fetching' && mode.next === 'stocked' ? { ...mode, next: 'dry' } : mode
}

/** The fetch is over. With less than half of what it needs, the page fetches again. */
export function ended(mode: Mode, needs: PageNeeds): Mode {
  const is = becoming(mode)
  if (is !== 'stocked' && is !== 'dry') return UNUSED
  return { is, low: Math.min(needed(needs), needs.held) >> 1 }
}

/** The page is hidden or goes: it fetches nothing in advance until somebody asks. */
export const hidden = (mode: Mode): Mode => ({ ...mode, low: 0 })

/** The page is released or closed: nothing is fetched any more, because a lease would be a gap. */
export const released = (mode: Mode): Mode =>
  mode.is === 'fetching' ? { ...mode, next: 'unused' } : UNUSED

/** Asked for every number, so it makes no object. */
export const isLow = (mode: Mode, held: number): boolean => held < mode.low

export const isUsed = (mode: Mode): boolean => becoming(mode) !== 'unused'

/** Has the page too few numbers for its callers, and no more come? */
export const isDry = (mode: Mode): boolean => becoming(mode) === 'dry'

const becoming = (mode: Mode): Mode['is'] | 'again' =>
  mode.is === 'fetching' ? mode.next : mode.is

/** How many numbers this page should hold now: for its callers, and to look ahead. */
const wanted = (needs: PageNeeds): number => Math.max(needs.called, needed(needs))

/** Without waiting callers, the page fetches only when less than half of its ids is left. */
const lacksNumbers = (needs: PageNeeds): boolean =>
  needs.held < (needs.called > 0 ? wanted(needs) : needed(needs) >> 1)
