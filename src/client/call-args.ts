/** The arguments of `reserve` and `release`, which come in two forms each. */
import type { CollectionRef } from '../core/names.js'
import type { checkCount, checkTimeout } from '../core/options.js'

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
  checkTimeout: typeof checkTimeout
}

/** @throws HiloError `invalid-argument` */
export function readReserve([first, second, third]: ReserveArgs, checks: Checks) {
  const isOne = typeof second === 'number' || !isPlain(first)
  const options = (isOne ? third : (second as ReserveOptions)) ?? {}
  const pairs = isOne ? [[first, second] as const] : Object.entries(first)
  const counts = pairs.map(([ref, count]) => {
    checks.checkCount(isOne ? 'count' : `counts.${ref}`, count as number)
    return { ref: ref as CollectionRef, count: count as number }
  })
  if (options.timeout !== undefined) checks.checkTimeout(options.timeout)
  return { counts, options }
}

/** The arguments of `release`: one collection, or all. */
export type ReleaseArgs =
  | [options?: ReleaseOptions]
  | [collection: CollectionRef | undefined, options?: ReleaseOptions]
type ReleaseOptions = Omit<ReserveOptions, 'timeout'>

export function readRelease([first, second]: ReleaseArgs) {
  // Any other plain object is a mistake, and must not give everything back.
  return isPlain(first) && Object.keys(first).every((key) => key === 'signal')
    ? { ref: undefined, options: first as ReleaseOptions }
    : { ref: first as CollectionRef | undefined, options: second ?? {} }
}

/** An object of no class: `{ orders: 500 }`. */
function isPlain(value: unknown): value is Counts {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
