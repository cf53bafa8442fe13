/**
 * The keys of rows, which are database and name, both lower-cased; and the authority that counts a
 * collection. Guarantees that a server grants nothing of a collection if its configuration binds
 * the collection otherwise than the ledger remembers.
 */

import type { CollectionKey, IdentityKey } from './ledger.js'
import { CounterUnusable } from './ledger-errors.js'

export const normalized = <K extends CollectionKey>(key: K): K => ({
  ...key,
  database: key.database.toLowerCase(),
  collection: key.collection.toLowerCase(),
})

export const normalizedIdentity = <K extends IdentityKey>(key: K): K => ({
  ...key,
  database: key.database.toLowerCase(),
  name: key.name.toLowerCase(),
})

export const keyOf = ({ database, collection }: CollectionKey): CollectionKey => ({
  database,
  collection,
})

/**
 * The key of a series' name: `T3` and `t3` are one name, and so are all others that differ only in
 * how their letters are written (upper or lower case, wide, ligatures).
 */
export const seriesKey = (name: string): string =>
  // Upper case makes SS of ß, and lower case makes ß of ẞ.
  name.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase()

/** The separator is in no name: names with control characters are refused. */
export const keyText = ({ database, collection }: CollectionKey): string =>
  `${database}\n${collection}`

/** @param key with the serial of a grant */
export const serialText = (key: CollectionKey & { serial: number }): string =>
  `${keyText(key)}\n${key.serial}`

export const identityText = ({ database, name }: IdentityKey): string => `${database}\n${name}`

export const isSame = (a: CollectionKey, b: CollectionKey): boolean =>
  a.database === b.database && a.collection === b.collection

/** Each key once, in the order of its first appearance; of several items its last one. */
export const distinct = <K>(keys: readonly K[], textOf: (key: K) => string): K[] => [
  ...new Map(keys.map((key) => [textOf(key), key])).values(),
]

/** By key, in their order. */
export function grouped<K>(items: readonly K[], textOf: (item: K) => string): Map<string, K[]> {
  const groups = new Map<string, K[]>()
  for (const item of items) {
    const text = textOf(item)
    const group = groups.get(text)
    if (group) group.push(item)
    else groups.set(text, [item])
  }
  return groups
}

/** Rows that answered a claim: by key, then by the id of the claim. */
export function byClaim<Row extends { claim: string | null }>(
  rows: readonly Row[],
  textOf: (row: Row) => string,
): Map<string, Map<string, Row>> {
  const found = new Map<string, Map<string, Row>>()
  for (const [key, group] of grouped(rows, textOf))
    found.set(key, new Map(group.map((row) => [row.claim!, row])))
  return found
}

/** `receipts|` counts the letters of `receipts`. No request can name it: tags do not end in `|`. */
export const lettersOf = ({ database, collection }: CollectionKey): CollectionKey => ({
  database,
  collection: `${collection}|`,
})

/** Does the collection count letters? */
export const isOfLetters = (collection: string): boolean => collection.endsWith('|')

/**
 * A collection is counted by this ledger, by an ORM's counter in the ledger's database, by another
 * server (a RavenDB, the root of a region), or by a counter that a function of the app asks.
 */
export type Authority = 'ledger' | 'counter' | 'upstream' | 'hook'

export interface BoundCollection extends CollectionKey {
  authority: Exclude<Authority, 'ledger'>
  /**
   * The binding as the ledger remembers it. With another block size, or another counter, the server
   * would grant ids that are in use.
   */
  description: string
}

/** By `bindingKey`. */
export type BoundCollections = ReadonlyMap<string, BoundCollection>

/** Stands in place of a `bindingKey`: every collection has this binding. */
export const EVERY_COLLECTION = '*'

/** Databases have no `/` in their names. */
export const bindingKey = ({ database, collection }: CollectionKey): string =>
  `${database}/${collection}`.toLowerCase()

/** A description begins so if a function of the app counts the collection. */
export const HOOK = 'a function'

/** Where a ledger remembers a binding, among its settings, before its key. */
export const BINDING_PREFIX = 'binding:'

export const authorityOf = (bound: BoundCollections, key: CollectionKey): Authority =>
  (bindingOf(bound, key) ?? bound.get(EVERY_COLLECTION))?.authority ?? 'ledger'

/**
 * The bindings of the configuration that differ from the remembered ones, each as a message.
 * @param remembered descriptions by `bindingKey`
 */
export function changedBindings(
  bound: BoundCollections,
  remembered: ReadonlyMap<string, string>,
): string[] {
  return [...bound].flatMap(([key, { database, collection, authority, description }]) => {
    const before = remembered.get(key)
    if (before === undefined || before === description) return []
    const adopt =
      authority === 'counter'
        ? ', and write a name that several schemas have with its schema, as in sales.order_seq. ' +
          'Or, when everybody who takes from the counter has changed at once: ' +
          `npx offline-hilo-server adopt ${database} ${collection} --from <table>.<column> --apply`
        : ''
    return [
      `${key}: the ledger knows it as ${before}, the configuration says ${description}. ` +
        `Set it back${adopt}.`,
    ]
  })
}

/** @throws CounterUnusable with every problem, if there is any */
export function refuseBindings(problems: readonly string[]): void {
  if (problems.length > 0)
    throw new CounterUnusable(
      `These collections cannot be bound:\n${problems.map((line) => `  ${line}`).join('\n')}`,
    )
}

/**
 * @param remembered the collection's binding, as the ledger remembers it
 * @throws CounterUnusable when the configuration has another binding, or none: the ledger would
 * then grant ids that the other counter gives, too
 */
export function refuseChanged(
  bound: BoundCollections,
  key: CollectionKey,
  remembered: string | undefined,
): void {
  const now = bindingOf(bound, key)?.description
  if (remembered === now) return
  throw new CounterUnusable(
    `The ledger knows ${bindingKey(key)} as ${remembered ?? 'counted by itself'}, this server ` +
      `as ${now ?? 'counted by the ledger'}. Give every server and command the same ` +
      '`collections` (--config), and start the servers again.',
  )
}

const bindingOf = (bound: BoundCollections, key: CollectionKey): BoundCollection | undefined =>
  bound.size === 0 ? undefined : bound.get(bindingKey(key))
