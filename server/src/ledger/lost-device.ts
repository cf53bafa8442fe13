/**
 * What becomes of the tokens of devices that had a series before a hand-over, and of the numbers
 * that they made. Pure. Guarantees that numbers which two devices may have made are in doubt.
 */
import type { TokenContent } from './grant-token.js'
import { othersOf, periodsOf } from './heard.js'
import type { SeriesCheckIn } from './ledger.js'
import type { SeriesRow, StoredHandOver } from './rows.js'
import { handOversOf, numbersAfter, restOf } from './series-row.js'
import { withNextToken } from './shown-tokens.js'

/**
 * More check-ins than any device makes: only a hand-over raises a token by so much. A ledger that
 * was restored has forgotten some, and takes each of its tokens otherwise for a newer one.
 */
export const TOKENS_SKIPPED = 1e9
/** More than all hand-overs that a restored ledger may have forgotten. */
export const TOKENS_OF_RESTORE = 1e12

/** Ends a series where no person has. */
export const SERVER = 'the server'
/** Which has a series by a hand-over that the ledger has forgotten. */
const OTHER = 'another device'
const FORGOTTEN =
  'a restore had forgotten that a person handed the series over, and perhaps both devices made ' +
  'numbers since: compare their documents'

/**
 * The series when a device shows by its token that a person had handed it over, which a restored
 * ledger has forgotten. Nobody knows whether the device that had it before was heard since, nor
 * what was stated: the series ends for both.
 */
export function withForgotten(
  row: SeriesRow,
  grant: Pick<TokenContent, 'tokenVersion'>,
  shown: Pick<TokenContent, 'tokenVersion' | 'takenBy'>,
  { restores, at }: Pick<StoredHandOver, 'restores' | 'at'>,
): SeriesRow {
  const after = handOversIn(shown)
  if (after <= handOversIn(grant)) return row
  const tokenVersion = after * TOKENS_SKIPPED
  return endedForBoth(row, {
    reason: FORGOTTEN,
    heard: 0,
    made: row.last,
    tokenVersion,
    restores,
    at,
    claim: { id: shown.takenBy ?? '', by: null },
  })
}

/** What the ledger knows of two devices which it cannot tell apart. */
type Two = Pick<
  StoredHandOver,
  'reason' | 'heard' | 'made' | 'tokenVersion' | 'restores' | 'at' | 'claim'
>

/** The series is closed, and has gone to nobody that is known. */
export function endedForBoth(row: SeriesRow, two: Two): SeriesRow {
  const { reason, at } = two
  const done: StoredHandOver = {
    ...two,
    ...{ from: row.device, to: OTHER, by: SERVER, period: '', last: 0 },
    numbers: numbersAfter(handOversOf(row), periodsOf(row)),
    others: othersOf(row),
    ...restOf(row),
  }
  return {
    ...row,
    device: OTHER,
    link: null,
    register: null,
    toldAfter: -1,
    handOvers: JSON.stringify([...handOversOf(row), done]),
    closedAt: at,
    closedBy: SERVER,
    reason,
  }
}

/** Above each token that was written since the last hand-over. */
export const nextHandOver = (grant: Pick<TokenContent, 'tokenVersion'>): number =>
  (handOversIn(grant) + 1) * TOKENS_SKIPPED

const handOversIn = ({ tokenVersion }: Pick<TokenContent, 'tokenVersion'>): number =>
  Math.floor(tokenVersion / TOKENS_SKIPPED)

/** A token of a series, and whether this ledger handed the series to its device. */
export interface SeriesToken extends TokenContent {
  /** A ledger did that was restored from the same backup, and this one has another in its place. */
  isOfOther: boolean
}

/** @param restores of the database */
export function seriesToken(row: SeriesRow, token: TokenContent, restores: number): SeriesToken {
  const done = handOversOf(row).find((each) => handOversIn(each) === handOversIn(token))
  const { claim } = done ?? {}
  // Who took what the backup has as not taken yet did so before the restore.
  const isOurs = claim ? partOf(claim) === (token.takenBy ?? '') : done?.restores !== restores
  // guard: H28 of two tills that got a series after restores of one backup, one goes on
  return { ...token, isOfOther: !isOurs }
}

/** What the token of a series says of the claim by which its device got the series. */
export const takenByOf = (row: SeriesRow): Pick<TokenContent, 'takenBy'> => {
  const claim = handOversOf(row).at(-1)?.claim
  return { takenBy: claim && partOf(claim) }
}

const partOf = ({ id }: NonNullable<StoredHandOver['claim']>): string => id.slice(0, 24)

/**
 * The first hand-over after a token was written: it ended the token. A person did not speak of the
 * numbers of a device that got the series by one that a restore has forgotten: the device that had
 * it before may have made the same ones.
 */
export function handOverOf(row: SeriesRow, token: SeriesToken): StoredHandOver | undefined {
  const ends = (each: StoredHandOver) => token.isOfOther && handOversIn(each) === handOversIn(token)
  const done = handOversOf(row).find((each) => token.tokenVersion < each.tokenVersion || ends(each))
  if (!done || !isOfForgotten(done, token)) return done
  // guard: H28 what a till made after a forgotten hand-over is in doubt, whatever a person states
  const nothing = { period: '', last: 0, made: done.heard, otherPeriods: undefined }
  return { ...done, ...nothing, by: SERVER, reason: FORGOTTEN }
}

/** Was a token written after a hand-over that the ledger had forgotten when it did this one? */
const isOfForgotten = ({ holder }: StoredHandOver, token: SeriesToken): boolean =>
  holder !== undefined && (token.isOfOther || handOversIn(holder) !== handOversIn(token))

/**
 * The series when a device that has lost it shows its token.
 * @param id of the check-in
 * @returns undefined: a copy of this device was heard, before the hand-over or since
 */
export function withHolder(
  row: SeriesRow,
  done: StoredHandOver,
  token: SeriesToken,
  id: string,
): SeriesRow | undefined {
  const { holder } = done
  // A device that got the series by a hand-over which a restore has forgotten is no copy.
  if (!holder || isOfForgotten(done, token)) return row
  // A ledger that was restored before has forgotten check-ins.
  const known = { ...holder, tokenVersion: Math.max(holder.tokenVersion, token.tokenVersion) }
  const replaced = withNextToken(known, token, id)
  if (!replaced) return undefined
  const handOvers = handOversOf(row).map((each) =>
    each.tokenVersion === done.tokenVersion ? { ...each, holder: replaced } : each,
  )
  return { ...row, handOvers: JSON.stringify(handOvers) }
}

/** @param told the last numbers of a device that has lost the series */
export function withLost(
  row: SeriesRow,
  { heard, made, period, otherPeriods = [] }: StoredHandOver,
  { last, periods = [] }: Pick<SeriesCheckIn, 'last' | 'periods'>,
): SeriesRow {
  const stated = [period, ...otherPeriods.map((each) => each.period)]
  // The device's numbers of another period are not among those of which the person spoke.
  const isStated = periods.every((each) => stated.includes(each.period))
  const from = (isStated ? made : heard) + 1
  if (last < from) return row
  return {
    ...row,
    doubtfulFrom: Math.min(row.doubtfulFrom ?? from, from),
    doubtfulTo: Math.max(row.doubtfulTo ?? last, last),
  }
}
