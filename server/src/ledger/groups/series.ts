/** Series of consecutive numbers, each of one device. */
import { giveRange } from '../given-ranges.js'
import { handOver, isFor, takeOver } from '../hand-over.js'
import { keyText, normalized } from '../keys.js'
import type { CollectionKey, SeriesRegister } from '../ledger.js'
import { lettersOf } from '../letters.js'
import { selectionOfShown } from '../restored.js'
import type { Selection } from '../row-store.js'
import { toSeries } from '../rows.js'
import { checkInSeries, claimSeries, closeSeries, letterClaim, renameDevice } from '../series.js'
import type { LedgerCore } from './core.js'

export function seriesRegister({ store, context, change }: LedgerCore): SeriesRegister {
  const { limits, tokens } = context
  return {
    async claimSeries(request) {
      const claim = normalized(request)
      const { database, ended } = claim
      const token = ended && tokens.read(ended.token, database)
      const handed = (await store.readHandedOver(claim)).find((row) => isFor(row, claim, token))
      if (handed) {
        const taken = await change([database], {
          select: { grants: [handed.grant], series: [handed.grant] },
          step: (rows) => takeOver(rows, claim, token, context),
        })
        if (taken) return taken
      }
      const letter = letterClaim(claim)
      // Two servers may go above the limit by what each of them gives at one moment.
      const isFull = (await store.countSeries(database)) >= limits.collections
      const { collection, name } = claim
      const select = {
        collections: [{ database, collection: letter.collection }],
        quota: limits,
        claims: [letter],
        series: token ? [token.id] : [],
        seriesNamed: name === undefined ? undefined : { database, collection, name },
      }
      return change([database], {
        select,
        step(rows) {
          const known = rows.claimed.get(keyText(letter))?.get(claim.id)
          // A claim that is repeated gets the name that its series has.
          if (known && !rows.selected.series?.includes(known.id))
            return { select: { ...select, series: [...select.series, known.id] } }
          return claimSeries(rows, claim, token, isFull, context)
        },
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
        step: (rows) => checkInSeries(rows, checkIn, token, context),
      })
    },

    async closeSeries(request) {
      const closing = normalized(request)
      const found = await store.findSeries({ ...closing, name: closing.letter })
      if (!found) return undefined
      const row = await store.change({
        select: { series: [found.grant] },
        step: (rows) => closeSeries(rows, closing),
      })
      return row && toSeries(row)
    },

    async renameDevice(request) {
      const renaming = normalized(request)
      const found = await store.findSeries({ ...renaming, name: renaming.letter })
      if (!found) return undefined
      const row = await store.change({
        select: { series: [found.grant] },
        step: (rows) => renameDevice(rows, renaming),
      })
      return row && toSeries(row)
    },

    async handOverSeries(request) {
      const asked = normalized(request)
      const found = await store.findSeries({ ...asked, name: asked.letter })
      if (!found) return { refused: 'missing' }
      const { grant } = found
      const done = await change([asked.database], {
        select: { ...selectionOfAll(asked), grants: [grant] },
        step: (rows) => handOver(rows, grant, asked),
      })
      return 'refused' in done ? done : toSeries(done)
    },

    async giveRange(request) {
      const gift = normalized(request)
      const found = await store.findSeries({ ...gift, name: gift.letter })
      if (!found) return { refused: 'missing' }
      const done = await store.change({
        select: selectionOfAll(gift),
        step: (rows) => giveRange(rows, found.grant, gift),
      })
      return 'refused' in done ? done : toSeries(done)
    },

    series: async (database) => (await store.readSeries(database.toLowerCase())).map(toSeries),
  }
}

/** All series of a collection. None begins meanwhile: who begins one counts its letter. */
const selectionOfAll = (key: CollectionKey): Selection => ({
  known: [lettersOf(key)],
  seriesOf: key,
})
