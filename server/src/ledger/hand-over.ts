/**
 * How a series of a lost device goes to another one, because a person says so. Pure. Guarantees
 * that the other device goes on above every number that the ledger has heard of, and that the token
 * of the lost one, and of its copies, is void.
 */
import { databaseIn, isRestored, isUnlisted, type LedgerContext } from './core.js'
import type { TokenContent } from './grant-token.js'
import {
  joined,
  MOST_PERIODS,
  markedAs,
  othersOf,
  periodsOf,
  rangeName,
  rangeNamed,
  storedPeriods,
  withOthers,
} from './heard.js'
import type {
  HandOver,
  HandOverRefusal,
  PastHandOver,
  Series,
  SeriesCheckIn,
  SeriesClaim,
  SeriesHandOver,
  SeriesMark,
  SeriesOutcome,
  SeriesPeriod,
  SeriesRange,
  StatedPeriod,
} from './ledger.js'
import type { Rows, StepResult } from './row-store.js'
import type { SeriesRow, StoredHandOver } from './rows.js'
import { withNextToken } from './shown-tokens.js'

/**
 * More check-ins than any device makes: only a hand-over raises a token by so much. A ledger that
 * was restored has forgotten some, and takes each of its tokens otherwise for a newer one.
 */
const TOKENS_SKIPPED = 1e9
/** More than all hand-overs that a restored ledger may have forgotten. */
const TOKENS_OF_RESTORE = 1e12

/** Ends a series where no person has. */
export const SERVER = 'the server'
/** Which has a series by a hand-over that the ledger has forgotten. */
const OTHER = 'another device'
const FORGOTTEN =
  'a restore had forgotten that a person handed the series over, and perhaps both devices made ' +
  'numbers since: compare their documents'

/**
 * @param rows with the open series of the device that gets it
 * @param id of the grant of the series that is handed over
 */
export function handOver(
  rows: Rows,
  id: string,
  request: SeriesHandOver,
): StepResult<SeriesRow | HandOverRefusal> {
  const refuse = (answer: HandOverRefusal) => ({ answer, changes: {} })
  const row = rows.series.get(id)
  const grant = rows.grants.get(id)
  if (!row || !grant) return refuse({ refused: 'missing' })
  // It would be void once the floors are raised: the other device would wait for it in vain.
  if (isRestored(rows, row.database)) return refuse({ refused: 'restored' })
  const { to, by, reason, at, last, otherPeriods, dryRun } = request
  const { restores } = databaseIn(rows, row.database)
  if (isDone(row, request, restores)) return { answer: row, changes: {} }
  // A new device may have the name of the lost one.
  const isTaken = handOversOf(row).at(-1)?.claim !== undefined
  const holds = [...rows.series.values()].find(
    (each) => (each !== row || isTaken) && each.device === to && each.closedAt === null,
  )
  // guard: H28 who got a series handed over does not lose it by the same command
  if (holds) return refuse({ refused: 'holder', letter: holds.name })
  // guard: H28 what a copy or a lost device told counts as heard
  const mark = markAfter(withOthers(row), request, row.toldAfter !== restores)
  if ('refused' in mark) return refuse(mark)
  // guard: H28 a hand-over ends tokens that a restored ledger has forgotten
  const tokenVersion = Math.max(grant.tokenVersion, restores * TOKENS_OF_RESTORE) + TOKENS_SKIPPED
  const before = handOversOf(row)
  const newest = before.at(-1)
  // A device that never got it has made nothing.
  const from = newest && !newest.claim ? newest.from : row.device
  const { period, last: made } = mark
  const own = joined(periodsOf(row), mark.stated)
  const done: StoredHandOver = {
    ...{ from, to, by, reason, at, heard: row.last, period, last, made, tokenVersion, restores },
    holder: { tokenVersion: grant.tokenVersion, checkIn: grant.checkIn },
    numbers: numbersAfter(before, newest?.claim ? own : mark.periods),
    others: newest?.claim ? othersOf(row) : [],
    ...(otherPeriods && { otherPeriods }),
    ...withKnown(row),
  }
  const changed: SeriesRow = {
    ...row,
    device: to,
    last: mark.last,
    // The other device begins a chain and a register of its own.
    link: null,
    register: null,
    closedAt: null,
    closedBy: null,
    reason: null,
    periods: storedPeriods(mark.periods, mark.last),
    toldByOthers: '[]',
    toldAfter: restores,
    handOvers: JSON.stringify([...before, done]),
  }
  if (dryRun) return { answer: changed, changes: {} }
  return {
    answer: changed,
    // guard: H28 a hand-over ends the token of the lost device
    changes: { grants: [{ ...grant, tokenVersion, checkIn: null }], series: [changed] },
  }
}

/**
 * The series when a device shows by its token that a person had handed it over, which a restored
 * ledger has forgotten. Nobody knows whether the device that had it before was heard since, nor
 * what was stated: the series ends for both.
 */
export function withForgotten(
  row: SeriesRow,
  grant: Pick<TokenContent, 'tokenVersion'>,
  shown: Pick<TokenContent, 'tokenVersion'>,
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
  })
}

/** What the ledger knows of two devices which it cannot tell apart. */
type Two = Pick<StoredHandOver, 'reason' | 'heard' | 'made' | 'tokenVersion' | 'restores' | 'at'>

/** The series is closed, and has gone to nobody that is known. */
export function endedForBoth(row: SeriesRow, two: Two): SeriesRow {
  const { reason, at } = two
  const done: StoredHandOver = {
    ...two,
    ...{ from: row.device, to: OTHER, by: SERVER, period: '', last: 0 },
    numbers: numbersAfter(handOversOf(row), periodsOf(row)),
    others: othersOf(row),
    claim: { id: '', by: null },
    ...withKnown(row),
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

/** The rest of a series when another device goes on with it. */
function withKnown({
  link,
  register,
  closedAt: at,
  closedBy: by,
  reason,
}: SeriesRow): Pick<StoredHandOver, 'link' | 'register' | 'closed'> {
  return {
    ...(link !== null && { link: JSON.parse(link) }),
    ...(register !== null && { register: JSON.parse(register) }),
    ...(at !== null && { closed: { at, by: by!, reason: reason! } }),
  }
}

/** Those of `periods` that no device made which had the series before. */
function numbersAfter(
  before: readonly StoredHandOver[],
  periods: readonly SeriesPeriod[],
): SeriesPeriod[] {
  const made = joined(
    [],
    before.flatMap(({ numbers, others }) => [...numbers, ...others]),
  )
  return periods.flatMap(({ period, first, last }) => {
    const known = made.find((each) => each.period === period)
    const from = Math.max(first, (known?.last ?? 0) + 1)
    return from <= last ? [{ period, first: from, last }] : []
  })
}

/**
 * The device that made a number, of which was heard.
 * @returns undefined: nobody knows which of those that had the series
 */
export function makerOf(row: SeriesRow, { period }: SeriesPeriod, number: number) {
  const isIn = (each: SeriesPeriod) =>
    each.period === period && each.first <= number && number <= each.last
  const done = handOversOf(row)
  const before = done.find(({ numbers }) => numbers.some(isIn))
  if (before) return before.from
  return done.some(({ others }) => others.some(isIn)) ? undefined : row.device
}

/** Was exactly this done? The request may have been repeated. */
function isDone(
  row: SeriesRow,
  { to, last, period = '', otherPeriods }: SeriesHandOver,
  restores: number,
): boolean {
  const done = handOversOf(row).at(-1)
  return (
    done?.to === to &&
    row.closedAt === null &&
    done.restores === restores &&
    done.last === last &&
    done.period === period &&
    JSON.stringify(done.otherPeriods) === JSON.stringify(otherPeriods) &&
    (done.claim !== undefined || (done.made === row.last && row.toldByOthers === '[]'))
  )
}

/** How far a series has come, when a person is right. */
interface StatedMark extends SeriesMark {
  period: string
  /** Of each period that the person has named. */
  stated: readonly SeriesPeriod[]
}

/**
 * @param row with all that was heard of
 * @param isUntold the device may have made more numbers, of which a restored ledger has forgotten
 */
function markAfter(
  row: SeriesRow,
  { last, period: asked, newPeriod = false, otherPeriods }: SeriesHandOver,
  isUntold: boolean,
): StatedMark | HandOverRefusal {
  // guard: H28 a hand-over is of a period that is known, or that a person calls new
  const period = statedPeriod(row, asked, newPeriod)
  if (period === undefined) return { refused: 'periods', known: namesIn(row) }
  const others = otherPeriods?.map((each) => each.period)
  const missing = namesLeftOut(row, [period, ...(others ?? [])])
  const isAll = missing.length === 0 && (others !== undefined || period === '')
  // guard: H28 what a restored ledger has forgotten is told, or stated, before a series goes on
  if (isUntold && !isAll) return { refused: 'untold', missing }
  const mark: StatedMark = { last: row.last, period, periods: periodsOf(row), stated: [] }
  const done = [...(otherPeriods ?? []), { period, last }].reduce<StatedMark | HandOverRefusal>(
    (before, each) => ('refused' in before ? before : withStated(row, before, each)),
    mark,
  )
  if ('refused' in done) return done
  // A copy of the lost device may have told of numbers that it made.
  const least = Math.max(row.last, row.doubtfulTo ?? 0)
  // guard: H28 a hand-over begins above numbers in doubt
  if (done.last < least) return { refused: 'heard', period, least: last + least - done.last }
  return done
}

function withStated(
  row: SeriesRow,
  { periods, stated, ...before }: StatedMark,
  { period, last }: StatedPeriod,
): StatedMark | HandOverRefusal {
  // A number of a period that is forgotten would be made again.
  if (periods.length >= MOST_PERIODS) return { refused: 'crowded' }
  const known = periods.find((each) => each.period === period)
  const range =
    rangesOf(row).find((each) => rangeName(each) === period) ?? (known && rangeNamed(known))
  if (range && (last < range.from || range.to < last))
    return { refused: 'outside', from: range.from, to: range.to, period, last }
  const { from } = rangeNamed({ period, first: last, last }) ?? { from: 1 }
  const first = known?.first ?? Math.min(from, last)
  const heard = known?.last ?? Math.max(0, first - 1)
  // guard: H28 a hand-over begins above all that was heard
  if (last < heard) return { refused: 'heard', period, least: heard }
  const mark = { period, first, last }
  return {
    ...before,
    last: before.last + last - heard,
    periods: joined(periods, [mark]),
    stated: [...stated, mark],
  }
}

/** Periods that may have numbers after those that were heard of, besides these. */
const namesLeftOut = (row: SeriesRow, stated: readonly string[]): string[] =>
  periodsOf(row)
    .filter((each) => !each.closed && rangeNamed(each)?.to !== each.last)
    .map(({ period }) => period)
    .filter((period) => !stated.includes(period))

/** Periods of which numbers were heard, and ranges that were given. */
const namesIn = (row: SeriesRow): string[] => [
  ...new Set([...periodsOf(row).map(({ period }) => period), ...rangesOf(row).map(rangeName)]),
]

/**
 * The period of which a person speaks. Undefined: that may be a mistake, and the other device would
 * begin at 1, where its own numbers have another period.
 */
function statedPeriod(
  row: SeriesRow,
  period: string | undefined,
  isNew: boolean,
): string | undefined {
  const heard = periodsOf(row).map((each) => each.period)
  const names = namesIn(row)
  const isPlain = heard.length > 0 && heard.every((each) => each === '')
  if (period === undefined) return isPlain && names.length === 1 ? '' : undefined
  const isStated = names.includes(period)
    ? !(isNew && heard.includes(period))
    : period === ''
      ? names.length === 0
      : isNew && !isPlain
  return isStated ? period : undefined
}

export const handOversOf = ({ handOvers }: SeriesRow): StoredHandOver[] => JSON.parse(handOvers)

/**
 * The first hand-over after a token was written: it ended the token. A person did not speak of the
 * numbers of a device that got the series by one that a restore has forgotten: the device that had
 * it before may have made the same ones.
 */
export function handOverOf(row: SeriesRow, token: TokenContent): StoredHandOver | undefined {
  const done = handOversOf(row).find((each) => token.tokenVersion < each.tokenVersion)
  if (!done || !isOfForgotten(done, token)) return done
  // guard: H28 what a till made after a forgotten hand-over is in doubt, whatever a person states
  const nothing = { period: '', last: 0, made: done.heard, otherPeriods: undefined }
  return { ...done, ...nothing, by: SERVER, reason: FORGOTTEN }
}

/** Was a token written after a hand-over that the ledger had forgotten when it did this one? */
const isOfForgotten = ({ holder }: StoredHandOver, token: TokenContent): boolean =>
  holder !== undefined && handOversIn(holder) !== handOversIn(token)

/**
 * The series when a device that has lost it shows its token.
 * @param id of the check-in
 * @returns undefined: a copy of this device was heard, before the hand-over or since
 */
export function withHolder(
  row: SeriesRow,
  done: StoredHandOver,
  token: TokenContent,
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

/**
 * Is this series for that claim? Also if the claim is repeated.
 * @param ended the token of the series that the device has ended
 */
export function isFor(
  row: SeriesRow,
  { id, device, name }: SeriesClaim,
  ended: TokenContent | undefined,
): boolean {
  const done = handOversOf(row)
  if (done.some(({ claim }) => claim?.id === id)) return true
  const newest = done.at(-1)
  // guard: H28 who had a series does not get it handed over
  if (!newest || newest.claim || row.closedAt !== null || ended?.id === row.grant) return false
  return device === newest.to && (name === undefined || name === row.name)
}

/** @returns undefined as the answer: the series is not for that claim any more */
export function takeOver(
  rows: Rows,
  claim: SeriesClaim,
  ended: TokenContent | undefined,
  { tokens, name: ledger }: Pick<LedgerContext, 'tokens' | 'name'>,
): StepResult<SeriesOutcome | undefined> {
  const [stored] = rows.series.values()
  const grant = stored && rows.grants.get(stored.grant)
  if (!stored || !grant || !isFor(stored, claim, ended)) return { answer: undefined, changes: {} }
  // guard: H28 who goes on with a series begins above what the lost device told before
  const row = withOthers(stored)
  const answered = (replaced: typeof grant, isRepeat: boolean): SeriesOutcome => ({
    ordinal: row.ordinal,
    name: row.name,
    token: tokens.write(replaced),
    ledger,
    isRepeat,
    after: { last: row.last, periods: periodsOf(row) },
    ...markedAs(row),
    ...givenTo(row),
  })
  const refuse = (refused: 'restored' | 'spent') => ({
    answer: { refused, max: row.ordinal },
    changes: {},
  })
  if (isRestored(rows, row.database)) return refuse('restored')
  const { restores } = databaseIn(rows, row.database)
  const { id, by = null, at } = claim
  const done = handOversOf(row)
  const newest = done.at(-1)!
  if (newest.claim?.id === id && newest.claim.by === by && grant.checkIn === id)
    return { answer: answered(grant, true), changes: {} }
  if (done.some((each) => each.claim?.id === id)) return refuse('spent')
  if (isUnlisted(rows, row.database)) return { answer: { refused: 'unlisted' }, changes: {} }
  // guard: H28 a hand-over from before a restore is given to nobody
  if (newest.restores !== restores) return { answer: undefined, changes: {} }
  const replaced = { ...grant, tokenVersion: grant.tokenVersion + 1, checkIn: id }
  const before = done.slice(0, -1)
  const numbers = numbersAfter(before, periodsOf(row))
  const taken = [...before, { ...newest, numbers, claim: { id, by } }]
  const changed: SeriesRow = { ...row, seenAt: at, handOvers: JSON.stringify(taken) }
  return { answer: answered(replaced, false), changes: { grants: [replaced], series: [changed] } }
}

export function toSeries(row: SeriesRow): Series {
  const { database, collection, name: letter, device, last, registeredAt, seenAt } = row
  const { doubtfulFrom: from, doubtfulTo: to } = row
  const { link, register, closed } = withKnown(row)
  const handOvers = handOversOf(row).map(toHandOver)
  const newest = handOvers.at(-1)
  return {
    ...{ database, collection, letter, device, last, registeredAt, seenAt },
    periods: JSON.parse(row.periods),
    doubtful: from === null ? undefined : { from, to: to! },
    ...{ link, register, closed },
    handedOver: newest && { ...statedOf(newest), isTaken: newest.isTaken },
    handOvers,
    ranges: rangesOf(row),
  }
}

const toHandOver = ({ claim, ...done }: StoredHandOver): PastHandOver => {
  const { numbers, link, register, closed } = done
  return { ...statedOf(done), isTaken: claim !== undefined, numbers, link, register, closed }
}

/** The statement of a person. */
export function statedOf(done: HandOver): HandOver {
  const { from, to, period, last, otherPeriods, heard, by, reason, at } = done
  return { from, to, period, last, heard, by, reason, at, ...(otherPeriods && { otherPeriods }) }
}

export const rangesOf = ({ ranges }: SeriesRow): SeriesRange[] => JSON.parse(ranges)

/** For an answer to the device. */
export const givenTo = (row: SeriesRow): { ranges?: SeriesRange[] } =>
  row.ranges === '[]' ? {} : { ranges: rangesOf(row) }
