/**
 * Reads a query as RavenDB does: names in any case, the first of several values, and a blank value
 * counts as absent. It refuses in RavenDB's words.
 */
import { badParameter } from './refusals.js'

/** What is between the question mark and the fragment. */
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
