/**
 * The tokens that clients send as `Authorization: Bearer …`, and their option. Guarantees that no
 * token is listed twice, nor as its hash, too; that a request takes as long with a thousand tokens
 * as with one; and that this time reveals nothing of a token.
 */
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Checks, checked, databaseName } from '../ledger/option-checks.js'

export type Tokens = readonly (string | ScopedToken)[] | (() => readonly (string | ScopedToken)[])

/** A token that is for some databases, collections or actions, or for several devices. */
export interface ScopedToken {
  /** Or `sha256:` and its hash in hexadecimal, so that the configuration holds no secret. */
  token: string
  /** Default: all. */
  databases?: readonly string[] | undefined
  /** Default: all. Identities are named as in `bills`. */
  collections?: readonly string[] | undefined
  /**
   * Only these. Default: all but `document-read`, `document-write`, `explain`, `seed`,
   * `series-list`, `series-close`, `series-hand-over` and `status`.
   */
  actions?: readonly Action[] | undefined
  /** How many devices use the token: its budget is so many times as large. Default 1. */
  devices?: number | undefined
}

const ACTIONS = [
  /** `hilo/next`, and `hilo/return` with a grant token */
  'claim',
  /** `hilo/return` without a grant token */
  'give-back',
  /** `hilo/checkin` */
  'check-in',
  /** `identity/next` */
  'identity',
  /** `identity/seed` */
  'seed',
  /** `hilo/series`, `hilo/series/checkin` */
  'series',
  /** `GET hilo/series`: the series of all devices */
  'series-list',
  /** `hilo/series/close` */
  'series-close',
  /** `hilo/series/hand-over` */
  'series-hand-over',
  /** `GET hilo/explain`: where a number is */
  'explain',
  /** `GET docs` */
  'document-read',
  /** `PUT` and `DELETE docs`, `bulk_docs` */
  'document-write',
  /** `/metrics` */
  'status',
] as const

export type Action = (typeof ACTIONS)[number]

const MIN_TOKEN_LENGTH = 16
const MOST_DEVICES = 1_000_000

const HASH = /^sha256:([\da-f]{64})$/i

/** The same for a token and for its hash. Nobody can choose a text by its digest. */
const digestOf = (token: string): string => {
  const [, hash] = HASH.exec(token) ?? []
  return hash === undefined ? digestOfSent(token) : Buffer.from(hash, 'hex').toString('base64')
}

/** A client never sends a hash. */
const digestOfSent = (token: string): string => createHash('sha256').update(token).digest('base64')

/**
 * Is this the same token? Also where its hash is listed.
 * @param listed as in `tokens`, not checked yet
 * @param sent as a client sends it
 */
export function isListedAs(listed: unknown, sent: string): boolean {
  const text = typeof listed === 'string' ? listed : (listed as Partial<ScopedToken> | null)?.token
  return typeof text === 'string' && digestOf(text) === digestOfSent(sent)
}

export const token = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'a token has no spaces')
  .min(MIN_TOKEN_LENGTH, `a token has at least ${MIN_TOKEN_LENGTH} characters`)
  .refine(
    (text) => !/^sha256:/i.test(text) || HASH.test(text),
    'the hash of a token is sha256: and 64 hexadecimal digits, as sha256sum prints them',
  )

const action = z
  .custom<Action>()
  .refine((name) => ACTIONS.includes(name), `an action is one of: ${ACTIONS.join(', ')}`)

export const TOKEN_FORM =
  'a token is a text, or {"token": "…", "databases": ["Shop"], "collections": ["orders"], ' +
  '"actions": ["claim"], "devices": 1}'

export const tokens = z
  .array(
    z.union(
      [
        token,
        z.strictObject({
          token,
          databases: z.array(databaseName).min(1, 'is empty: leave it out for all').optional(),
          collections: z
            .array(z.string().min(1))
            .min(1, 'is empty: leave it out for all')
            .optional(),
          devices: z.int().min(1).max(MOST_DEVICES).optional(),
          actions: z.array(action).min(1, 'is empty: the token could do nothing').optional(),
        } satisfies Checks<ScopedToken>),
      ],
      TOKEN_FORM,
    ),
  )
  .min(1, 'is empty: nobody could ask; leave it out to allow everybody')
  .superRefine((entries, context) => {
    const first = new Map<string, number>()
    for (const [i, entry] of entries.entries()) {
      const text = digestOf(typeof entry === 'string' ? entry : entry.token)
      if (first.has(text))
        context.addIssue({
          code: 'custom',
          path: [i],
          message:
            `is the same token as entry ${first.get(text)}. Give each token once, with all that ` +
            'it may do',
        })
      else first.set(text, i)
    }
  })

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
    if (list === hashed?.list) return hashed.byDigest
    // guard: H26 a function's tokens are checked like a list
    if (list !== tokens) checkChanged(list)
    hashed = { list, byDigest: hash(list) }
    return hashed.byDigest
  }

  return (headers) => {
    const sent = /^Bearer +(\S+)$/i.exec(headers.get('Authorization') ?? '')?.[1]
    return sent === undefined ? undefined : byDigest().get(digestOfSent(sent))
  }
}

/** @throws Error: a list that cannot be read whole lets nobody in. An empty one does so, too */
function checkChanged(list: unknown): void {
  if (Array.isArray(list) && list.length === 0) return
  checked(tokens, list, 'The function tokens', (path) => ['tokens()', ...path].join('.'))
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
