/**
 * The ledger over a row store: reads each request, tells the store which rows its step works on,
 * and which step that is.
 */
import { createAlarm } from './alarm.js'
import { authorityOf, type BoundCollections } from './bound-collections.js'
import { checkIn, readCheckIn, selectionOf } from './check-in.js'
import { asksOfClaims, grantClaims, shownBy } from './claim.js'
import type { LedgerContext } from './context.js'
import { drop, isOf } from './drop.js'
import { giveBack } from './give-back.js'
import { grantTokens, newGrantId } from './grant-token.js'
import { nextIdentities, seedIdentity } from './identities.js'
import { distinct, identityText, keyOf, keyText, normalized, normalizedIdentity } from './keys.js'
import type { Ledger, LedgerLimits } from './ledger.js'
import { toPlace } from './letters.js'
import { asksOfFloor, raiseFloor, withdraw, writeMarks } from './marks.js'
import { sizeOf } from './number-line.js'
import { prune } from './prune.js'
import { UNLIMITED } from './quota.js'
import {
  aboveFloor,
  asksOfFloors,
  checkFloors,
  databaseIn,
  raiseFloors,
  selectionOfShown,
  withDatabases,
  withFloors,
} from './restored.js'
import type { RowStore, Transaction } from './row-store.js'
import {
  type DatabaseRow,
  freeOf,
  newCollection,
  newDatabase,
  toMark,
  toSeries,
  toStatus,
} from './rows.js'
import { checkInSeries, claimSeries, closeSeries, letterClaim } from './series.js'

export function createLedger(
  store: RowStore,
  limits: LedgerLimits,
  bound: BoundCollections,
): Ledger {
  const tokens = grantTokens(store.secret)
  const context: LedgerContext = { limits, bound, tokens, newGrantId }
  const alarm = createAlarm()

  /** @param databases what holds for them is part of what the step works on */
  async function change<T>(
    databases: readonly string[],
    { select, ask, step }: Transaction<T>,
  ): Promise<T> {
    let after: DatabaseRow[] = []
    const answer = await store.change<T>({
      select: { ...select, databases },
      ...(ask && { ask: (rows) => ask(withFloors(rows, bound)) }),
      step: (loaded, answers) => {
        const rows = withFloors(loaded, bound)
        const result = step(rows, answers)
        const saved = 'changes' in result ? withDatabases(rows, result.changes) : rows
        after = databases.map((name) => databaseIn(saved, name))
        return result
      },
    })
    alarm.look(after)
    return answer
  }

  /** Before a restore, a bound collection may have granted numbers, too. */
  async function names() {
    const { collections, identities } = await store.readNames()
    const keys = [...collections, ...[...bound.values()].map((key) => keyOf(normalized(key)))]
    return { collections: distinct(keys, keyText), identities }
  }

  return {
    claim(requests, received) {
      const claims = requests.map(normalized)
      return change(databasesOf(claims), {
        select: {
          collections: distinct(claims, keyText),
          quota: limits,
          claims: claims.filter(({ id }) => id !== undefined),
          ...shownBy(claims, tokens),
          // The counter of a back end may be locked as long as one of its transactions takes.
          isHasty: claims.every((claim) => authorityOf(bound, claim) === 'ledger'),
        },
        ask: (rows) => asksOfClaims(rows, claims, context),
        step: (rows, answers) => grantClaims(rows, claims, answers, received, context),
      })
    },

    isBound: (key) => authorityOf(bound, key) !== 'ledger',

    holds(key, low, high) {
      const { database, collection } = normalized(key)
      return store.change({
        select: {
          collections: [{ database, collection }],
          returned: { database, collection, end: high, last: low },
        },
        step: ({ collections, returnedOf }) => {
          const row = collections.get(keyText({ database, collection }))
          const left = row ? freeOf(row) : []
          const isFree = left.some((span) => span[0] <= high && span[1] >= low)
          return { answer: isFree || (returnedOf?.high ?? 0) >= low, changes: {} }
        },
      })
    },

    withdraw(request) {
      const piece = normalized(request)
      return change([piece.database], {
        select: { collections: [piece] },
        step: (rows) => withdraw(rows, piece),
      })
    },

    async giveBack(unread) {
      const request = normalized(unread)
      const { database, collection, end, last } = request
      const token = request.token === undefined ? undefined : tokens.read(request.token, database)
      if (request.token !== undefined && !token) return 0
      return change([database], {
        select: {
          collections: [request],
          ...(token ? { grants: [token.id] } : { returned: { database, collection, end, last } }),
        },
        step: (rows) => giveBack(rows, request, token, context),
      })
    },

    checkIn(unread) {
      const request = readCheckIn(unread, tokens)
      return change([request.database], {
        select: selectionOf(request),
        step: (rows) => checkIn(rows, request, tokens),
      })
    },

    async read(unread) {
      const key = normalized(unread)
      const row = (await store.readCollection(key)) ?? newCollection(key)
      const databases = await store.readDatabases()
      return toMark(
        aboveFloor(row, databases.get(key.database) ?? newDatabase(key.database), bound),
      )
    },

    write(requests) {
      const writes = requests.map(normalized)
      return change(databasesOf(writes), {
        select: { collections: distinct(writes, keyText), quota: limits, withHeld: true },
        step: (rows) => writeMarks(rows, writes, context),
      })
    },

    raiseFloor(unread) {
      const request = normalized(unread)
      return change([request.database], {
        select: { collections: [request], quota: UNLIMITED },
        ask: (rows) => asksOfFloor(rows, request, context),
        step: (rows, answers) => raiseFloor(rows, request, answers),
      })
    },

    async raiseFloors({ database: name, by }) {
      const floors = { database: name.toLowerCase(), by }
      checkFloors(floors)
      const isThere = ({ database }: { database: string }) => database === floors.database
      const { collections, identities } = await names()
      return change([floors.database], {
        select: {
          collections: collections.filter(isThere),
          identities: identities.filter(isThere),
          quota: UNLIMITED,
        },
        ask: (rows) => asksOfFloors(rows, floors, bound),
        step: (rows, answers) => raiseFloors(rows, floors, answers),
      })
    },

    async restored() {
      const databases = [...(await store.readDatabases()).values()]
      alarm.look(databases)
      return databases.filter(({ isRestored }) => isRestored).map(({ database }) => database)
    },

    onRestored: alarm.listen,
    names,

    nextIdentities(requests) {
      const claims = requests.map(normalizedIdentity)
      return change(databasesOf(claims), {
        select: {
          identities: distinct(claims, identityText),
          quota: limits,
          identityClaims: claims.filter(({ id }) => id !== undefined),
        },
        step: (rows) => nextIdentities(rows, claims),
      })
    },

    seedIdentity(request) {
      const seed = normalizedIdentity(request)
      return change([seed.database], {
        select: { identities: [seed], quota: limits },
        step: (rows) => seedIdentity(rows, seed, context),
      })
    },

    claimSeries(request) {
      const claim = normalized(request)
      const { database, ended } = claim
      const token = ended && tokens.read(ended.token, database)
      const letter = letterClaim(claim)
      return change([database], {
        select: {
          collections: [{ database, collection: letter.collection }],
          quota: limits,
          claims: [letter],
          series: token ? [token.id] : [],
        },
        step: (rows) => claimSeries(rows, claim, token, context),
      })
    },

    checkInSeries(request) {
      const checkIn = { ...request, database: request.database.toLowerCase() }
      const { database } = checkIn
      const token = tokens.read(request.token, database)
      return change([database], {
        select: {
          ...selectionOfShown([{ database, shown: [{ token }] }]),
          series: token ? [token.id] : [],
        },
        step: (rows) => checkInSeries(rows, checkIn, token, tokens),
      })
    },

    async closeSeries(request) {
      const closing = normalized(request)
      const place = toPlace(closing.letter)
      const found = (await store.readSeries(closing.database)).find(
        ({ collection, letter }) => collection === closing.collection && letter === place,
      )
      if (!found) return undefined
      const row = await store.change({
        select: { series: [found.grant] },
        step: (rows) => closeSeries(rows, closing),
      })
      return row && toSeries(row)
    },

    series: async (database) => (await store.readSeries(database.toLowerCase())).map(toSeries),
    status: async () => (await store.readStatus()).map(toStatus),
    countFree: async () => (await store.readFree()).reduce((sum, free) => sum + sizeOf(free), 0),
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
      await store.change({ select: { collections, identities }, step: (rows) => drop(rows, at) })
      await store.removeDropped()
    },
    identities: async (database) =>
      (await store.readIdentities(database.toLowerCase())).map(({ name }) => name),
    connections: () => store.connections?.(),
    ping: () => store.ping(),
    close: () => store.close(),
  }
}

const databasesOf = (keys: readonly { database: string }[]): string[] => [
  ...new Set(keys.map(({ database }) => database)),
]
