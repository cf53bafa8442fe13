/**
 * Change vectors, by which RavenDB's clients say which version of a document they have read:
 * `A:7-…` is version 7 of node A. Guarantees that a vector of another database matches no version.
 */
import { createHash } from 'node:crypto'

/** Equals no version: the write that expects it is refused. */
const NEVER = -1

export const changeVector = (nodeTag: string, database: string, version: number): string =>
  `${nodeTag}:${version}-${databaseId(database)}`

/**
 * The version that a write expects. Undefined: any; 0: no document.
 * @param expected a change vector, quoted or not; empty: there must be no document; absent: any
 */
export function expectedVersion(
  expected: string | null | undefined,
  database: string,
): number | undefined {
  if (expected === undefined || expected === null) return undefined
  const text = expected.replace(/^"(.*)"$/, '$1')
  if (text === '') return 0
  const [, version, id] = /^[A-Z]{1,4}:(\d{1,15})-(.*)$/.exec(text) ?? []
  return id === databaseId(database) ? Number(version) : NEVER
}

/** RavenDB ends a change vector with an id of the database. */
const databaseId = (database: string): string =>
  createHash('sha256').update(database.toLowerCase()).digest('base64').slice(0, 22)
