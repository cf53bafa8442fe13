/**
 * Ids in the form that an app's `formatId` gives them. Guarantees that an id is a text, and that a
 * form which leaves the number out makes no id: two numbers would have the same one (H38).
 */
import { reasonOf, shown } from './brief.js'
import { HiloError } from './errors.js'
import type { IdParts } from './names.js'
import type { Range } from './range.js'

export type FormatId = (number: number, parts: IdParts) => string

/**
 * Makes the id of a number.
 * @param granted with the number
 * @throws HiloError `invalid-argument`; one that `formatId` throws stays as it is
 */
export type IdOf = (number: number, granted: Pick<Range, 'prefix' | 'serverTag'>) => string

/**
 * For the ids of one collection.
 * @param nodes those that have granted, once they are two: `orders/…-A`
 */
export function idFormat(
  formatId: FormatId,
  collection: string,
  nodes: () => readonly string[] | undefined = () => undefined,
): IdOf {
  /** The id made last; empty: none was made. */
  let last = ''
  /** They were granted with it. */
  let lastPrefix: string | undefined
  let lastTag: string | undefined

  function made(number: number, prefix: string, serverTag: string): unknown {
    const id: unknown = formatId(number, { collection, prefix, serverTag })
    // If it is a promise, nobody waits for it, nor for its failure.
    if (typeof id !== 'string') Promise.resolve(id).catch(() => {})
    return id
  }

  const refused = (number: number, why: string, details?: { cause: unknown }) =>
    new HiloError(
      'invalid-argument',
      `No id was made: for number ${number} of '${collection}' \`formatId\` ${why}`,
      details,
    )

  /** Undefined: the form refuses it. */
  function tried(number: number, prefix: string, serverTag: string): unknown {
    try {
      return made(number, prefix, serverTag)
    } catch {
      return undefined
    }
  }

  /** Does the form leave the node out? Another one may grant the same number. */
  const isOfAnyNode = (id: string, number: number): boolean | undefined =>
    nodes()?.every((node) => {
      const [prefix = '', tag = ''] = node.split('…')
      return id === tried(number, prefix, tag.slice(1))
    })

  return (number, { prefix, serverTag }) => {
    let id: unknown
    try {
      id = made(number, prefix, serverTag)
    } catch (cause) {
      if (cause instanceof HiloError) throw cause
      throw refused(number, `failed: ${reasonOf(cause)}.`, { cause })
    }
    // guard: H38 an id is a text
    if (typeof id !== 'string' || id === '')
      throw refused(number, `has to make a non-empty text, and made ${described(id)}.`)
    const isNew = prefix !== lastPrefix || serverTag !== lastTag
    if (
      // guard: H38 an id is not the one before
      id === last ||
      // A page that was just opened has made none yet, and another one may have made this id.
      // guard: H38 a form is tried with a second number before its first id
      (isNew && id === tried(number > 1 ? number - 1 : number + 1, prefix, serverTag))
    )
      throw refused(
        number,
        `made ${shown(id)}, as for another number. Put the number into the text.`,
      )
    // guard: H10 an id is refused that leaves the node out, once two nodes have granted
    if (isNew && isOfAnyNode(id, number))
      throw refused(
        number,
        `made ${shown(id)}, as for another node, which may grant the same number. Put ` +
          '`serverTag` into the text.',
      )
    last = id
    lastPrefix = prefix
    lastTag = serverTag
    return id
  }
}

function described(made: unknown): string {
  if (made === undefined) return 'nothing: is a `return` missing?'
  if (made instanceof Promise) return 'a promise: it may not be async'
  return made === '' ? 'an empty one' : `this: ${typeof made}`
}

/** The default of servers. */
const NODE = 'A'
/** A name that a collection may have when an app lists none. */
const SOME = 'orders'

/**
 * Tries a form with two numbers of each collection that an app lists. An error of the form proves
 * nothing: it may refuse low numbers, or those of a node.
 * @throws HiloError `invalid-argument`
 */
export function tryFormat(formatId: FormatId, listed: readonly string[], separator: string): void {
  let isAsked = false
  for (const name of listed.length > 0 ? listed : [SOME]) {
    const form: FormatId = (number, { prefix, serverTag }) => {
      const parts = {
        get collection() {
          isAsked = true
          return name
        },
        prefix,
        serverTag,
      }
      try {
        return formatId(number, parts)
      } catch {
        return `refused ${number}`
      }
    }
    const idOf = idFormat(form, name)
    try {
      for (const number of [1, 2]) idOf(number, { prefix: name + separator, serverTag: NODE })
    } catch (error) {
      // A form that looks at the collection may know only those of its app.
      if (listed.length > 0 || !isAsked) throw error
    }
  }
}
