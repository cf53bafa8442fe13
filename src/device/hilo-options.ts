/**
 * The options of `createHilo`, and their check. A wrong option is refused by name before anything
 * starts. To add one, describe it in `HiloOptions` and give its rule in `CHECKS`.
 */
import { checkKeys, invalid, isPlain } from '../core/check-keys.js'
import { type GivenHeaders, plainHeaders } from '../core/headers.js'
import { tryFormat } from '../core/id-format.js'
import {
  DATABASE_NAME,
  DEFAULT_SEPARATOR,
  type EntityClass,
  type IdParts,
  isSeparator,
  sourceNameOf,
} from '../core/names.js'
import { isSignal } from '../core/on-abort.js'
import { utf8Length } from '../core/utf8.js'
import type { HiloSource } from './contract.js'
import type { DeviceStore } from './device-store.js'
import { DEFAULT_RESERVE } from './sizes.js'

export interface CollectionOptions {
  /**
   * Ids this device keeps for offline work. Default: the `reserve` option. `0` keeps nothing when
   * the page closes, if the device's other pages keep nothing, too.
   */
  reserve?: number
}

export interface HiloOptions<Name extends string = string> {
  /**
   * The URL of the HiLo server, or of a RavenDB. Default: the page's own origin. A relative URL is
   * resolved against the page's address. Not used with a `source`.
   */
  url?: string
  /** The server's database. Default `'default'`. A call may name another. */
  database?: string
  /**
   * Collections that are leased at the start; {@link Hilo.ready} waits for them. Any other
   * collection is leased at its first use. In TypeScript, other names than these are an error then;
   * `createHilo<string>` takes any.
   */
  collections?: { [K in Name]?: CollectionOptions }
  /**
   * The name of this device, for people who ask the server where a number is: `'Till 3'`. Up to 128
   * bytes of UTF-8. Default: nothing.
   */
  device?: string
  /**
   * Ids this device keeps per collection for offline work, at most ten million. Default 32. Where
   * its pages have different options, the largest of the last seven days counts.
   */
  reserve?: number
  /**
   * Name of the IndexedDB database. Default `'offline-hilo'`. Instances of the same name share
   * their ranges, in all tabs of this site.
   */
  name?: string
  /**
   * Where ranges come from, if not from the HiLo server at `url`: a `nextHiSource` or a
   * `documentSource` of `offline-hilo/source`.
   */
  source?: HiloSource
  /**
   * Where this device keeps its ranges, if not in IndexedDB: a `sqliteStore` of
   * `offline-hilo/sqlite`, or one of your own. No worker is started then.
   */
  store?: DeviceStore
  /**
   * Sent with every request: headers as `fetch` takes them, or a function that is asked before each
   * (tokens).
   */
  headers?: GivenHeaders
  /** As for `fetch`. Default `'same-origin'`. */
  credentials?: RequestCredentials
  /** Milliseconds one request, and one call of `nextId`, may take. Default 10 000. */
  timeout?: number
  /** Starts the worker, where a bundler or a content security policy needs its own way. */
  worker?: () => Worker
  /**
   * The character between a collection's name and the number. Default `'/'`. It may not be `'|'`, a
   * letter, a digit or an invisible character.
   */
  identityPartsSeparator?: string
  /**
   * The collection of a class without a `static collection`. Default: the class's name, which a
   * minifier may not have shortened to one or two letters.
   */
  findCollectionName?: (entityClass: EntityClass) => string
  /** From a class's collection name to its tag. Default: as it is. */
  transformCollectionName?: (collectionName: string) => string
  /**
   * Makes the id of a number, at once. Every number of a collection must get its own text, in every
   * page and at any time. `createHilo` tries it with the numbers 1 and 2 of each listed collection
   * and the server tag `'A'`, and refuses one that makes no text, an empty one, or the same for
   * both; so does the first id of a page. Each id must differ from the one before; nobody compares
   * ids that are farther apart. Default: `prefix + number + '-' + serverTag`, or `prefix + number`
   * without a server tag.
   */
  formatId?: (number: number, parts: IdParts) => string
}

/** The collections that options list, or any string when they list none. */
export type NamesOf<Name extends string> = [Name] extends [never] ? string : Name

const DEFAULT_TIMEOUT_MS = 10_000

type Check = [rule: string, isRight: (value: never) => boolean]
const text: Check = [
  'a non-empty string',
  (value: unknown) => typeof value === 'string' && value !== '',
]
/** A larger number is a mistake, and would use up numbers until it is noticed. */
const MAX_COUNT = 10_000_000
const count: Check = [
  `a whole number from 0 to ${MAX_COUNT}`,
  (value: number) => Number.isInteger(value) && value >= 0 && value <= MAX_COUNT,
]
/** URLs drop the path segments `.` and `..`. */
const serverDatabase: Check = [
  "1 to 128 letters, digits or any of '._-', but not '.' or '..'",
  (value: unknown) =>
    typeof value === 'string' && DATABASE_NAME.test(value) && !/^\.\.?$/.test(value),
]
/** The server refuses any other for ever. */
const deviceName: Check = [
  'up to 128 bytes of UTF-8 without control characters',
  (value: unknown) =>
    typeof value === 'string' && !/[\p{Cc}\p{Cs}]/u.test(value) && utf8Length(value) <= 128,
]
const callback: Check = ['a function', (value: unknown) => typeof value === 'function']

const CHECKS: Record<keyof HiloOptions, Check> = {
  url: ['a string', (value: unknown) => typeof value === 'string'],
  database: text,
  collections: ['a plain object, as in { orders: {} }', isPlain],
  device: deviceName,
  reserve: count,
  name: text,
  source: [
    'a nextHiSource, a documentSource, or an object with `key` and `claim`',
    (value: Partial<HiloSource> | null) =>
      typeof value?.claim === 'function' && text[1](value.key as never),
  ],
  store: [
    'a store, like a sqliteStore of offline-hilo/sqlite',
    (value: DeviceStore | null) =>
      (['update', 'read', 'keys', 'close'] as const).every(
        (name) => typeof value?.[name] === 'function',
      ),
  ],
  // Says itself what is wrong.
  headers: ['', (value: HeadersInit) => typeof value === 'function' || !!plainHeaders(value)],
  credentials: [
    "'omit', 'same-origin' or 'include'",
    (value: string) => ['omit', 'same-origin', 'include'].includes(value),
  ],
  timeout: [
    'a number of milliseconds > 0, below 2^31',
    (value: unknown) => typeof value === 'number' && value > 0 && value < 2 ** 31,
  ],
  worker: callback,
  identityPartsSeparator: [
    "one character, but no '|', blank, letter, digit or invisible character",
    isSeparator,
  ],
  findCollectionName: callback,
  transformCollectionName: callback,
  formatId: callback,
}

export type CheckedOptions = HiloOptions &
  Required<
    Omit<
      HiloOptions,
      'source' | 'store' | 'worker' | 'headers' | 'credentials' | 'device' | 'formatId' | 'url'
    >
  > & {
    /** The HiLo server's; empty when there is a source, or a relative one without a page. */
    url: string
    /** The app has set the `reserve` option. */
    isReserveDeclared?: true
  }

/**
 * @param base a relative `url` is resolved against it: the page's address
 * @throws HiloError `invalid-argument`
 */
export function checkOptions(given: HiloOptions, base: string | undefined): CheckedOptions {
  const options = check('options', given, CHECKS)
  const collections = { ...options.collections }
  for (const [name, each] of Object.entries(collections))
    if (each !== undefined)
      collections[name] = check(`collections.${name}`, each, { reserve: count })
  if (options.database !== undefined) checkDatabase(options.database, options)
  const { formatId, identityPartsSeparator = DEFAULT_SEPARATOR } = options
  // guard: H38 a form is tried before anything starts
  if (formatId) tryFormat(formatId, Object.keys(collections), identityPartsSeparator)
  return {
    database: 'default',
    reserve: DEFAULT_RESERVE,
    name: 'offline-hilo',
    timeout: DEFAULT_TIMEOUT_MS,
    identityPartsSeparator,
    findCollectionName: sourceNameOf,
    transformCollectionName: (collectionName) => collectionName,
    ...(Object.fromEntries(
      Object.entries(options).filter(([, value]) => value !== undefined),
    ) as HiloOptions),
    collections,
    url: options.source ? '' : serverUrl(options.url, base),
    ...(options.reserve !== undefined && { isReserveDeclared: true }),
  }
}

/** A host that nobody has. */
const NOWHERE = 'https://nowhere.invalid'

/**
 * Absolute, and without query, fragment and slashes at its end; empty: relative, without a page.
 * Also without the user and password that the page itself may have been opened with: `fetch`
 * refuses such a URL.
 */
function serverUrl(given: string | undefined, base = NOWHERE): string {
  const { protocol, origin, pathname } = asUrl(given || '/', base) ?? {}
  if (!/^https?:/.test(protocol!))
    throw given
      ? invalid('url', 'an http(s) URL, or a path in a page that has one', given)
      : invalid('url', 'given, because this page has no http(s) address', base)
  if (origin === NOWHERE) return ''
  const url = `${origin}${pathname}`.replace(/\/+$/, '')
  const server = url.replace(/\/databases(\/[^/]*)?$/, '')
  if (server !== url) throw invalid('url', `${server} alone: \`database\` is an option`, given)
  return url
}

function asUrl(given: string, base: string): URL | undefined {
  try {
    return new URL(given, base)
  } catch {
    return undefined
  }
}

/**
 * A HiLo server refuses some names for ever; a source of the app may have any.
 * @throws HiloError `invalid-argument`
 */
export function checkDatabase(name: string, { source }: Pick<HiloOptions, 'source'>): string {
  const [rule, isRight] = source ? text : serverDatabase
  if (!isRight(name as never)) throw invalid('database', rule, name)
  return name
}

const anything: Check = ['', () => true]

/** The options of calls. The database and the key are checked where they are used. */
const CALL_CHECKS = {
  database: anything,
  key: anything,
  timeout: [
    'a number of milliseconds > 0, or Infinity',
    (value: unknown) => typeof value === 'number' && value > 0,
  ],
  signal: ['an AbortSignal', (value: unknown) => value === null || isSignal(value)],
} satisfies Record<string, Check>

export interface CallLimits {
  database?: string
  key?: string
  timeout?: number
  signal?: AbortSignal
}

/**
 * The options of a call.
 * @param known the options of this call
 * @throws HiloError `invalid-argument`
 */
export function checkCall(options: unknown, ...known: (keyof CallLimits)[]): CallLimits {
  if (options === undefined || options === null) return {}
  const checks = Object.fromEntries(known.map((key) => [key, CALL_CHECKS[key]]))
  return check('options', options, checks)
}

/** @throws HiloError `invalid-argument` */
export function checkCount(name: string, value: number): void {
  const [rule, isRight] = count
  if (!isRight(value as never)) throw invalid(name, rule, value)
}

/** @throws HiloError `invalid-argument` */
export function checkListener(value: unknown): void {
  if (typeof value !== 'function') throw invalid('listener', 'a function', value)
}

function check<T>(name: string, value: T, checks: Record<string, Check>): T {
  const copy = checkKeys(name, value, Object.keys(checks))
  for (const [key, item] of Object.entries(copy as object)) {
    const [rule, isRight] = checks[key]!
    if (item !== undefined && !isRight(item as never)) throw invalid(`${name}.${key}`, rule, item)
  }
  return copy
}
