/**
 * How series are given out and checked in. Pure. A series is a number of the collection that counts
 * the letters, granted to one device: claims, grant tokens and forks are those of every grant.
 * Guarantees that no letter is given to two devices.
 */
import { toLetter, toPlace } from '../../../src/core/series-letters.js'
import { grantClaims } from './claim.js'
import { keyText, lettersOf, seriesKey } from './collections.js'
import { databaseIn, type LedgerContext, provenBy } from './core.js'
import { withSecond, withSecondOfLost, withShown } from './first-shown.js'
import type { TokenContent } from './grant-token.js'
import { markedAs, markOf, withTold, withToldByOther } from './heard.js'
import type {
  ClaimRequest,
  OtherLedger,
  Series,
  SeriesCheckIn,
  SeriesClaim,
  SeriesLink,
  SeriesOutcome,
  SeriesResult,
} from './ledger.js'
import {
  handOverOf,
  SERVER,
  seriesToken,
  takenByOf,
  withForgotten,
  withHolder,
  withLost,
} from './lost-device.js'
import { otherLedger } from './name.js'
import { MAX_NUMBER } from './number-line.js'
import type { NewGrant } from './overlap.js'
import type { Rows, StepResult } from './row-store.js'
import type { SeriesRow } from './rows.js'
import { givenTo, statedOf } from './series-row.js'
import { isDropped } from './shown-tokens.js'

/** The claim of a series, as a claim to the collection that counts the letters. */
export const letterClaim = (claim: SeriesClaim): ClaimRequest => ({
  ...lettersOf(claim),
  id: claim.id,
  by: claim.by,
  count: 1,
  // The device has had this letter, or a person lists it: a restored ledger gives no lower one.
  lastMax: toPlace(claim.ended?.letter ?? claim.name ?? ''),
  serverTag: '',
  at: claim.at,
})

/** Letters have no server tag: a series of another ledger is one under any node's name. */
export const otherOf = (
  rows: Rows,
  { database, ledger, serverTag = '' }: Pick<SeriesClaim, 'database' | 'ledger' | 'serverTag'>,
  name: string,
): OtherLedger | undefined =>
  otherLedger(
    ledger === undefined ? undefined : { [serverTag]: ledger },
    serverTag,
    name,
    database,
    databaseIn(rows, database).follows,
  )

/**
 * @param full the database (`full`) or the token of access (`many`) has as many as are allowed
 */
export function claimSeries(
  rows: Rows,
  claim: SeriesClaim,
  full: 'full' | 'many' | false,
  context: LedgerContext,
): StepResult<SeriesOutcome> {
  const letters = keyText(lettersOf(claim))
  const known = rows.claimed.get(letters)?.get(claim.id)
  // guard: H28 a name is one device's for ever
  if (rows.seriesNamed && rows.seriesNamed.grant !== known?.id)
    return { answer: { refused: 'taken' }, changes: {} }
  // guard: H26 a token has few series
  if (full === 'many' && !known) return { answer: { refused: 'many' }, changes: {} }
  if (full === 'full' && !known)
    return {
      answer: { refused: 'full', max: rows.collections.get(letters)?.max ?? 0 },
      changes: {},
    }
  const granted = grantClaims(rows, [letterClaim(claim)], new Map(), undefined, context)
  const outcome = granted.answer[0]!
  if ('refused' in outcome) return { answer: outcome, changes: granted.changes }
  const { database, collection, device, at } = claim
  const [grant] = granted.changes.newGrants ?? []
  const series: SeriesRow[] = []
  const ordinal = outcome.grant.low
  const name = (known && rows.series.get(known.id)?.name) ?? claim.name ?? toLetter(ordinal)
  if (grant)
    series.push({
      grant: grant.id,
      database,
      collection,
      ordinal,
      name,
      // guard: H28 names that differ only in upper and lower case are one
      nameKey: seriesKey(name),
      device,
      last: 0,
      periods: '[]',
      toldByOthers: '[]',
      toldAfter: databaseIn(rows, database).restores,
      firstShown: '[]',
      registeredAt: at,
      seenAt: at,
      closedAt: null,
      closedBy: null,
      reason: null,
      doubtfulFrom: null,
      doubtfulTo: null,
      link: null,
      register: null,
      handOvers: '[]',
      ranges: '[]',
    })
  return {
    answer: {
      ordinal,
      name,
      token: outcome.grant.token,
      ledger: context.name,
      isRepeat: outcome.isRepeat,
    },
    changes: { ...granted.changes, newGrants: grant ? [withoutHorizon(grant)] : [], series },
  }
}

export function checkInSeries(
  rows: Rows,
  request: Omit<SeriesCheckIn, 'token'>,
  read: TokenContent | undefined,
  { tokens, bound }: Pick<LedgerContext, 'tokens' | 'bound'>,
): StepResult<SeriesResult> {
  if (!read) return { answer: 'unknown', changes: {} }
  const { database, id, at } = request
  const grant = rows.grants.get(read.id)
  const stored = rows.series.get(read.id)
  const databases = provenBy(rows, [{ database, shown: [{ token: read }] }], bound)
  const isGone = !grant || isDropped(rows, database, read)
  if (isGone || stored?.database !== database) return { answer: 'unknown', changes: { databases } }
  const { restores } = databaseIn(rows, database)
  const token = seriesToken(stored, read, restores)
  // guard: H28 two devices that a restored ledger took for one go on with nothing
  const row = withForgotten(stored, grant, token, { restores, at })
  const shown = withShown(row, grant, token, request, restores)
  const ofSeries = { database, collection: row.collection, letter: row.name }
  // guard: H28 a copy of a device does not go on with its series
  if (!shown) {
    // guard: H28 two copies that a restored ledger cannot tell apart go on with nothing
    const second = withSecond(row, grant, token, request)
    const found = second?.row ?? row
    const handedOver = handOverOf(found, token)
    const heard = withToldByOther(found, request, handedOver?.heard ?? row.last)
    if (!handedOver) {
      const changes = heard === row ? {} : { series: [heard] }
      return { answer: { superseded: true, last: row.last }, changes }
    }
    const done = statedOf(handedOver)
    const lost = withLost(heard, handedOver, request)
    const held = withHolder(lost, handedOver, token, id)
    // guard: H28 two that a restored ledger cannot tell apart do not hide behind a hand-over
    const late = held ? undefined : withSecondOfLost(lost, done, token, request)
    // guard: H28 a copy of a lost device does not hide behind the hand-over
    const told = held ? { handedOver: done } : late && { handedOver: late.handedOver }
    return {
      answer: { superseded: true, last: done.heard, ...told, ...(second && { ended: ofSeries }) },
      changes: { ...(second && { grants: [second.grant] }), series: [held ?? late?.row ?? lost] },
    }
  }
  const isBehind = request.mark !== markOf(row)
  const told: SeriesRow = {
    ...withTold(shown.row, request),
    seenAt: Math.max(row.seenAt, at),
    // guard: H28 a device that knows more than a restored ledger has yet to tell it
    toldAfter: isBehind ? row.toldAfter : restores,
  }
  // guard: H28 a device that has changed what the server heard of makes no number
  const seen =
    shown.isNew && isRewritten(row, request.heard) ? rewritten(told) : withLinks(told, request)
  const { closedAt, closedBy, reason } = seen
  return {
    answer: {
      token: tokens.write({ ...shown.grant, ...takenByOf(row) }),
      ...givenTo(row),
      ...markedAs(seen),
      // guard: H40 a ledger that went back hears of the periods again
      ...(request.mark !== undefined && isBehind && { again: true }),
      ...(closedAt !== null && { closed: { at: closedAt, by: closedBy!, reason: reason! } }),
      ...(reason !== stored.reason && { ended: ofSeries }),
    },
    changes: { grants: [shown.grant], series: [seen], databases },
  }
}

/**
 * Has the device stored another record than the ledger heard of? Only the holder of its token
 * tells.
 */
function isRewritten({ link }: SeriesRow, heard: SeriesCheckIn['heard']): boolean {
  if (link === null) return false
  const { last, hash }: NonNullable<Series['link']> = JSON.parse(link)
  // A ledger that was restored has heard of less.
  const isLater = heard !== undefined && heard.last > last
  return !isLater && (heard?.last !== last || heard.link?.hash !== hash)
}

/** The series is closed, unless a person has closed it before. */
function rewritten(row: SeriesRow): SeriesRow {
  if (row.closedAt !== null) return row
  const { last }: NonNullable<Series['link']> = JSON.parse(row.link!)
  const reason =
    `What the device has stored of its number ${last} is not what the server has heard of it: ` +
    'records were changed on the device, or have gone'
  return { ...row, closedAt: row.seenAt, closedBy: SERVER, reason }
}

function withLinks(
  row: SeriesRow,
  { link, last, register }: Pick<SeriesCheckIn, 'link' | 'last' | 'register'>,
): SeriesRow {
  // A later reader finds what was heard before the series was closed.
  if (row.closedAt !== null) return row
  const { at = 0 }: Partial<SeriesLink> = JSON.parse(row.register ?? '{}')
  // guard: H40 a register whose end was cut off does not hide what was heard of it
  const isNewest = register !== undefined && register.at > at
  return {
    ...row,
    ...(link && { link: JSON.stringify({ last, at: link.at, hash: link.hash }) }),
    ...(isNewest && { register: JSON.stringify({ at: register.at, hash: register.hash }) }),
  }
}

/** The register of series is kept for good, however long nothing is heard of a device. */
const withoutHorizon = (grant: NewGrant): NewGrant => ({ ...grant, heardAt: MAX_NUMBER })

/**
 * A claim tells of the series that its device has ended: the numbers that another device may have
 * made, too, are in doubt.
 * @param token of that series
 */
export function withEnded(
  rows: Rows,
  { database, ended, at }: SeriesClaim,
  token: TokenContent,
  { bound }: Pick<LedgerContext, 'bound'>,
): StepResult<undefined> {
  const { from, to } = ended!
  const row = rows.series.get(token.id)
  // guard: H20 the token of an ended series proves an older copy, too
  const databases = provenBy(rows, [{ database, shown: [{ token }] }], bound)
  if (row?.database !== database || to < from) return { answer: undefined, changes: { databases } }
  const doubted: SeriesRow = {
    ...row,
    seenAt: Math.max(row.seenAt, at),
    doubtfulFrom: Math.min(row.doubtfulFrom ?? from, from),
    doubtfulTo: Math.max(row.doubtfulTo ?? to, to),
  }
  return { answer: undefined, changes: { databases, series: [doubted] } }
}
