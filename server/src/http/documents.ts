/**
 * RavenDB's documents of counters: their ids; their change vectors, by which a client says which
 * version it has read (`A:7-…` is version 7 of node A); and why a write is refused. Guarantees that
 * a vector of another document matches no version.
 */
import { createHash } from 'node:crypto'
import type { MarkRefusal } from '../ledger/ledger.js'
import { checkTag, DEFAULT_SEPARATOR, HILO_DOCUMENT } from './messages.js'
import { badParameter, quotaReached, Refusal, refused, restored } from './refusals.js'

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

export interface Conflict {
  id: string
  kind: 'Put' | 'Delete'
  /** The change vector that the write expected; empty: no document. */
  expected: string
  /** Undefined: there is no document. */
  actual: string | undefined
}

const END = 'Optimistic concurrency violation, transaction will be aborted.'

/** @param status RavenDB's, or HTTP's for `If-None-Match` */
export const conflicted = (conflict: Conflict, status: 409 | 412): Refusal =>
  new Refusal(
    'conflict',
    status,
    'Raven.Client.Exceptions.ConcurrencyException',
    `Document ${wordsOf(conflict)}. ${END}`,
    {},
    versionsOf(conflict),
  )

function wordsOf({ id, kind, expected, actual }: Conflict): string {
  if (kind === 'Delete')
    return actual === undefined
      ? `${id.toLowerCase()} does not exist, but delete was called with change vector '${expected}'`
      : `${id} has change vector ${actual}, but Delete was called with change vector '${expected}'`
  if (actual === undefined)
    return `${id} does not exist, but Put was called with change vector: ${expected}`
  const what = expected === '' ? 'expecting new document' : `change vector ${expected}`
  return `${id} has change vector ${actual}, but Put was called with ${what}`
}

/** RavenDB names no version when a document that is to be deleted is not there. */
const versionsOf = ({ id, kind, expected, actual }: Conflict) =>
  kind === 'Delete' && actual === undefined
    ? { Id: null, ExpectedChangeVector: null, ActualChangeVector: null }
    : { Id: id, ExpectedChangeVector: expected, ActualChangeVector: actual ?? null }

export const isSame = (id: string, other: string): boolean =>
  id.toLowerCase() === other.toLowerCase()

const isHiloDocument = (id: string): boolean =>
  id.toLowerCase().startsWith(HILO_DOCUMENT.toLowerCase())

/** @throws Refusal */
export function tagOf(id: string): string {
  if (!isHiloDocument(id))
    throw refused(
      'limit',
      `This server stores no documents but ${HILO_DOCUMENT}…: keep '${id.slice(0, 100)}' in ` +
        'a database.',
    )
  const tag = id.slice(HILO_DOCUMENT.length)
  if (tag.trim() === '')
    throw badParameter(`The id needs the name of a collection after ${HILO_DOCUMENT}.`)
  checkTag(tag, DEFAULT_SEPARATOR)
  return tag
}

/** Undefined where no document can have such an id. */
export function tagToRead(id: string): string | undefined {
  if (!isHiloDocument(id) || /[/|]$/.test(id)) return undefined
  return tagOf(id)
}

export function writeRefused(
  why: Exclude<MarkRefusal['refused'], 'conflict'>,
  { write, mark }: MarkRefusal,
): Refusal {
  const document = HILO_DOCUMENT + write.collection
  switch (why) {
    case 'jump':
      return refused(
        'jump',
        `Document ${document} is at ${mark.max}; ${write.max} is too far above to be ` +
          'believed. To go there, run: npx offline-hilo-server raise-floor.',
      )
    case 'overflow':
      return refused(
        'no-numbers',
        `Document ${document} would pass limits.maxId. Raise it, if your id column can hold ` +
          'higher numbers. Nothing was written.',
      )
    case 'full':
      return quotaReached('collections')
    case 'restored':
      return restored([write.database])
    case 'bound':
      return refused(
        'limit',
        `The numbers of '${write.collection}' come from another counter, which ${document} ` +
          'does not move. Claim ranges instead.',
      )
  }
}
