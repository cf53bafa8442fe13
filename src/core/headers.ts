/** The request headers that an app gives, in a form that can be sent to a worker. */
import { reasonOf } from './brief.js'
import { HiloError } from './errors.js'

/** The headers of each request, or a function that is asked before each of them: for tokens. */
export type GivenHeaders = HeadersInit | (() => HeadersInit | Promise<HeadersInit>)

/**
 * A `Headers` cannot be sent to a worker, and it has no properties to copy.
 * @throws HiloError `invalid-argument` when `fetch` would not take these
 */
export function plainHeaders(headers: HeadersInit | undefined): Record<string, string> {
  try {
    // `fetch` would send the word "undefined", and nothing of a promise.
    if (headers instanceof Promise) throw new Error('a promise')
    for (const [name, value] of Object.entries(headers ?? {}))
      if (value == null) throw new Error(`${name} is ${value}`)
    return Object.fromEntries(new Headers(headers))
  } catch (cause) {
    throw new HiloError(
      'invalid-argument',
      `No request was sent: \`headers\` are not what fetch takes (${reasonOf(cause)}). ` +
        'Pass { name: value }. For characters beyond U+00FF, use `encodeURIComponent(value)`.',
      { cause },
    )
  }
}
