/**
 * Which other ledgers devices hold numbers of, as this process has heard since it started, by
 * database: for the log and for `/healthz`. Bounded, and only what can be a ledger's name, because
 * the names come from requests.
 */

import type { OtherLedger } from '../ledger/ledger.js'
import { HeldOfAnother } from '../ledger/ledger-errors.js'
import { LEDGER_NAME } from '../ledger/name.js'
import type { Log } from './log.js'

/** Databases, and names of each. */
const MOST = 100

export interface OtherLedgers {
  /** A device was refused. Each name of a database is logged once. */
  note(database: string, other: OtherLedger): void
  /** The same where the work is refused for it. */
  watch<T>(database: string, work: Promise<T>): Promise<T>
  /** Names by database, in lower case. */
  heard(): Record<string, string[]>
}

export function otherLedgers(log: Log): OtherLedgers {
  const heard = new Map<string, Set<string>>()
  const others: OtherLedgers = {
    note(name, { held, name: own }) {
      if (!LEDGER_NAME.test(held)) return
      const database = name.toLowerCase()
      const names = heard.get(database) ?? new Set()
      if (names.has(held) || names.size === MOST) return
      if (!heard.has(database) && heard.size === MOST) return
      heard.set(database, names.add(held))
      log.error(
        { database, held, ledger: own },
        'A DEVICE HOLDS NUMBERS OF ANOTHER LEDGER: IT IS GRANTED NOTHING. Do two servers with ' +
          'ledgers of their own answer at one address? Then stop one. Does a proxy lead one ' +
          'database to another? Then mend it. Was this ledger begun anew? Then run: ' +
          'npx offline-hilo-server follow <database> --name <held> --above <number>.',
      )
    },
    async watch(database, work) {
      try {
        return await work
      } catch (error) {
        if (error instanceof HeldOfAnother) others.note(database, error.other)
        throw error
      }
    },
    heard: () => Object.fromEntries([...heard].map(([database, names]) => [database, [...names]])),
  }
  return others
}
