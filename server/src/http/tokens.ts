/**
 * The tokens that clients send as `Authorization: Bearer …`. Guarantees that a request takes as
 * long with a thousand tokens as with one, and that this time reveals nothing of a token.
 */
import { digestOf, digestOfSent, type ScopedToken, type Tokens } from './token-options.js'

export interface FoundToken extends ScopedToken {
  /** The same for each request with the token. Nobody can tell the token by it. */
  name: string
}

/**
 * The returned function finds the token of a request, undefined where it has no valid one.
 * @param tokens a function is called for each request. While it returns the same list, nothing is
 * hashed anew.
 */
export function tokenFinder(tokens: Tokens): (headers: Headers) => FoundToken | undefined {
  let hashed: { list: readonly (string | ScopedToken)[]; byDigest: Map<string, FoundToken> }

  function byDigest(): Map<string, FoundToken> {
    const list = typeof tokens === 'function' ? tokens() : tokens
    if (list !== hashed?.list) hashed = { list, byDigest: hash(list) }
    return hashed.byDigest
  }

  return (headers) => {
    const sent = /^Bearer +(\S+)$/i.exec(headers.get('Authorization') ?? '')?.[1]
    return sent === undefined ? undefined : byDigest().get(digestOfSent(sent))
  }
}

const hash = (tokens: readonly (string | ScopedToken)[]): Map<string, FoundToken> =>
  new Map(
    tokens
      .map((each) => (typeof each === 'string' ? { token: each } : each))
      .map((each) => {
        const found = digestOf(each.token)
        return [found, { ...each, name: found.slice(0, NAME_LENGTH) }]
      }),
  )

/** Enough to tell the tokens of a server apart, and too few to try guesses of a token with. */
const NAME_LENGTH = 8
