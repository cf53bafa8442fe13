/**
 * Change vectors, by which RavenDB's clients say which version of a document they have read:
 * `A:7-…` is version 7 of node A. Guarantees that a vector of another document matches no
 * version.
 */
import { createHash } from 'node:crypto'

interface DocumentKey {
  database: string
  id: string
}

/** Equals no version, so a write that expects it is refused. */
export const NEVER = -1

export const changeVector = (nodeTag: string, document: DocumentKey, version: number): string =>
  `${nodeTag}:${version}-${keyOf(document)}`

/**
 * The version that a write expects. Undefined: any; 0: no document.
 * @param expected a change vector, quoted or not; empty: there must be no document; absent: any
 */
export function expectedVersion(
  expected: string | null | undefined,
  document: DocumentKey,
): number | undefined {
  if (expected === undefined || expected === null) return undefined
  const text = unquoted(expected)
  if (text === '') return 0
  const [, version, key] = /^[A-Z]{1,4}:(\d{1,15})-(.*)$/.exec(text) ?? []
  return key === keyOf(document) ? Number(version) : NEVER
}

export const unquoted = (text: string): string => text.replace(/^"(.*)"$/, '$1')

/**
 * The change vector of an answer with documents. As with RavenDB, it is a hash if there are
 * several.
 * @param vectors of its documents; undefined where there is none
 */
export const etagOf = (vectors: readonly (string | undefined)[]): string =>
  vectors.length === 1 ? String(vectors[0]) : `Hash-${hashOf(vectors.join('\n'))}`

/** RavenDB ends a change vector with an id of the database; all its documents share one count. */
const keyOf = ({ database, id }: DocumentKey): string =>
  hashOf(`${database}/${id}`.toLowerCase()).slice(0, 22)

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64')
