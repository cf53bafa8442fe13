/**
 * The public name of a ledger (H34): random, and no secret. Every answer has it, so that a device
 * notices when another ledger answers at the same address. A copy of a ledger has its name, too.
 */
import { Buffer } from 'node:buffer'
import { createHash, randomBytes } from 'node:crypto'
import { authorityOf, type BoundCollections, EVERY_COLLECTION } from './collections.js'
import type { CollectionKey, LedgerNames, OtherLedger } from './ledger.js'

/** Without letters and digits that people take for each other. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz023456789'

/** 80 random bits. */
export const newLedgerName = (): string =>
  Array.from(randomBytes(16), (byte) => LETTERS[byte % LETTERS.length]).join('')

/** Also with a database, as a device knows it. */
export const LEDGER_NAME = /^[a-z\d]{16}(\/[\p{L}\p{M}\p{N}._-]{1,64})?$/u

/** Requests repeat it for each collection, so it is short. */
const MAX_DATABASE_BYTES = 64

/** A database, as a device is told it and shows it with the name of the ledger. */
export function toldAs(database: string): string {
  const name = database.toLowerCase()
  return Buffer.byteLength(name) <= MAX_DATABASE_BYTES
    ? name
    : createHash('sha256').update(name).digest('base64url')
}

/**
 * A device knows a ledger together with the database that counts, as `k3m9…/shop`. Within that
 * database the name says enough.
 */
export const within = (name: string, database: string): string => {
  const end = `/${toldAs(database)}`
  return name.endsWith(end) ? name.slice(0, -end.length) : name
}

/** A ledger's name. Undefined: it is a region's, whose numbers all come from its root. */
export const ownName = (name: string, bound: BoundCollections): string | undefined =>
  bound.get(EVERY_COLLECTION)?.authority === 'upstream' ? undefined : name

/**
 * The counter of an ORM is in the ledger's own database and in its dumps, so it has the ledger's
 * name. A counter that a function of the app asks has it, too: nobody can tell which counter it is.
 * @returns the name of where the numbers of a collection come from. Undefined: it has none
 */
export const namesOf =
  (own: string, bound: BoundCollections) =>
  (key: CollectionKey): string | undefined =>
    // guard: H34 the counter of an ORM has its ledger's name
    authorityOf(bound, key) === 'upstream' ? undefined : own

/**
 * @param ledgers the names that a device shows
 * @param name of this ledger. Undefined: it has none
 * @param database that is asked, which may be another one than the device's
 * @param follows which ledgers this one follows, and above which numbers
 */
export function otherLedger(
  ledgers: LedgerNames | undefined,
  serverTag: string,
  name: string | undefined,
  database: string,
  follows: Readonly<Record<string, number>>,
): OtherLedger | undefined {
  const held = ledgers?.[serverTag]
  if (held === undefined || name === undefined) return undefined
  const [lost, own] = [within(held, database), within(name, database)]
  if (lost === own) return undefined
  const above = Object.hasOwn(follows, lost) ? follows[lost] : undefined
  return { held, name: own, database, serverTag, above }
}
