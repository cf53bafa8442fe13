/**
 * Compares a device's state before and after, and lists the events of its numbers. Pure. Where
 * several steps lie between the two, it reports each: a number that is leased now and was not there
 * before was claimed, then leased.
 */
import { type Numbers, size, total } from '../core/range.js'
import { type HeldSegment, heldSegments } from './segments.js'
import type { DeviceState } from './state.js'

/** The things that can happen to numbers. */
export type ActivityKind =
  /** The server has granted them to this device. */
  | 'claim'
  /** They were set aside for a page. */
  | 'lease'
  /** A page has said that the app has used them. */
  | 'issue'
  /** A page does not need them: they are free on the device again. */
  | 'park'
  /** They exceed the reserve: the page may give them back when it goes. */
  | 'offer'
  /** Numbers that were offered or sent back stay here after all. */
  | 'take-back'
  /** They were sent back to the server, or the server has confirmed that. */
  | 'give-back'
  /** Their grant tokens were swapped for new ones. */
  | 'check-in'
  /** They were dropped: this storage is a copy of one that went on elsewhere. */
  | 'fork'
  /** They were dropped: the server has dropped their collection. */
  | 'drop'
  /** Nobody will issue them: their page was killed, or they were lost on the way to the server. */
  | 'gap'

/** One step on the way of some numbers. */
export interface Step {
  /** The kind of step. */
  kind: ActivityKind
  /** Lowest first. */
  numbers: Numbers[]
  /** The page instance that had, has or gets them, if one does. */
  page?: string
  /** Why, in one plain sentence. */
  reason: string
}

/** @param reserve the target in force where the state has none of its own */
export function stepsBetween(before: DeviceState, after: DeviceState, reserve: number): Step[] {
  const steps = new Map<string, Step>()
  const add = (
    kind: ActivityKind,
    reason: string,
    { from, to, prefix, serverTag }: Numbers,
    page?: string,
  ) => {
    const key = [kind, page, reason].join()
    const step = steps.get(key) ?? { kind, numbers: [], ...(page && { page }), reason }
    const last = step.numbers.at(-1)
    if (last && last.to + 1 === from && last.prefix === prefix && last.serverTag === serverTag)
      last.to = to
    else step.numbers.push({ from, to, prefix, serverTag })
    steps.set(key, step)
  }
  const target = after.reserve ?? reserve
  const grown = (gap: keyof DeviceState['gaps']) => (after.gaps[gap] ?? 0) - (before.gaps[gap] ?? 0)
  const isChecked = after.checkedIn !== before.checkedIn
  const dead = writtenOff(before, after, grown('crash'))

  const leave = (numbers: Numbers, was: HeldSegment) => {
    const isIssued = was.kind === 'leased' || (was.kind === 'granted' && !isChecked)
    if (dead.has(keyOf(was))) add('gap', 'Their page was killed.', numbers, was.page)
    else if (grown('ledger') > 0)
      add('gap', 'Another ledger has taken the place of the one that granted them.', numbers)
    else if (grown('fork') > 0)
      add('fork', 'This storage is a copy of one that went on elsewhere.', numbers)
    else if (grown('drop') > 0) add('drop', 'The server has dropped their collection.', numbers)
    else if (isIssued && numbers.to <= after.issued) {
      if (was.kind === 'granted') add('lease', WANTED, numbers)
      add('issue', 'The app has used them.', numbers, was.page)
    } else if (!isIssued && grown('giveBack') > 0)
      add('gap', 'Nobody can tell whether the server got them.', numbers)
    else if (was.kind === 'given-back' || isChecked)
      add('give-back', 'The server has confirmed it.', numbers)
    else add('give-back', SENT, numbers, was.page)
  }
  const depart = (numbers: Numbers, was: HeldSegment | undefined, is: HeldSegment) => {
    if (!was || (was.kind === 'given-back' && !isChecked))
      add('claim', reasonToClaim(total(before.ranges), target), numbers)
    else if (was.kind === 'given-back')
      add('take-back', 'A check-in found that the server never got them.', numbers)
    else if (is.kind !== 'given-back') {
      if (was.kind === 'leased')
        add(
          'park',
          'The page does not need them: it is at rest, hidden or gone.',
          numbers,
          was.page,
        )
      if (was.kind === 'offered')
        add('take-back', 'The page did not send them; they are free again.', numbers, was.page)
    }
  }
  const arrive = (numbers: Numbers, is: HeldSegment, page = is.page) => {
    if (is.kind === 'leased') add('lease', WANTED, numbers, page)
    if (is.kind === 'offered')
      add(
        'offer',
        `They exceed the reserve of ${target}; the page may give them back when it goes.`,
        numbers,
        page,
      )
    if (is.kind === 'given-back') add('give-back', SENT, numbers, page)
  }

  for (const { numbers, was, is } of moves(before, after)) {
    if (was && is && isChecked && was.token !== is.token)
      add('check-in', 'Their grant tokens were swapped for new ones.', numbers)
    if (was?.kind === is?.kind && was?.page === is?.page) continue
    if (is) {
      depart(numbers, was, is)
      arrive(numbers, is, is.page || was?.page)
    } else leave(numbers, was!)
  }
  return [...steps.values()].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))
}

/** The order in which one number goes through them. */
const ORDER: ActivityKind[] = [
  'check-in',
  'fork',
  'drop',
  'claim',
  'gap',
  'park',
  'take-back',
  'lease',
  'issue',
  'offer',
  'give-back',
]
const WANTED = 'The page ran low.'
const SENT = 'Sent back to the server: the page closed, or the app released them.'

function reasonToClaim(free: number, reserve: number): string {
  if (free === 0) return 'No free number was left on this device.'
  return free < reserve / 2
    ? `Only ${free} free numbers were left, less than half of the reserve of ${reserve}.`
    : `The app asked for more than the ${free} free numbers; the reserve is ${reserve}.`
}

const keyOf = ({ from, prefix, serverTag }: Numbers): string => [from, prefix, serverTag].join()

/**
 * The leases that make up `count` crashed numbers. Only leases that are gone whole count, and those
 * of pages that hold nothing any more come first.
 */
function writtenOff(before: DeviceState, after: DeviceState, count: number): Set<string> {
  const now = heldSegments(after)
  const isAlive = ({ page }: HeldSegment) => now.some((each) => each.page === page)
  const lost = heldSegments(before).filter(
    (lease) => lease.kind === 'leased' && !now.some((each) => holds(each, lease)),
  )
  const dead = new Set<string>()
  for (const lease of lost.sort((a, b) => Number(isAlive(a)) - Number(isAlive(b)))) {
    if (size(lease) > count) continue
    count -= size(lease)
    dead.add(keyOf(lease))
  }
  return dead
}

/** Has `segment` the first number of `numbers`? */
const holds = (segment: Numbers, { from, prefix, serverTag }: Numbers): boolean =>
  segment.from <= from &&
  from <= segment.to &&
  segment.prefix === prefix &&
  segment.serverTag === serverTag

interface Move {
  numbers: Numbers
  was: HeldSegment | undefined
  is: HeldSegment | undefined
}

/**
 * Every number of the two states, in pieces that have one holder before and one after; lowest first
 * within a prefix and server tag.
 */
function moves(before: DeviceState, after: DeviceState): Move[] {
  const [old, now] = [heldSegments(before), heldSegments(after)]
  const series = new Map(
    [...old, ...now].map(({ prefix, serverTag }) => [
      JSON.stringify([prefix, serverTag]),
      { prefix, serverTag },
    ]),
  )
  return [...series.values()].flatMap((one) => {
    const isOfSeries = (each: Numbers) =>
      each.prefix === one.prefix && each.serverTag === one.serverTag
    const all = [...old, ...now].filter(isOfSeries)
    const cuts = [
      ...new Set([after.issued + 1, ...all.flatMap(({ from, to }) => [from, to + 1])]),
    ].sort((a, b) => a - b)
    return cuts.slice(0, -1).flatMap((from, i): Move[] => {
      const numbers = { ...one, from, to: cuts[i + 1]! - 1 }
      const was = old.find((each) => holds(each, numbers))
      const is = now.find((each) => holds(each, numbers))
      return was || is ? [{ numbers, was, is }] : []
    })
  })
}
