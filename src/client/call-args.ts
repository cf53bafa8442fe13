/** Reads and checks the arguments of the calls that are rare. */
import type { HiloError } from '../core/errors.js'
import type { CollectionRef } from '../core/names.js'
import { utf8Length } from '../core/utf8.js'
import type { checkCount } from '../device/hilo-options.js'

export interface ReserveOptions {
  /** Another database than the `database` option's. */
  database?: string
  /** Milliseconds until the call rejects with `timeout`. Default: only each request has a limit. */
  timeout?: number
  /** Aborting rejects the call with `aborted`. */
  signal?: AbortSignal
}

/** How many ids of each collection a device shall have: `{ orders: 500, customers: 100 }`. */
export type Counts<Name extends string = string> = { readonly [K in Name]?: number }

/** The arguments of `reserve`, without its options. */
export type ReserveArgs = [collection: CollectionRef, count: number] | [counts: Counts]

/** The caller passes them in, so that a page does not load a second copy. */
export interface Checks {
  checkCount: typeof checkCount
  HiloError: typeof HiloError
}

/** @throws HiloError `invalid-argument` */
export function readReserve(args: ReserveArgs, checks: Checks) {
  const [first, second] = args
  if (typeof first === 'number' && typeof second !== 'number')
    throw new checks.HiloError(
      'invalid-argument',
      `Nothing was reserved: say of which collection, as in \`reserve('orders', ${first})\`.`,
    )
  const isOne = args.length > 1
  const pairs = isOne ? [[first, second] as const] : Object.entries(first)
  if (pairs.length === 0)
    throw new checks.HiloError(
      'invalid-argument',
      'Nothing was reserved: `counts` names no collection. Say how many ids of which, as in ' +
        '`reserve({ orders: 500 })`.',
    )
  return pairs.map(([ref, count]) => {
    checks.checkCount(isOne ? 'count' : `counts.${ref}`, count as number)
    return { ref: ref as CollectionRef, count: count as number }
  })
}

export interface IdentityOptions {
  /** Another database than the `database` option's. */
  database?: string
  /**
   * Names the document of the number, best by the id of the invoice itself. For 30 days, the same
   * key gets the same number, also after a lost answer, a crash, or on another device. Up to 128
   * bytes of UTF-8. Default: a new one for each call.
   */
  key?: string
  /** Aborting rejects the call with `aborted`. */
  signal?: AbortSignal
}

/** In UTF-8. */
const MAX_KEY_BYTES = 128

/** @throws HiloError `invalid-argument` */
export function checkIdentityKey(key: unknown, { HiloError }: Checks): void {
  // As text, all objects would be one key, and get one number.
  if (key === undefined || isKey(key)) return
  const shown = typeof key === 'string' ? JSON.stringify(key) : typeof key
  throw new HiloError(
    'invalid-argument',
    `No number was taken: \`key\` has to be a text of 1 to ${MAX_KEY_BYTES} bytes of UTF-8, ` +
      `without control characters; this is ${shown}.`,
  )
}

const isKey = (key: unknown): boolean =>
  typeof key === 'string' &&
  key !== '' &&
  !/[\p{Cc}\p{Cs}]/u.test(key) &&
  utf8Length(key) <= MAX_KEY_BYTES
