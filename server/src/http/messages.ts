/**
 * Reads requests and makes answers. A query is read as RavenDB does: names in any case, the first
 * of several values, and a blank value counts as absent. Refuses in RavenDB's words. Guarantees
 * that a text which is stored or logged is one line of few bytes, that a body which ends too early
 * is refused as the client's failure, that no cache keeps an answer, and that no browser guesses
 * its type.
 */
import { Buffer } from 'node:buffer'
import type { Context } from 'hono'
import { z } from 'zod'
import { HILO_DOCUMENT, isSeparator, MAX_DOCUMENT_ID_BYTES } from '../../../src/core/names.js'
import { badParameter, badRequest, Refusal } from './refusals.js'

/**
 * Resolves with the parsed JSON, or undefined if the body is not JSON.
 * @throws Refusal where the body has another type. A page of another site can send plain text
 * without asking first, but not `application/json`.
 */
export async function readJson(c: Context): Promise<unknown> {
  const type = c.req.header('Content-Type')
  // guard: H26 a body says that it is JSON
  if (!/^application\/json *(;|$)/i.test(type ?? ''))
    throw badRequest(
      `This body has to be JSON, sent with 'Content-Type: application/json'; it came ` +
        `${type === undefined ? 'without a type' : `as '${type}'`}. Nothing was done.`,
    )
  const text = await readText(c)
  if (text === '')
    throw badRequest(
      'This body is empty. If your server reads bodies before this handler, as express.json() ' +
        'does, let the handler come first. Nothing was done.',
    )
  return parseJson(text)
}

/** @throws Refusal */
export async function readText(c: Context): Promise<string> {
  try {
    return await c.req.text()
  } catch {
    throw cutOff()
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const cutOff = () =>
  badRequest('The request ended before its body did. Nothing was done; send it again.')

// As a plain object, Node writes it as it is. `Headers` would be made and taken apart again.
const ALWAYS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }
const ALWAYS_WITH_JSON = { ...ALWAYS, 'Content-Type': 'application/json; charset=utf-8' }

export const answer = (
  body: unknown,
  status = 200,
  headers?: Readonly<Record<string, string>>,
): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: headers ? { ...headers, ...ALWAYS_WITH_JSON } : ALWAYS_WITH_JSON,
  })

/** @param type as `Content-Type` */
export const answerText = (text: string, type: string): Response =>
  new Response(text, { headers: { ...ALWAYS, 'Content-Type': type } })

export const answerNothing = (status: 204 | 304 | 404): Response =>
  new Response(null, { status, headers: ALWAYS })

/** The text between the question mark and the fragment. */
const QUERY = /^[^?#]*\?([^#]*)/
/** .NET's whole numbers: blanks around, a sign, and zero bytes at the end. */
const WHOLE_NUMBER = /^[\t-\r ]*([+-]?\d+)[\t-\r ]*\0*$/
const MIN_LONG = -(2n ** 63n)
const MAX_LONG = 2n ** 63n - 1n

export class Parameters {
  /** By name in lower case. */
  readonly #values = new Map<string, string[]>()

  /** @param url as a `Request` has it */
  constructor(url: string) {
    const [, query] = QUERY.exec(url) ?? []
    for (const [name, value] of new URLSearchParams(query)) {
      const key = name.toLowerCase()
      const values = this.#values.get(key)
      if (values) values.push(value)
      else this.#values.set(key, [value])
    }
  }

  all(name: string): readonly string[] {
    return this.#values.get(name.toLowerCase()) ?? []
  }

  optional(name: string): string | undefined {
    const value = this.all(name)[0]
    return value?.trim() ? value : undefined
  }

  /**
   * A text that is stored, or compared with what is stored. PostgreSQL fails at a zero byte.
   * @throws Refusal
   */
  note(name: string, maxBytes: number): string | undefined {
    const value = this.optional(name)
    if (value !== undefined && (!isNote(value, maxBytes) || value.includes(REPLACED)))
      throw badParameter(
        `Query string '${name}' has control characters, is no well-formed Unicode, or has more ` +
          `than ${maxBytes} bytes of UTF-8.`,
      )
    return value
  }

  /** @throws Refusal */
  mandatory(name: string): string {
    const value = this.optional(name)
    if (value === undefined)
      throw badParameter(`Query string ${name} is mandatory, but wasn't specified.`)
    return value
  }

  /**
   * The name that the request is about. It must come once: two would leave open which one is meant.
   * @throws Refusal
   */
  single(name: string): string {
    const value = this.optional(name)
    if (value === undefined)
      throw badParameter(`Query string value '${name}' must have a non empty value`)
    if (this.all(name).length > 1)
      throw badParameter(`Query string value '${name}' must appear exactly once`)
    return value
  }

  /**
   * Absent is 0.
   * @throws Refusal
   */
  number(name: string): number {
    const text = this.optional(name)
    if (text === undefined) return 0
    const [, digits] = WHOLE_NUMBER.exec(text) ?? []
    const long = digits === undefined ? undefined : BigInt(digits.replace('+', ''))
    if (long === undefined || long < MIN_LONG || long > MAX_LONG)
      throw badParameter(`Could not parse header '${name}' header as long, value was: ${text}`)
    if (!Number.isSafeInteger(Number(long)))
      throw badParameter(
        `Query string '${name}' is beyond 2^53-1, the highest number this server grants.`,
      )
    // `-0` counts as 0.
    return Number(long) + 0
  }

  /**
   * Absent is false.
   * @param words stand before the value where it is neither
   * @throws Refusal
   */
  flag(name: string, words: string): boolean {
    const text = this.optional(name)
    const value = text?.toLowerCase() ?? 'false'
    if (value !== 'true' && value !== 'false')
      throw badParameter(`Could not parse query string '${name}' as ${words} ${text}`)
    return value === 'true'
  }
}

const FORM = /^(?!0000)(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\d{4}(?:Z|([+-])(\d\d?):?(\d\d))?$/
const MAX_OFFSET_MINUTES = 14 * 60

/**
 * Milliseconds since the epoch. Undefined for a text that RavenDB cannot read either; it then goes
 * by the size alone.
 */
export function readLastRangeAt(text: string): number | undefined {
  const [, local, sign, hours, minutes] = FORM.exec(text) ?? []
  const time = Date.parse(`${local}Z`)
  // The 30th of February does not exist, but JavaScript makes the 2nd of March of it.
  if (Number.isNaN(time) || new Date(time).toISOString() !== `${local}Z`) return undefined
  const offset = sign === undefined ? 0 : Number(hours) * 60 + Number(minutes)
  if (offset > MAX_OFFSET_MINUTES) return undefined
  return time - (sign === '-' ? -offset : offset) * 60_000
}

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** @throws Refusal if ids with this separator could be read in two ways */
export function readSeparator(separator: string): string {
  if (separator.length !== 1)
    throw new Refusal(
      'bad-request',
      500,
      'System.InvalidOperationException',
      `Query string identityPartsSeparator is expecting single character, but got '${separator}'.`,
    )
  if (!isSeparator(separator))
    throw badParameter(
      "identityPartsSeparator is one character, and neither '|', which RavenDB keeps for " +
        'identities, nor a letter, a digit or an invisible character.',
    )
  return separator
}

/** @throws Refusal if RavenDB cannot name a document by this tag, or its ids could be misread */
export function checkTag(tag: string, separator: string): void {
  if (!isPlain(tag) || tag.includes(REPLACED))
    throw badParameter('The tag has control characters or is no well-formed Unicode.')
  checkDocumentId(HILO_DOCUMENT + tag)
  if (tag.endsWith(separator))
    throw badParameter(`The tag may not end in the separator '${separator}', which is added to it.`)
}

function checkDocumentId(id: string): void {
  const bytes = Buffer.byteLength(id)
  if (bytes > MAX_DOCUMENT_ID_BYTES)
    throw badParameter(
      `Document ID cannot exceed ${MAX_DOCUMENT_ID_BYTES} bytes, but the ID was ${bytes} bytes. ` +
        `The invalid ID is '${id}'. (Parameter 'str')`,
    )
  if (id.endsWith('|'))
    throw new Refusal(
      'bad-request',
      500,
      'System.NotSupportedException',
      `Document ids cannot end with '|', but was called with ${id}. Identities are only ` +
        'generated for external requests, not calls to PutDocument and such.',
    )
}

export function readId(id: string, name: string): string {
  if (!UUID.test(id)) throw badRequest(`${name} has to be a UUID.`)
  return id.toLowerCase()
}

/**
 * Has neither a lone surrogate, which UTF-8 cannot carry, nor a control character, which could make
 * a second line in a log.
 */
const isPlain = (text: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(text)

/** In a text that was decoded, it stands for bytes that are no UTF-8: many names would be one. */
const REPLACED = '\ufffd'

export { DEFAULT_SEPARATOR, HILO_DOCUMENT, MAX_DOCUMENT_ID_BYTES } from '../../../src/core/names.js'
export { LIMITS } from '../../../src/core/wire.js'

/** Can this be stored? */
export const isNote = (text: string, maxBytes: number): boolean =>
  isPlain(text) && Buffer.byteLength(text) <= maxBytes

export const text = (maxBytes: number) => z.string().refine((given) => isNote(given, maxBytes))

/** As people read it. */
export const time = (at: number): string => new Date(at).toISOString()

/** Bidirectional, zero-width and line-breaking characters as their code points. */
export const visible = (cell: string | number): string =>
  String(cell).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (hidden) => `\\u{${hidden.codePointAt(0)!.toString(16)}}`,
  )
