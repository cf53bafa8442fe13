/**
 * An operator's questions to a ledger, and changes of it. The rules are pure. Guarantees that
 * `explain` says no more than the rows do, and that a dropped row stays as a mark: later claims
 * under its name get no number of before.
 */
import { setImmediate } from 'node:timers'
import {
  authorityOf,
  distinct,
  keyOf,
  keyText,
  lettersOf,
  normalized,
  seriesKey,
} from './collections.js'
import { isRestored, type LedgerCore } from './core.js'
import { isWhole, periodsIn } from './heard.js'
import type {
  CollectionKey,
  ExplainedGrant,
  ExplainedSeries,
  Explanation,
  NumberQuestion,
  Operation,
  SeriesPlace,
} from './ledger.js'
import { ownName } from './name.js'
import { raise } from './number-line.js'
import { prune } from './prune.js'
import type { RowStore, Rows, StepResult } from './row-store.js'
import {
  type CollectionRow,
  freeOf,
  type GrantRow,
  type SeriesRow,
  toStatus,
  withLine,
} from './rows.js'
import { readPage } from './series-pages.js'
import { makerOf, toSeries } from './series-row.js'

export function operation({ store, context, change }: LedgerCore): Operation {
  return {
    status: async () => (await store.readStatus()).map(toStatus),

    readName: async () => ownName(store.name, context.bound),

    async explain(unread) {
      const asked = normalized(unread)
      // A number that is granted meanwhile is told by its grant: the grants are read last.
      const [row] = await store.readCollections([asked])
      const { rows: series, next } = await seriesFor(store, asked)
      const grants = await store.readCovering(asked, asked.number)
      return explain(asked, {
        isCountedHere: authorityOf(context.bound, asked) === 'ledger',
        collection: row?.droppedAt === null ? row : undefined,
        grants,
        series,
        isMore: next !== undefined,
      })
    },

    countFree: () => store.countFree(),

    async prune(pruning) {
      await store.removeDropped()
      await store.pruneAnswers(pruning.settledBefore)
      for (let pruned = 1; pruned > 0; ) {
        const old = await store.readOld(pruning)
        if (old.length === 0) return
        pruned = await store.change({
          select: {
            collections: distinct(old.map(keyOf), keyText),
            grants: old.map(({ id }) => id),
          },
          step: (rows) => prune(rows, pruning),
        })
        // Other requests that wait come first.
        await new Promise((resolve) => setImmediate(resolve))
      }
    },

    async drop({ database: name, collection, at }) {
      const database = name.toLowerCase()
      const isDropped = isOf(database, collection?.toLowerCase())
      const collections = (await store.readStatus()).filter(isDropped).map(keyOf)
      const identities = collection === undefined ? await store.readIdentities(database) : []
      const databases = collection === undefined ? [database] : []
      await change([database], {
        select: { collections, identities },
        step: (rows) => drop(rows, databases, at),
      })
      await store.removeDropped()
    },

    renewSecret: () =>
      store.change({
        select: {},
        step: () => ({ answer: undefined, changes: { secret: store.secrets.renewed() } }),
      }),

    connections: () => store.connections?.(),

    useIdParts: (parts) => store.useIdParts(parts),

    ping: () => store.ping(),

    close: () => store.close(),
  }
}

/** Does a `drop` of a database, or of a collection with its series, include this collection? */
export const isOf =
  (database: string, collection: string | undefined) =>
  (key: CollectionKey): boolean =>
    key.database === database &&
    (collection === undefined ||
      key.collection === collection ||
      key.collection === lettersOf({ database, collection }).collection)

/** @param databases that are dropped as a whole */
function drop(rows: Rows, databases: readonly string[], at: number): StepResult<void> {
  return {
    answer: undefined,
    changes: {
      collections: [...rows.collections.values()].map((row) => ({
        // guard: H22 of a collection that was dropped no number comes back
        ...withLine(row, raise(row, row.highWater)),
        grants: 0,
        outstanding: 0,
        droppedAt: at,
        droppedSerial: row.serial,
      })),
      identities: [...rows.identities.values()].map((row) => ({
        ...row,
        value: row.highWater,
        droppedAt: at,
      })),
      databases: databases
        .filter((name) => isRestored(rows, name))
        .map((database) => ({ database, isRestored: true, isDropped: true })),
    },
  }
}

/** The store's rows that may be about a number. */
interface Evidence {
  /** Or by another server or counter, which may have given numbers to others. */
  isCountedHere: boolean
  /** Undefined: no range of the collection was ever granted, or it was dropped. */
  collection: CollectionRow | undefined
  /** The grants that cover the number, or did before it came back; oldest first. */
  grants: readonly GrantRow[]
  /** Of the collection. */
  series: readonly SeriesRow[]
  /** The collection has more series. */
  isMore: boolean
}

/** The series of a name, or the first ones of the collection. */
async function seriesFor(
  store: RowStore,
  { database, collection, series }: NumberQuestion,
): Promise<{ rows: SeriesRow[]; next?: SeriesPlace }> {
  const key = { database, collection }
  if (series === undefined)
    return readPage(store, database, { after: { collection, place: 0 }, collection })
  const found = await store.findSeries({ ...key, nameKey: seriesKey(series) })
  return { rows: found ? [found] : [] }
}

function explain(asked: NumberQuestion, evidence: Evidence): Explanation {
  const { database, collection, number, series, period } = asked
  const { collection: row, grants, isCountedHere } = evidence
  return {
    database,
    collection,
    number,
    ...(series === undefined &&
      row && { id: { ...stateOf(number, row, grants, isCountedHere), max: row.max } }),
    grants: series === undefined ? grants.map((grant) => grantOf(number, grant)) : [],
    series: evidence.series.map((each) => inSeries(number, each, period)),
    ...(evidence.isMore && { more: true }),
  }
}

function stateOf(
  number: number,
  row: CollectionRow,
  grants: readonly GrantRow[],
  isCountedHere: boolean,
): Pick<NonNullable<Explanation['id']>, 'state' | 'floor'> {
  const floor = number <= row.floor ? { floor: row.floor } : {}
  const holder = grants.find(({ high }) => number <= high)
  if (holder) return { state: number <= holder.issued ? 'used' : 'held', ...floor }
  if (freeOf(row).some(([low, high]) => low <= number && number <= high)) return { state: 'free' }
  if (!isCountedHere && grants.length === 0) return { state: 'elsewhere', ...floor }
  if (number > Math.max(row.max, row.highWater)) return { state: 'above', ...floor }
  // The end of the line came back: the next grants begin there.
  if (number > row.max && number > row.floor) return { state: 'free' }
  return { state: grants.length > 0 ? 'returned' : 'forgotten', ...floor }
}

function grantOf(number: number, row: GrantRow): ExplainedGrant {
  const { low, high, firstHigh, issued, grantedAt, heardAt, serverTag, device, claimedBy } = row
  return {
    low,
    high: firstHigh,
    grantedAt,
    heardAt,
    serverTag,
    device,
    by: claimedBy ?? undefined,
    isReturned: number > high,
    usedTo: issued >= low ? issued : undefined,
  }
}

function inSeries(number: number, row: SeriesRow, period: string | undefined): ExplainedSeries {
  const known = toSeries(row)
  const { letter: series, device, last, registeredAt, seenAt, closed, doubtful, link } = known
  const { handedOver, handOvers } = known
  const heard = periodsIn(known)
    .filter(
      (mark) =>
        mark.first <= number && number <= mark.last && (period ?? mark.period) === mark.period,
    )
    .map((mark) => ({ ...mark, device: makerOf(row, mark, number) }))
  const times = { registeredAt, seenAt, closed }
  return {
    ...{ series, device, last, heard, ...times, doubtful, link, handedOver, handOvers },
    isWhole: isWhole(known),
  }
}
