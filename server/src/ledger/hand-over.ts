/**
 * How a series of a lost device goes to another one, because a person says so. Pure. Guarantees
 * that the other device goes on above every number that the ledger has heard of, and that the token
 * of the lost one, and of its copies, is void.
 */
import { databaseIn, isRestored, isUnlisted, type LedgerContext } from './core.js'
import type { TokenContent } from './grant-token.js'
import { joined, markedAs, othersOf, periodsOf, storedPeriods, withOthers } from './heard.js'
import type { HandOverRefusal, SeriesClaim, SeriesHandOver, SeriesOutcome } from './ledger.js'
import { TOKENS_OF_RESTORE, TOKENS_SKIPPED, takenByOf } from './lost-device.js'
import type { Rows, StepResult } from './row-store.js'
import type { SeriesRow, StoredHandOver } from './rows.js'
import { givenTo, handOversOf, numbersAfter, restOf } from './series-row.js'
import { markAfter } from './stated-mark.js'

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
    ...restOf(row),
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
  const answered = (replaced: typeof grant, taken: SeriesRow, isRepeat: boolean) => ({
    ordinal: row.ordinal,
    name: row.name,
    token: tokens.write({ ...replaced, ...takenByOf(taken) }),
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
    return { answer: answered(grant, row, true), changes: {} }
  if (done.some((each) => each.claim?.id === id)) return refuse('spent')
  if (isUnlisted(rows, row.database)) return { answer: { refused: 'unlisted' }, changes: {} }
  // guard: H28 a hand-over from before a restore is given to nobody
  if (newest.restores !== restores) return { answer: undefined, changes: {} }
  const replaced = { ...grant, tokenVersion: grant.tokenVersion + 1, checkIn: id }
  const before = done.slice(0, -1)
  const numbers = numbersAfter(before, periodsOf(row))
  const taken = [...before, { ...newest, numbers, claim: { id, by } }]
  const changed: SeriesRow = { ...row, seenAt: at, handOvers: JSON.stringify(taken) }
  return {
    answer: answered(replaced, changed, false),
    changes: { grants: [replaced], series: [changed] },
  }
}
