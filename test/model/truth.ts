/**
 * What a server has to make of the tokens that it is shown: found copies, and proofs that it is an
 * older copy of itself. The explorer knows the truth, and so it can tell when the server does not.
 */
import type { CheckInResult, ClaimOutcome } from '../../server/src/ledger/ledger.js'
import { TOKENS } from './server.js'
import { merged, numbersBetween, type System } from './state.js'

/** The system after a server was shown tokens, with what is wrong about what it made of them. */
export function withShown(
  before: System,
  after: System,
  shown: readonly { token: string }[],
  results: readonly CheckInResult[],
): System {
  const found = shown.flatMap(({ token }, i) =>
    results[i] === 'superseded' ? numbersOfGrant(before, token) : [],
  )
  const { truth } = after
  const known =
    found.length === 0 ? truth : { ...truth, foundCopied: merged(truth.foundCopied, found) }
  const isSpentRenewed = shown.some(
    ({ token }, i) => truth.spent.includes(token) && typeof results[i] === 'object',
  )
  const isAnyRenewed = results.some((result) => typeof result === 'object')
  const isCopy = shown.some(({ token }, i) => results[i] === 'superseded' && isOld(before, token))
  const problem = isSpentRenewed
    ? 'A token was renewed after all of its grant was issued.'
    : isCopy && isAnyRenewed
      ? 'A copy that was found keeps numbers of its other grants.'
      : problemOfMark(before, after, shown)
  return { ...after, truth: known, problem }
}

/** Has another check-in replaced this token before? */
function isOld({ server }: System, token: string): boolean {
  const { id, tokenVersion } = TOKENS.read(token, server.database.database)!
  return [...server.grants, ...server.tombstones].some(
    (each) => each.id === id && each.tokenVersion > tokenVersion,
  )
}

/** A device has said that all numbers of these tokens are issued. An old token says nothing. */
export function withSpent(before: System, after: System, spent: readonly string[]): System {
  const { truth } = after
  const more = spent.filter((token) => !truth.spent.includes(token) && isNewest(before, token))
  if (more.length === 0) return after
  return { ...after, truth: { ...truth, spent: [...truth.spent, ...more] } }
}

/** Does the server still accept give-backs under this token? */
export function isNewest({ server }: Pick<System, 'server'>, token: string): boolean {
  const { id, tokenVersion } = TOKENS.read(token, server.database.database)!
  return [...server.grants, ...server.tombstones].some(
    (each) => each.id === id && each.tokenVersion === tokenVersion,
  )
}

function problemOfMark(
  before: System,
  after: System,
  shown: readonly { token: string }[],
): string | undefined {
  const { isRestored } = after.server.database
  if (isRestored && !before.truth.wasRestored)
    return 'A server that was never restored is taken for an older copy of itself.'
  if (before.truth.isRaised)
    return isRestored && !before.server.database.isRestored
      ? 'A token of before the floors were raised has stopped the database.'
      : undefined
  if (isRestored || !shown.some(({ token }) => isLost(before, token))) return undefined
  return 'A restored server was shown a token that it cannot know, and goes on.'
}

/** Did the server make this token before it was restored, and not know it any more? */
function isLost({ server, truth }: System, token: string): boolean {
  const { id, tokenVersion, serial } = TOKENS.read(token, server.database.database)!
  const grant = [...server.grants, ...server.tombstones].find((each) => each.id === id)
  if (grant) return grant.tokenVersion < tokenVersion
  // A limit that is documented: the grant that took its place is forgotten, so nothing contradicts.
  const isInPlace = server.grants.some((each) => each.serial === serial)
  return truth.lostGrants.includes(id) && (isInPlace || serial > server.collection.serial)
}

/** What is wrong about a grant. */
export function problemOfGrant(
  before: System,
  { server, truth }: System,
  outcome: ClaimOutcome,
  { id: claim, lastMax }: { id: string | undefined; lastMax: number },
): string | undefined {
  if ('refused' in outcome) return undefined
  const { low, high } = outcome.grant
  if (before.server.database.isRestored) return 'A server granted that was known to be restored.'
  if (outcome.isRepeat) {
    const known = before.server.grants.find((grant) => grant.claim === claim)!
    const isInUse = known.tokenVersion > 0 || known.high !== known.firstHigh
    return isInUse ? `${low}–${high} was granted again, though it is in use.` : undefined
  }
  if (low <= before.server.collection.floor || low <= server.database.floor)
    return `${low} was granted, below the floor.`
  if (lastMax > before.server.collection.highWater && low <= lastMax)
    return `${low} was granted to a device that has seen more than this server ever granted.`
  const copied = numbersBetween(low, high).find((number) => truth.foundCopied.includes(number))
  return copied === undefined ? undefined : `${copied} was granted, though a copy may have it.`
}

/** But for those that others were granted before the copy was found. */
function numbersOfGrant({ server }: System, token: string): number[] {
  const { id } = TOKENS.read(token, server.database.database)!
  const grant = server.grants.find((each) => each.id === id)
  if (!grant) return []
  const others = server.grants.filter((each) => each !== grant)
  return numbersBetween(grant.low, grant.firstHigh).filter(
    (number) => !others.some(({ low, high }) => low <= number && number <= high),
  )
}
