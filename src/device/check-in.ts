/**
 * Check-in: the device shows its grant tokens, the server swaps each for a new one. Pure
 * transitions. Guarantees that an offer of unknown fate comes back only once no request under its
 * old token can take it away (H12), and that a copy of this device's storage stops using its ranges
 * once the other copy has gone on with them (H13). Ranges that the server has dropped are dropped
 * here.
 */
import { insertAll, type Range, size, total } from '../core/range.js'
import { type CheckInAnswer, type CheckInRequest, MOST_TOKENS } from '../core/wire.js'
import type { DeviceState } from './state.js'

/** A page that is reloaded again and again does not check in more often than this. */
const REST_MS = 60_000
/** While ids are made, the server hears of it this often. */
const REPORT_MS = 10_000

/** Less than `ms` ago, by a clock that may jump either way. */
const isWithin = (at: number | undefined, date: number, ms: number): boolean =>
  // guard: H19 a clock that is set back stops no check-in
  at !== undefined && date >= at && date - at < ms

/**
 * Is there something to ask: a request without an answer, a give-back of unknown fate, numbers that
 * were leased since the last check-in, or tokens that have not been shown for a while?
 * @param date the device's clock; it paces, and decides nothing (H19)
 */
export function isCheckInDue(state: DeviceState, date: number): boolean {
  if (state.isApart) return false
  const isFateUnknown = state.offers.some((offer) => offer.isSent && offer.range.token)
  return (
    state.checkIn !== undefined ||
    state.stopped !== undefined ||
    isFateUnknown ||
    reportIn(state, date) === 0 ||
    (state.grants.length > 0 && !isWithin(state.checkedIn, date, REST_MS))
  )
}

/**
 * In how many milliseconds the server should hear that numbers were leased. Undefined: it has, or
 * nothing has a token that could tell a copy.
 */
export function reportIn(
  { unheard, checkedIn, isApart }: DeviceState,
  date: number,
): number | undefined {
  if (!unheard || isApart) return undefined
  return isWithin(checkedIn, date, REPORT_MS) ? checkedIn! + REPORT_MS - date : 0
}

/**
 * Does a device that starts have to ask the server whether it is a copy? It asks before it leases
 * stored ranges, or those of a claim under way. It need not where the server has answered in this
 * run before, and that answer is the stored one: nobody has put an older storage in its place
 * since. No clock can tell that (H19).
 * @param known the last check-in that was answered before the page's reload
 */
export function asksFirst(state: DeviceState, known?: string, ownClaim?: string): boolean {
  if (state.isApart) return false
  const held = everything(state)
  // guard: H32 what the first claim of an earlier session brings is asked for, too
  if (held.length === 0) return state.claim !== undefined && state.claim.id !== ownClaim
  // guard: H32 a device that starts asks first
  const isKnown = known !== undefined && state.answered === known
  return !isKnown && held.some(({ token }) => token !== undefined)
}

/**
 * Does a claim of an earlier session go before the check-in of a start? One that shows a token
 * does, because no check-in runs beside it. So does one of a device that holds nothing, because the
 * check-in is to show the new tokens. Any other one waits. The device's ranges are leased sooner
 * then. And the check-in reports the numbers that a closed page sent back before the server grants
 * them again.
 */
export const claimsFirst = (state: DeviceState): boolean =>
  state.claim !== undefined && (state.claim.shown !== undefined || everything(state).length === 0)

/**
 * Notes that a page leased numbers which an older copy of this storage has as free, under the same
 * token: the next request has to replace that token. Numbers that are leased in the step that
 * stores their token are in no older copy.
 */
export function withUse(before: DeviceState, after: DeviceState): DeviceState {
  if (after.leases === before.leases) return after
  const known = new Set(before.leases.map(({ id }) => id))
  const free = new Set([...before.ranges, ...before.offers.map(({ range }) => range)].map(tokenOf))
  const used = after.leases
    .filter(({ id, range }) => !known.has(id) && free.has(range.token))
    .flatMap(({ range }) => range.token ?? [])
  // guard: H32 use is noted in the step that leases
  return used.length > 0 ? { ...after, ...unheardOf([...(after.unheard ?? []), ...used]) } : after
}

/** None are not stored. */
export const unheardOf = (tokens: readonly string[]): Pick<DeviceState, 'unheard'> =>
  tokens.length > 0 ? { unheard: [...new Set(tokens)] } : {}

const tokenOf = ({ token }: Range): string | undefined => token

/**
 * A request was begun that shows these tokens: an older copy of this storage that holds them free
 * will be found. A token of which nothing is held may be in no older copy, and tells nothing of
 * use.
 */
export function withoutUse(state: DeviceState, shown: CheckInRequest['grants']): DeviceState {
  const held = new Set(everything(state).map(tokenOf))
  return heardOf(
    state,
    shown.flatMap(({ token }) => (held.has(token) ? token : [])),
  )
}

/** The server has heard of the use of these, or there is nothing to hear any more. */
export function heardOf(state: DeviceState, tokens: readonly string[]): DeviceState {
  const { unheard = [], ...rest } = state
  return { ...rest, ...unheardOf(unheard.filter((token) => !tokens.includes(token))) }
}

/**
 * The request to send, stored before it is sent: the pending one, or a new one. Undefined when
 * nothing held has a token, or when a claim that shows a token is under way (`isLater`): to the
 * server, two requests with one token would look like two copies.
 */
export function beginCheckIn(
  state: DeviceState,
  id: string,
): { state: DeviceState; request?: CheckInRequest; isLater?: true } {
  if (state.checkIn) return { state, request: state.checkIn }
  // guard: H35 a storage in memory shows no token
  if (state.isApart) return { state }
  if (state.claim?.shown) return { state, isLater: true }
  const next = new Map<string, number>()
  for (const { token, from } of everything(state))
    if (token) next.set(token, Math.min(from, next.get(token) ?? from))
  const { unheard = [] } = state
  // guard: H32 what was used is told first
  const spent = [...unheard, ...state.grants].filter((token) => !next.has(token))
  const [told, untold] = splitOff([...new Set(spent)])
  const [shown] = splitOff([
    ...new Set([...unheard.filter((token) => next.has(token)), ...next.keys()]),
  ])
  // Between two ledgers the question is whether one follows the other (H34).
  if (next.size + told.length === 0 && !state.stopped) return { state }
  const request = {
    id,
    // The next check-in shows the others, and tells which others are spent.
    grants: shown.map((token) => ({ token, next: next.get(token)! })),
    spent: told,
    ...(state.ledgers && { ledgers: state.ledgers }),
  }
  const begun = { ...state, grants: [...untold, ...next.keys()], checkIn: request }
  return { state: heardOf(begun, [...shown, ...told]), request }
}

/** As many as a request takes, and the rest. */
const splitOff = (tokens: readonly string[]): [string[], string[]] => [
  tokens.slice(0, MOST_TOKENS),
  tokens.slice(MOST_TOKENS),
]

/**
 * Applies the answer: once, however many tabs saw it.
 * @param date of the answer. Undefined: an earlier session began the check-in, so a copy may get
 * the same answer
 */
export function applyCheckIn(
  state: DeviceState,
  id: string,
  answer: CheckInAnswer,
  date: number | undefined,
): DeviceState {
  if (state.checkIn?.id !== id) return state
  const { checkIn, ...rest } = state
  // guard: H32 the answer to a repetition does not say that this device is no copy
  const asked = date === undefined ? rest : { ...rest, checkedIn: date, answered: id }
  return applyResults(asked, checkIn.grants, answer.grants, dropForked)
}

/**
 * The token that a claim shows: the newest one of numbers that are held, or the newest one. One
 * token is enough to tell two copies of a device apart. Undefined while a check-in is under way.
 */
export function tokenToShow(state: DeviceState): CheckInRequest['grants'] | undefined {
  const token = newestHeld(state) ?? state.grants.at(-1)
  // guard: H35 a claim of a storage in memory shows no token
  if (token === undefined || state.checkIn || state.isApart) return undefined
  const held = everything(state).filter((range) => range.token === token)
  const next = held.length > 0 ? Math.min(...held.map(({ from }) => from)) : state.issued + 1
  return [{ token, next }]
}

function newestHeld(state: DeviceState): string | undefined {
  const held = new Set(everything(state).map(tokenOf))
  return state.grants.findLast((token) => held.has(token))
}

/**
 * Applies, once, the server's answer about the token that a pending claim has shown. If that token
 * is superseded, this device is a copy. The other tokens were not shown yet, so this drops all
 * ranges with a token.
 */
export function applyShown(
  state: DeviceState,
  claimId: string,
  results: CheckInAnswer['grants'] = [],
): DeviceState {
  if (state.claim?.id !== claimId || !state.claim.shown) return state
  const { shown, ...claim } = state.claim
  return applyResults({ ...state, claim }, shown, results, (forked) =>
    [...new Set(everything(forked).flatMap(({ token }) => token ?? []))].reduce(dropForked, forked),
  )
}

function applyResults(
  state: DeviceState,
  shown: CheckInRequest['grants'],
  results: CheckInAnswer['grants'],
  drop: (state: DeviceState, token: string) => DeviceState,
): DeviceState {
  return shown.reduce((applied, { token }, i) => {
    const result = results[i]
    if (!result || 'unknown' in result) return applied
    if ('dropped' in result) return dropGrant(applied, token, 'drop')
    // guard: H13 a copy drops its ranges
    return 'superseded' in result
      ? drop(applied, token)
      : renew(applied, token, result.token, result.high)
  }, state)
}

/** Of free numbers, leases and offers, also of those that were sent. */
export const everything = ({ ranges, leases, offers }: DeviceState): Range[] => [
  ...ranges,
  ...leases.map(({ range }) => range),
  ...offers.map(({ range }) => range),
]

/** Up to `high` the numbers are still ours, offers included; above it a give-back has arrived. */
function renew(state: DeviceState, token: string, newToken: string, high: number): DeviceState {
  const renewed = (range: Range): Range => ({
    ...range,
    token: newToken,
    // guard: H12 what a give-back has taken does not come back
    to: Math.min(range.to, high),
  })
  const swapped = (other: string) => (other === token ? newToken : other)
  const isOurs = (range: Range) => range.token === token
  const back = state.offers.filter(({ range }) => isOurs(range)).map(({ range }) => renewed(range))
  const free = state.ranges.map((range) => (isOurs(range) ? renewed(range) : range))
  return {
    ...state,
    ranges: insertAll(free, back),
    leases: state.leases.flatMap((lease) => {
      if (!isOurs(lease.range)) return lease
      const range = renewed(lease.range)
      return size(range) > 0 ? { ...lease, range } : []
    }),
    offers: state.offers.filter(({ range }) => !isOurs(range)),
    grants: state.grants.map(swapped),
    ...unheardOf((state.unheard ?? []).map(swapped)),
  }
}

const dropForked = (state: DeviceState, token: string): DeviceState =>
  dropGrant(state, token, 'fork')

/** Nothing of the grant is ours any more, as if all of it had been given back. */
function dropGrant(state: DeviceState, token: string, cause: 'fork' | 'drop'): DeviceState {
  const held = [...state.ranges, ...state.leases.map(({ range }) => range)]
  const dropped = held.filter((range) => range.token === token)
  const left = {
    ...renew(state, token, token, -1),
    issued: Math.max(state.issued, ...dropped.map((range) => range.to)),
    grants: state.grants.filter((other) => other !== token),
    gaps: { ...state.gaps, [cause]: state.gaps[cause] + total(dropped) },
  }
  return heardOf(left, [token])
}
