/** The request headers that an app gives, in a form that can be sent to a worker. */

/** What requests are sent with, or a function that is asked before each of them: for tokens. */
export type GivenHeaders = HeadersInit | (() => HeadersInit | Promise<HeadersInit>)

/**
 * A `Headers` cannot be sent to a worker, and it has no properties to copy.
 * @throws TypeError when these are no headers
 */
export const plainHeaders = (headers: HeadersInit | undefined): Record<string, string> =>
  Object.fromEntries(new Headers(headers))
