/**
 * The ledger: it knows each grant and its device. The comments here and in its five parts are its
 * contract.
 *
 * - Each method is one atomic step, and it is on disk before its promise resolves. When the promise
 *   is rejected with `LedgerUnavailable`, the step happened as a whole or not at all, and nobody
 *   knows which: the caller may repeat it.
 * - Methods may run at the same time, also from several processes on one database. Steps on one
 *   collection happen one after another.
 * - Two grants never hold the same number at the same time. A grant only shrinks.
 * - Time decides nothing: it is passed in, and only stored.
 */
import type { Claims } from './claims-port.js'
import type { Identities } from './identities-port.js'
import type { Marks } from './marks-port.js'
import type { Operation } from './operation-port.js'
import type { SeriesRegister } from './series-port.js'

export type * from './claims-port.js'
export type * from './identities-port.js'
export type * from './keys.js'
export type * from './marks-port.js'
export type * from './operation-port.js'
export type * from './series-port.js'

export interface Ledger extends Claims, Marks, Identities, SeriesRegister, Operation {}

export interface LedgerLimits {
  /** A `lastMax` further above `max` is refused. */
  maxJump: number
  /** No collection that the ledger itself counts passes it. */
  maxId: number
  /** Collections, and as many identities and series, per database. */
  collections: number
  /** Databases with collections, and databases with identities: their names come from requests. */
  databases: number
}
