/**
 * The ledger over a row store: reads each request, tells the store which rows its step works on,
 * and which step that is.
 */
import { authorityOf, type BoundCollections } from './bound-collections.js'
import { checkIn, readCheckIn, selectionOf } from './check-in.js'
import { asksOfClaims, grantClaims, shownBy } from './claim.js'
import type { LedgerContext } from './context.js'
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
import type { RowStore } from './row-store.js'
import { toMark, toSeries, toStatus } from './rows.js'
import { checkInSeries, claimSeries, closeSeries, letterClaim } from './series.js'

export function createLedger(
  store: RowStore,
  limits: LedgerLimits,
  bound: BoundCollections,
): Ledger {
  const tokens = grantTokens(store.secret)
  const context: LedgerContext = { limits, bound, tokens, newGrantId }

  return {
    claim(requests, received) {
      const claims = requests.map(normalized)
      return store.change({
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
          const { free = [] } = collections.get(keyText({ database, collection })) ?? {}
          const isFree = free.some((span) => span[0] <= high && span[1] >= low)
          return { answer: isFree || (returnedOf?.high ?? 0) >= low, changes: {} }
        },
      })
    },

    withdraw(request) {
      const piece = normalized(request)
      return store.change({
        select: { collections: [piece] },
        step: (rows) => withdraw(rows, piece),
      })
    },

    async giveBack(unread) {
      const request = normalized(unread)
      const { database, collection, end, last } = request
      const token = request.token === undefined ? undefined : tokens.read(request.token, database)
      if (request.token !== undefined && !token) return 0
      return store.change({
        select: {
          collections: [request],
          ...(token ? { grants: [token.id] } : { returned: { database, collection, end, last } }),
        },
        step: (rows) => giveBack(rows, request, token, context),
      })
    },

    checkIn(unread) {
      const request = readCheckIn(unread, tokens)
      return store.change({
        select: selectionOf(request),
        step: (rows) => checkIn(rows, request, tokens),
      })
    },

    read: async (key) => toMark(await store.readCollection(normalized(key))),

    write(requests) {
      const writes = requests.map(normalized)
      return store.change({
        select: { collections: distinct(writes, keyText), quota: limits, withHeld: true },
        step: (rows) => writeMarks(rows, writes, context),
      })
    },

    raiseFloor(unread) {
      const request = normalized(unread)
      return store.change({
        select: { collections: [request], quota: UNLIMITED },
        ask: (rows) => asksOfFloor(rows, request, context),
        step: (rows, answers) => raiseFloor(rows, request, answers),
      })
    },

    nextIdentities(requests) {
      const claims = requests.map(normalizedIdentity)
      return store.change({
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
      return store.change({
        select: { identities: [seed], quota: limits },
        step: (rows) => seedIdentity(rows, seed, context),
      })
    },

    claimSeries(request) {
      const claim = normalized(request)
      const { database, ended } = claim
      const token = ended && tokens.read(ended.token, database)
      const letter = letterClaim(claim)
      return store.change({
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
      return store.change({
        select: {
          ...selectionOf({ database, shown: [{ token, next: 0 }], spent: [] }),
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
        // What else waits comes first.
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    connections: () => store.connections?.(),
    ping: () => store.ping(),
    close: () => store.close(),
  }
}
