/** The names under which the ledger files numbers. */

/** A collection of a database. Both names are compared lower-cased. */
export interface CollectionKey {
  database: string
  collection: string
}

/** An identity: a counter of RavenDB's without ranges. Both names are compared lower-cased. */
export interface IdentityKey {
  database: string
  /** `orders|` */
  name: string
}
