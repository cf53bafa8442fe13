/** How far collections have gone, and what is done after a restore. */

import { distinct, keyText, normalized } from '../keys.js'
import type { Marks } from '../ledger.js'
import { asksOfFloor, raiseFloor, writeMarks } from '../marks.js'
import { UNLIMITED } from '../quota.js'
import { aboveFloor, asksOfFloors, checkFloors, raiseFloors } from '../restored.js'
import { newCollection, newDatabase, toMark } from '../rows.js'
import { databasesOf, type LedgerCore } from './core.js'

export function marks({ store, context, change, alarm, names }: LedgerCore): Marks {
  const { limits, bound } = context
  return {
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
      return databases
        .filter(({ isRestored, isDropped }) => isRestored && !isDropped)
        .map(({ database }) => database)
    },

    onRestored: alarm.listen,

    names,
  }
}
