/**
 * A restored ledger has forgotten tokens of a series, so it takes whichever of a device and its
 * copies comes first for its device. Pure. Guarantees that only one of them makes numbers, or that
 * the series ends for both.
 */
import type { HandOver, SeriesCheckIn } from './ledger.js'
import { endedForBoth, handOverOf, nextHandOver, SERVER, type SeriesToken } from './lost-device.js'
import type { FirstShown, GrantRow, SeriesRow } from './rows.js'
import { withNextToken } from './shown-tokens.js'

/** More than the check-ins of a device that any restored ledger has forgotten. */
const TOKENS_FORGOTTEN = 1e6

/** In one row, which is written at each check-in. */
const MOST_RESTORES = 20

const TWO =
  'the server was restored from a backup, and cannot tell which of two copies of this device ' +
  'went on before, so perhaps both made the same numbers: compare their documents'

const firstsOf = ({ firstShown }: SeriesRow): FirstShown[] => JSON.parse(firstShown)

/** A series and its grant. */
interface Shown {
  row: SeriesRow
  grant: GrantRow
}

/**
 * The series when its device shows its token, with the next token in `grant`.
 * @param restores of the database
 * @returns `isNew`: this request did not come before. Undefined: the token is superseded
 */
export function withShown(
  row: SeriesRow,
  grant: GrantRow,
  token: SeriesToken,
  { id, heard }: Pick<SeriesCheckIn, 'id' | 'heard'>,
  restores: number,
): (Shown & { isNew: boolean }) | undefined {
  if (token.isOfOther) return undefined
  const firsts = firstsOf(row)
  const first = firsts.at(-1)
  const { tokenVersion } = token
  if (first?.tokenVersion === tokenVersion && grant.checkIn === id)
    return { row, grant, isNew: false }
  // A ledger that was restored knows an older token of the same grant, and the device goes on.
  const known = { ...grant, tokenVersion: Math.max(grant.tokenVersion, tokenVersion) }
  const replaced = withNextToken(known, token, id)
  if (replaced === known) return { row, grant: known, isNew: false }
  // Nobody may have raised the floors: a token that is newer than its grant's tells, too.
  const isFirst = restores !== (first?.restores ?? 0) || tokenVersion > grant.tokenVersion
  if (replaced && !isFirst) return { row, grant: replaced, isNew: true }
  // The one that came first has made no number since.
  const before = replaced || handOverOf(row, token) ? undefined : newerThan(row, token)
  if (!replaced && !(before && row.last <= before.heard)) return undefined
  // guard: H28 a token from before a restore is none that was written since
  const next = before?.next ?? tokenVersion + TOKENS_FORGOTTEN
  const shown: FirstShown = { restores, tokenVersion, next, heard: heard?.last ?? 0 }
  const others = firsts.filter((each) => each.next !== next)
  const written = before ? grant.tokenVersion + 1 : next
  return {
    row: { ...row, firstShown: JSON.stringify([...others, shown].slice(-MOST_RESTORES)) },
    grant: { ...grant, tokenVersion: written, checkIn: id },
    isNew: true,
  }
}

/**
 * The series when a device shows a token that was replaced, but which the device that came first
 * after the restore did not have yet. The numbers of both are the same only as far as that one had
 * been heard of.
 * @returns undefined: this is a copy as any other
 */
export function withSecond(
  row: SeriesRow,
  grant: GrantRow,
  token: SeriesToken,
  { last, at }: Pick<SeriesCheckIn, 'last' | 'at'>,
): Shown | undefined {
  const first = handOverOf(row, token) ? undefined : newerThan(row, token)
  if (!first) return undefined
  const { heard, restores } = first
  const tokenVersion = nextHandOver(grant)
  const nobody = { claim: { id: '', by: null } }
  const two = { reason: TWO, heard, made: heard, tokenVersion, restores, at, ...nobody }
  return {
    row: withBoth(endedForBoth(row, two), first, Math.max(row.last, last)),
    grant: { ...grant, tokenVersion, checkIn: null },
  }
}

/**
 * The same, where the series was handed over meanwhile.
 * @param done that hand-over
 * @returns what the device is told of it. Undefined: this is a copy as any other
 */
export function withSecondOfLost(
  row: SeriesRow,
  { from, to }: HandOver,
  token: SeriesToken,
  { last, at }: Pick<SeriesCheckIn, 'last' | 'at'>,
): { row: SeriesRow; handedOver: HandOver } | undefined {
  const first = newerThan(row, token)
  if (!first) return undefined
  const by = { by: SERVER, reason: TWO, at }
  return {
    row: withBoth(row, first, last),
    handedOver: { from, to, ...by, period: '', last: 0, heard: first.heard },
  }
}

/** Numbers that both may have made are in doubt. */
function withBoth(row: SeriesRow, { heard }: FirstShown, last: number): SeriesRow {
  if (last <= heard) return row
  const { doubtfulFrom: from, doubtfulTo: to } = row
  return {
    ...row,
    doubtfulFrom: Math.min(from ?? heard + 1, heard + 1),
    doubtfulTo: Math.max(to ?? last, last),
  }
}

/** The token that was shown first after a restore, if this one is newer, and from before it. */
const newerThan = (row: SeriesRow, { tokenVersion }: SeriesToken): FirstShown | undefined =>
  firstsOf(row).find((first) => first.tokenVersion < tokenVersion && tokenVersion < first.next)
