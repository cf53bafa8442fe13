/** Reads and checks the arguments of the calls that are rare. */
import type { isPlain } from '../core/check-keys.js'
import type { HiloError } from '../core/errors.js'
import type { CollectionRef } from '../core/names.js'
import { utf8Length } from '../core/utf8.js'
import type { checkCall, checkCount } from '../device/hilo-options.js'

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

/** The arguments of `reserve`. */
export type ReserveArgs =
  | [collection: CollectionRef, count: number, options?: ReserveOptions]
  | [counts: Counts, options?: ReserveOptions]

/** The caller passes them in, so that a page does not load a second copy. */
export interface Checks {
  checkCount: typeof checkCount
  checkCall: typeof checkCall
  isPlain: typeof isPlain
  HiloError: typeof HiloError
}

/** @throws HiloError `invalid-argument` */
export function readReserve([first, second, third]: ReserveArgs, checks: Checks) {
  if (typeof first === 'number' && typeof second !== 'number')
    throw new checks.HiloError(
      'invalid-argument',
      `Nothing was reserved: say of which collection, as in \`reserve('orders', ${first})\`.`,
    )
  const isOne = typeof second === 'number' || !checks.isPlain(first)
  const given = isOne ? third : (second as ReserveOptions)
  const options = checks.checkCall(given, 'timeout', 'signal', 'database')
  const pairs = isOne ? [[first, second] as const] : Object.entries(first)
  if (pairs.length === 0)
    throw new checks.HiloError(
      'invalid-argument',
      'Nothing was reserved: `counts` names no collection. Say how many ids of which, as in ' +
        '`reserve({ orders: 500 })`.',
    )
  const counts = pairs.map(([ref, count]) => {
    checks.checkCount(isOne ? 'count' : `counts.${ref}`, count as number)
    return { ref: ref as CollectionRef, count: count as number }
  })
  return { counts, options }
}

/** The arguments of `release`: one collection, or all. */
export type ReleaseArgs =
  | [options?: ReleaseOptions]
  | [collection: CollectionRef | undefined, options?: ReleaseOptions]
type ReleaseOptions = Omit<ReserveOptions, 'timeout'>

/** @throws HiloError `invalid-argument` */
export function readRelease([first, second]: ReleaseArgs, { checkCall, isPlain }: Checks) {
  // A plain object, or a bare signal, is no collection, and must not give everything back.
  const isOptions = isPlain(first) || Object(first) instanceof AbortSignal
  return {
    ref: isOptions ? undefined : (first as CollectionRef | undefined),
    options: checkCall((isOptions ? first : second) as ReleaseOptions, 'signal', 'database'),
  }
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
export function readIdentity(
  given: IdentityOptions | undefined,
  { checkCall, HiloError }: Checks,
): IdentityOptions {
  const options = checkCall(given, 'key', 'signal', 'database')
  const { key } = options
  // As text, all objects would be one key, and get one number.
  if (key === undefined || isKey(key)) return options
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
