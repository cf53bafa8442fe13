/**
 * The register of series: its methods, and a person's changes of a series. The rules are pure.
 * Guarantees that no two series of a collection have the same number of an authority.
 */
import { keyText, lettersOf, normalized, seriesKey } from './collections.js'
import {
  databaseIn,
  isRestored,
  isUnlisted,
  type LedgerContext,
  type LedgerCore,
  selectionOfShown,
} from './core.js'
import { handOver, isFor, takeOver } from './hand-over.js'
import { heardIn, highestOf, isOfPrefix, periodsOf, rangeName } from './heard.js'
import type {
  ClaimRefusal,
  CollectionKey,
  RangeRefusal,
  Series,
  SeriesClaim,
  SeriesClosing,
  SeriesGift,
  SeriesKey,
  SeriesOutcome,
  SeriesRange,
  SeriesRegister,
  SeriesRenaming,
} from './ledger.js'
import { HeldOfAnother } from './ledger-errors.js'
import type { RowStore, Rows, Selection, StepResult } from './row-store.js'
import type { SeriesRow } from './rows.js'
import { checkInSeries, claimSeries, letterClaim, otherOf, withEnded } from './series.js'
import { eachSeries, readPage } from './series-pages.js'
import { handOversOf, rangesOf, toSeries } from './series-row.js'
import type { SharingCore } from './shared-commits.js'
import { turns } from './turns.js'

type SeriesStep<T> = (rows: Rows) => StepResult<T> | { select: Selection }

export function seriesRegister(core: SharingCore): SeriesRegister {
  const { store, context, change, share } = core
  const { tokens, newGrantId } = context

  const inTurn = turns()

  const grantOf = async ({ letter, ...key }: SeriesKey): Promise<string | undefined> =>
    (await store.findSeries({ ...key, nameKey: seriesKey(letter) }))?.grant

  /** Undefined: there is no such series. */
  async function changed(
    asked: SeriesKey,
    step: (rows: Rows) => StepResult<SeriesRow | undefined>,
  ): Promise<Series | undefined> {
    const grant = await grantOf(asked)
    if (grant === undefined) return undefined
    const row = await store.change({ select: { series: [grant] }, step })
    return row && toSeries(row)
  }

  return {
    claimSeries(request) {
      const claim = normalized(request)
      const { database, by } = claim
      const work = () => claimIn(core, claim)
      // Two that were counted at once would both be the last that is allowed.
      // guard: H26 the series of a token are counted one after another
      return by === undefined ? work() : inTurn(`${by} ${database}`, work)
    },

    checkInSeries(request) {
      const checkIn = { ...request, database: request.database.toLowerCase() }
      const { database } = checkIn
      const token = tokens.read(request.token, database)
      return share({
        database,
        select: {
          ...selectionOfShown([{ database, shown: [{ token }] }]),
          series: token ? [token.id] : [],
        },
        step(rows) {
          const other = otherOf(rows, checkIn, context.name)
          // guard: H34 the check-in of a series of another ledger changes nothing
          if (other) throw new HeldOfAnother(database, other)
          return checkInSeries(rows, checkIn, token, context)
        },
      })
    },

    async closeSeries(request) {
      const asked = normalized(request)
      return changed(asked, (rows) => closeSeries(rows, asked))
    },

    async renameDevice(request) {
      const asked = normalized(request)
      return changed(asked, (rows) => renameDevice(rows, asked))
    },

    async handOverSeries(request) {
      const asked = normalized(request)
      const { database, collection, to: device } = asked
      const grant = await grantOf(asked)
      if (grant === undefined) return { refused: 'missing' }
      const done = await change([database], {
        select: {
          // None begins meanwhile: a step that begins one counts its letter.
          known: [lettersOf(asked)],
          grants: [grant],
          series: [grant],
          seriesOpen: { database, collection, device },
        },
        step: (rows) => handOver(rows, grant, asked),
      })
      return 'refused' in done ? done : toSeries(done)
    },

    async noteSeries(request) {
      const asked = normalized(request)
      const { database, collection, letter, at } = asked
      const name = /^[a-z]+$/i.test(letter) ? letter.toUpperCase() : letter
      const claim: SeriesClaim = { database, collection, id: newGrantId(), name, device: '', at }
      for (;;) {
        const known = await store.findSeries({ database, collection, nameKey: seriesKey(name) })
        if (known) return toSeries(known)
        const outcome = await change([database], {
          select: selectionOfClaim(claim, context),
          step: (rows) => untold(claimSeries(rows, claim, false, context)),
        })
        if ('refused' in outcome && outcome.refused !== 'taken') return outcome as ClaimRefusal
      }
    },

    async reopenSeries({ database: name }) {
      const database = name.toLowerCase()
      return change([database], { select: {}, step: (rows) => reopened(rows, database) })
    },

    async unlisted() {
      const databases = [...(await store.readDatabases()).values()]
      return databases.filter(({ isUnlisted }) => isUnlisted).map(({ database }) => database)
    },

    async giveRange(request) {
      const asked = normalized(request)
      const grant = await grantOf(asked)
      if (grant === undefined) return { refused: 'missing' }
      const select = { known: [lettersOf(asked)], series: [grant] }
      for (;;) {
        const before = await change([asked.database], {
          select,
          step: (rows) => ({ answer: versionOfLetters(rows, asked), changes: {} }),
        })
        const met = await meetingOf(store, grant, asked)
        const done = await change([asked.database], {
          select,
          step: (rows): StepResult<SeriesRow | RangeRefusal | undefined> =>
            // guard: H28 a range is compared with those that were given meanwhile, too
            versionOfLetters(rows, asked) === before
              ? giveRange(rows, grant, asked, met)
              : { answer: undefined, changes: {} },
        })
        if (done) return 'refused' in done ? done : toSeries(done)
      }
    },

    async series(database) {
      const all: Series[] = []
      for await (const row of eachSeries(store, database.toLowerCase())) all.push(toSeries(row))
      return all
    },

    async seriesPage({ database, ...question }) {
      const { rows, next } = await readPage(store, database.toLowerCase(), question)
      return { series: rows.map(toSeries), ...(next && { next }) }
    },
  }
}

async function claimIn(
  { store, context, change }: LedgerCore,
  claim: SeriesClaim,
): Promise<SeriesOutcome> {
  const { limits, tokens } = context
  const { database, ended, by, most } = claim
  const token = ended && tokens.read(ended.token, database)
  // guard: H28 what is in doubt is kept, whatever the claim is answered
  if (token)
    await change([database], {
      select: { ...selectionOfShown([{ database, shown: [{ token }] }]), series: [token.id] },
      step: (rows) => withEnded(rows, claim, token, context),
    })
  const ofOwn =
    <T>(step: SeriesStep<T>): SeriesStep<T | ClaimRefusal> =>
    (rows) => {
      const other = otherOf(rows, claim, context.name)
      // guard: H34 a device that had a series of another ledger is given none
      if (other) return { answer: { refused: 'other-ledger', max: 0, other }, changes: {} }
      return step(rows)
    }
  const handedOver = (await store.readHandedOver(claim)).filter((row) => isFor(row, claim, token))
  for (const handed of handedOver) {
    const taken = await change([database], {
      select: { grants: [handed.grant], series: [handed.grant] },
      step: ofOwn((rows) => takeOver(rows, claim, token, context)),
    })
    if (taken) return taken
  }
  const letter = letterClaim(claim)
  // Two servers may go above a limit, each by the series that it gives at one moment.
  const isFull = (await store.countSeries(database)) >= limits.collections
  const isMany =
    by !== undefined && most !== undefined && (await store.countOpenSeries(database, by)) >= most
  const full = isFull ? 'full' : isMany && 'many'
  const select = selectionOfClaim(claim, context)
  return change([database], {
    select,
    step: ofOwn<SeriesOutcome>((rows) => {
      const known = rows.claimed.get(keyText(letter))?.get(claim.id)
      // A claim that is repeated gets the name that its series has.
      if (known && !rows.selected.series?.includes(known.id))
        return { select: { ...select, series: [known.id] } }
      const isNew = claim.name !== undefined && !known && !rows.seriesNamed
      const isClosed = isUnlisted(rows, database) && !isRestored(rows, database)
      // guard: H28 after a restore no name is given before those that exist are listed
      if (isNew && isClosed) return { answer: { refused: 'unlisted' }, changes: {} }
      return claimSeries(rows, claim, full, context)
    }),
  })
}

/** Of a series that a person lists, the ledger knows no number. */
const untold = ({ answer, changes }: StepResult<SeriesOutcome>): StepResult<SeriesOutcome> => ({
  answer,
  changes: {
    ...changes,
    series: (changes.series ?? []).map((row) => ({ ...row, toldAfter: -1 })),
  },
})

const selectionOfClaim = (claim: SeriesClaim, { limits }: LedgerContext) => {
  const { database, collection, name } = claim
  const letter = letterClaim(claim)
  return {
    collections: [{ database, collection: letter.collection }],
    quota: limits,
    claims: [letter],
    seriesNamed:
      name === undefined ? undefined : { database, collection, nameKey: seriesKey(name) },
  }
}

/** A database that still has to be restored stays as it is. */
function reopened(rows: Rows, database: string): StepResult<boolean> {
  if (isRestored(rows, database)) return { answer: false, changes: {} }
  const { restores } = databaseIn(rows, database)
  return { answer: true, changes: { databases: [{ database, restores, isUnlisted: false }] } }
}

/** In one row, which is written at each check-in. */
const MOST_RANGES = 100

/** It changes when a series begins, and when a series gets a range. */
const versionOfLetters = (rows: Rows, key: CollectionKey): number =>
  rows.collections.get(keyText(lettersOf(key)))?.version ?? 0

/** The first series of the collection that has a number of the range, or had. */
async function meetingOf(
  store: RowStore,
  grant: string,
  { database, collection, range }: SeriesGift,
): Promise<RangeRefusal | undefined> {
  const after = { collection, place: 0 }
  for await (const each of eachSeries(store, database, { after, collection })) {
    const letter = each.name
    const given = rangesOf(each).find(overlaps(range))
    // guard: H28 a number of a range is given once
    if (given) return { refused: 'overlap', letter, from: given.from, to: given.to }
    const heard = heardIn(each, each.grant === grant ? range : undefined).find(overlaps(range))
    // guard: H28 a number that was heard of is in no range that is given later
    if (heard) return { refused: 'heard', letter, from: heard.from, to: heard.to }
  }
  return undefined
}

/** @param met as the series of the collection were just before */
function giveRange(
  rows: Rows,
  grant: string,
  { range, again = false, dryRun, ...key }: SeriesGift,
  met: RangeRefusal | undefined,
): StepResult<SeriesRow | RangeRefusal> {
  const { database } = key
  const refuse = (answer: RangeRefusal) => ({ answer, changes: {} })
  const row = rows.series.get(grant)
  const letters = rows.collections.get(keyText(lettersOf(key)))
  if (!row || !letters) return refuse({ refused: 'missing' })
  if (isRestored(rows, database)) return refuse({ refused: 'restored' })
  // guard: H28 after a restore no new range is given before those that exist are listed
  if (isUnlisted(rows, database) && !again) return refuse({ refused: 'unlisted' })
  if (row.closedAt !== null) return refuse({ refused: 'closed' })
  if (met) return refuse(met)
  const last = highestOf(row, range)
  const isKnown = again || periodsOf(row).some(({ period }) => period === rangeName(range))
  // A device goes on above its last number. Numbers below would be lost to everybody.
  if (range.to < last && !isKnown) return refuse({ refused: 'below', last })
  const ranges = inOrder([...rangesOf(row), range])
  if (ranges.length > MOST_RANGES) return refuse({ refused: 'crowded' })
  const changed: SeriesRow = { ...row, ranges: JSON.stringify(ranges) }
  if (dryRun) return { answer: changed, changes: {} }
  const collections = [{ ...letters, version: letters.version + 1 }]
  return { answer: changed, changes: { collections, series: [changed] } }
}

/** Prefixes as they came, and of each the lowest first. */
function inOrder(ranges: readonly SeriesRange[]): SeriesRange[] {
  const place = (range: SeriesRange) => ranges.findIndex(isOfPrefix(range))
  return ranges.toSorted((a, b) => place(a) - place(b) || a.from - b.from)
}

const overlaps =
  (range: SeriesRange) =>
  (other: Pick<SeriesRange, 'from' | 'to' | 'prefix'>): boolean =>
    isOfPrefix(range)(other) && range.from <= other.to && other.from <= range.to

/** The first closing counts. Undefined: there is no such series. */
export function closeSeries(
  rows: Rows,
  { by, reason, at }: SeriesClosing,
): StepResult<SeriesRow | undefined> {
  const [row] = rows.series.values()
  if (!row || row.closedAt !== null) return { answer: row, changes: {} }
  const closed: SeriesRow = { ...row, closedAt: at, closedBy: by, reason }
  return { answer: closed, changes: { series: [closed] } }
}

/** A device that has yet to get a handed-over series asks for it under its old name. */
function renameDevice(rows: Rows, { device }: SeriesRenaming): StepResult<SeriesRow | undefined> {
  const [row] = rows.series.values()
  if (!row) return { answer: undefined, changes: {} }
  const renamed = (name: string) => (name === row.device ? device : name)
  const done = handOversOf(row).map((each, i, all) => ({
    ...each,
    from: renamed(each.from),
    to: each.claim || i < all.length - 1 ? renamed(each.to) : each.to,
  }))
  const changed: SeriesRow = { ...row, device, handOvers: JSON.stringify(done) }
  return { answer: changed, changes: { series: [changed] } }
}
