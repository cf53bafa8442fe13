/**
 * How rows are found: by database and name, both compared lower-cased. A key as one text serves as
 * the key of a map.
 */
import type { CollectionKey, IdentityKey } from './ledger.js'

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

/** The separator is in no name: names with control characters are refused. */
export const keyText = ({ database, collection }: CollectionKey): string =>
  `${database}\n${collection}`

/** @param key with the serial of a grant */
export const serialText = (key: CollectionKey & { serial: number }): string =>
  `${keyText(key)}\n${key.serial}`

export const identityText = ({ database, name }: IdentityKey): string => `${database}\n${name}`

export const isSame = (a: CollectionKey, b: CollectionKey): boolean =>
  a.database === b.database && a.collection === b.collection

/** Each key once, in the order of its first appearance. */
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
