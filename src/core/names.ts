/**
 * From what an app passes (a name, a class, an entity) to the collection it means, and from a
 * number to its id. Guarantees that a name which the server would refuse or confuse never leaves
 * the page.
 */
import { HiloError } from './errors.js'
import type { Range } from './range.js'

/** A class: `Order`. */
export type EntityClass = abstract new (...args: never[]) => object

/** What ids are for: a collection's name, a class, or an entity (its class counts). */
export type CollectionRef = string | EntityClass | object

/** What a number becomes an id with. */
export interface IdParts {
  /** The collection's tag, as sent to the server. */
  collection: string
  /** `orders/`, as granted. */
  prefix: string
  /** The node that granted the number: `A`; empty when there is none. */
  serverTag: string
}

/**
 * RavenDB stores a counter in a document of this name; with it a tag may take 512 bytes of UTF-8.
 */
const DOCUMENT_PREFIX = 'Raven/Hilo/'
const MAX_DOCUMENT_ID_BYTES = 512

/** The default id: `prefix + number + '-' + serverTag`; without a tag, without the dash. */
export const idSuffix = ({ serverTag }: Pick<Range, 'serverTag'>): string =>
  serverTag ? `-${serverTag}` : ''

/** The class of an entity, or the class itself. */
export function classOf(ref: EntityClass | object): EntityClass {
  const entityClass = typeof ref === 'object' ? (ref as object | null)?.constructor : ref
  if (typeof entityClass !== 'function' || entityClass === Object || !entityClass.name)
    throw invalid('a collection is a non-empty string, a named class, or an entity of one', ref)
  return entityClass as EntityClass
}

/** @throws HiloError `invalid-collection` */
export function checkTag(tag: unknown, separator: string): string {
  if (typeof tag !== 'string' || tag === '')
    throw invalid('a collection name is a non-empty string', tag)
  if (tag.includes('|'))
    throw invalid("a collection name may not contain '|', which RavenDB keeps for identities", tag)
  if (tag.endsWith(separator))
    throw invalid(
      `a collection name may not end in the separator '${separator}', which is added to it`,
      tag,
    )
  if (!isEncodable(tag)) throw invalid('a collection name is well-formed Unicode', tag)
  if (new TextEncoder().encode(DOCUMENT_PREFIX + tag).length > MAX_DOCUMENT_ID_BYTES)
    throw invalid(
      `a collection name has at most ${MAX_DOCUMENT_ID_BYTES - DOCUMENT_PREFIX.length} bytes ` +
        'of UTF-8',
      `${tag.slice(0, 40)}…`,
    )
  return tag
}

function isEncodable(text: string): boolean {
  try {
    return encodeURIComponent(text) !== ''
  } catch {
    return false
  }
}

function invalid(rule: string, value: unknown): HiloError {
  const shown =
    typeof value === 'string'
      ? JSON.stringify(value)
      : typeof value === 'function'
        ? 'an anonymous class'
        : typeof value
  return new HiloError('invalid-collection', `No id was made: ${rule}; this is ${shown}.`)
}
