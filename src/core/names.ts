/**
 * Finds the collection that an app means by a name, a class or an entity. Guarantees that the page
 * never sends a name that the server would refuse, or take for another one.
 */
import { shown } from './brief.js'
import { HiloError } from './errors.js'
import type { Range } from './range.js'
import { utf8Length } from './utf8.js'

/** A class: `Order`. Its collection is `static collection = 'orders'`, if it has that. */
export type EntityClass = (abstract new (...args: never[]) => object) & { collection?: unknown }

/** An object of the app's, but no promise and no array. */
type Entity = object & { then?: never; [Symbol.unscopables]?: never }

/** Names a collection: by its name, by its class, or by an entity of that class. */
export type CollectionRef<Name extends string = string> = Name | EntityClass | Entity

/** The second argument of `formatId`, which comes with the number. */
export interface IdParts {
  /** The collection's tag, as sent to the server. */
  collection: string
  /** The text before the number, as the server granted it: `orders/`. */
  prefix: string
  /** The node that granted the number: `A`; empty when there is none. */
  serverTag: string
}

/** RavenDB keeps the counter of `orders` in the document `Raven/Hilo/orders`. */
export const HILO_DOCUMENT = 'Raven/Hilo/'
/** In UTF-8. */
export const MAX_DOCUMENT_ID_BYTES = 512
export const DEFAULT_SEPARATOR = '/'

/** The databases that RavenDB and offline-hilo-server can have. */
export const DATABASE_NAME = /^[\p{L}\p{N}._-]{1,128}$/u

/**
 * May this stand between a collection and a number? A digit or a letter may not: with the separator
 * `1`, the id `a1511` could be number 511 of `a`, or number 1 of `a15`. A blank means the default
 * to RavenDB, a character beyond U+FFFF is two to it, U+FFFD stands for bytes that are no UTF-8,
 * and nobody sees where an invisible one is.
 */
export const isSeparator = (value: unknown): boolean =>
  typeof value === 'string' &&
  /^[^|\s\p{L}\p{M}\p{N}\p{Cc}\p{Cf}\p{Cs}\ufffd\u{10000}-\u{10ffff}]$/u.test(value)

/** The text after the number: `-A`, or nothing when no node is named. */
export const idSuffix = ({ serverTag }: Pick<Range, 'serverTag'>): string =>
  serverTag ? `-${serverTag}` : ''

/** How classes name collections, and the separator between a collection and a number. */
export interface Conventions {
  findCollectionName: (entityClass: EntityClass) => string
  transformCollectionName: (collectionName: string) => string
  identityPartsSeparator: string
}

/**
 * The name of the collection that an app means: the string, or the class's `static collection`, as
 * they are. Without them, the conventions make it of the class.
 * @throws HiloError `invalid-collection`
 */
export function collectionOf(ref: CollectionRef, conventions: Conventions): string {
  const name = typeof ref === 'string' ? ref : nameByClass(classOf(ref), conventions)
  return checkTag(name, conventions.identityPartsSeparator)
}

function nameByClass(entityClass: EntityClass, conventions: Conventions): string {
  const { collection } = entityClass
  if (typeof collection === 'string') return collection
  return conventions.transformCollectionName(conventions.findCollectionName(entityClass))
}

/** A minifier names classes `t` or `Xe`, and in the next build another class has that name. */
const LONGEST_MINIFIED = 2

/**
 * The name of a class, as its source has it.
 * @throws HiloError `invalid-collection` when a minifier seems to have made it
 */
export function sourceNameOf({ name }: EntityClass): string {
  if (name.length > LONGEST_MINIFIED) return name
  throw badName(
    'a minifier seems to have named the class. Give it a ' +
      "`static collection = 'orders'`, or pass the name",
    `the class ${name}`,
  )
}

/**
 * The class of an entity, or the class itself.
 * @throws HiloError `invalid-collection`
 */
export function classOf(ref: EntityClass | object): EntityClass {
  try {
    return readClass(ref)
  } catch (error) {
    // A revoked proxy, or a getter that throws.
    throw error instanceof HiloError ? error : notAClass('unreadable')
  }
}

function readClass(ref: EntityClass | object): EntityClass {
  if (typeof (ref as PromiseLike<unknown> | null)?.then === 'function')
    throw notAClass('a promise (is an `await` missing?)')
  const entityClass = typeof ref === 'object' ? (ref as object | null)?.constructor : ref
  // An arrow function has no prototype, and that of a generator function names no class.
  if (
    typeof entityClass !== 'function' ||
    !Object.hasOwn(entityClass.prototype ?? {}, 'constructor') ||
    !entityClass.name
  )
    throw notAClass(describe(ref))
  if (BUILT_IN.test(Function.prototype.toString.call(entityClass)) || isGlobal(entityClass))
    throw notAClass(`the built-in ${entityClass.name}`)
  return entityClass as EntityClass
}

/** The source text of `Array`, `Map`, `Date` and all other classes of the browser. */
const BUILT_IN = /^function \w+\(\) \{\s*\[native code\]\s*\}$/

/** `URL` and `Buffer` of Node, say. A global variable of the app's own is enumerable. */
const isGlobal = (entityClass: { name: string }): boolean =>
  Reflect.get(globalThis, entityClass.name) === entityClass &&
  !Object.keys(globalThis).includes(entityClass.name)

const notAClass = (shown: string): HiloError =>
  badName('a collection is a non-empty string, a named class, or an entity of one', shown)

/** @throws HiloError `invalid-collection` */
export function checkTag(tag: unknown, separator: string): string {
  if (typeof tag !== 'string' || tag.trim() === '')
    throw invalid('a collection name is a non-empty string', tag)
  if (tag.includes('|'))
    throw invalid("a collection name may not contain '|', which RavenDB keeps for identities", tag)
  if (tag.endsWith(separator))
    throw invalid(
      `a collection name may not end in the separator '${separator}', which is added to it`,
      tag,
    )
  // Half of a surrogate pair fits into no URL, U+FFFD stands for bytes that were no text, and
  // servers refuse control characters for ever.
  if (/[\p{Cc}\p{Cs}\ufffd]/u.test(tag))
    throw invalid('a collection name is well-formed Unicode without control characters', tag)
  // guard: H24 what nobody sees makes no other collection
  const [unseen] = /[\p{Cf}\p{DI}]/u.exec(tag) ?? []
  if (unseen !== undefined)
    throw invalid(
      `a collection name has no invisible character, and this one has ` +
        `U+${unseen.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}. Remove it`,
      tag,
    )
  // guard: H24 a blank at an end, or of another kind, makes no other collection
  if (tag !== tag.trim() || /(?! )\s/.test(tag))
    throw invalid(
      'a collection name has no blank at its ends, and no other blank than a space. Pass ' +
        '`name.trim()`',
      tag,
    )
  // guard: H24 two spellings that look the same are not two collections
  if (tag !== tag.normalize('NFC'))
    throw invalid("a collection name is in composed form. Pass `name.normalize('NFC')`", tag)
  if (utf8Length(HILO_DOCUMENT + tag) > MAX_DOCUMENT_ID_BYTES)
    throw invalid(
      `a collection name has at most ${MAX_DOCUMENT_ID_BYTES - HILO_DOCUMENT.length} bytes ` +
        'of UTF-8',
      `${tag.slice(0, 40)}…`,
    )
  return tag
}

const invalid = (rule: string, value: unknown): HiloError => badName(rule, describe(value))

const describe = (value: unknown): string =>
  typeof value === 'function' ? 'a function that is no named class' : shown(value)

const badName = (rule: string, shown: string): HiloError =>
  new HiloError('invalid-collection', `offline-hilo did nothing: ${rule}; this is ${shown}.`)
