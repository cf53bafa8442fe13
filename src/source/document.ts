/**
 * Takes ranges from a document `{"Max": n}` that devices move up by conditional writes, as clients
 * of RavenDB 2 and 3 do. The store can be a RavenDB, offline-hilo-server, or anything that honours
 * `If-Match`, such as an object store. Guarantees that a range is used only after the store has
 * shown that this device moved the document over it. When the answer to a write is lost, its
 * numbers are a gap.
 */
import { baseUrl } from '../core/base-url.js'
import { checkKeys } from '../core/check-keys.js'
import { HiloError } from '../core/errors.js'
import type { GivenHeaders } from '../core/headers.js'
import { MAX_DOUBLED_CAPACITY, MIN_CAPACITY } from '../core/wire.js'
import type { HiloSource, Target } from '../device/contract.js'
import type { DeviceClaim, GrantedRange } from '../device/state.js'
import { DocumentStore } from './document-store.js'
import { granted, within } from './http.js'

export interface DocumentOptions {
  /**
   * The address of a collection's document; `{collection}` and `{database}` are filled in. On a
   * server that speaks RavenDB's protocol:
   * `/databases/{database}/docs?id=Raven/Hilo/{collection}`. On RavenDB 2 and 3:
   * `/databases/{database}/docs/Raven/Hilo/{collection}`. From these, the document
   * `Raven/ServerPrefixForHilo` is read as well. A relative URL is resolved against the page's
   * address. It has no signature that changes: add one in `fetch`.
   */
  url: string
  /**
   * Names the store and the tenant that `headers` or `fetch` choose; required as soon as one of
   * them is given. A device keeps the ranges of different keys apart. Change it whenever the same
   * `url` means other documents.
   */
  key?: string
  /**
   * The smallest range to take. Default 32. A claim takes more while the app uses ids fast, and
   * when other devices often move the document at the same moment.
   */
  capacity?: number
  /**
   * Sent with every request: headers as `fetch` takes them, or a function that is asked before each
   * (tokens).
   */
  headers?: GivenHeaders
  /** Replaces `fetch`: for requests that have to be signed, or sent with credentials. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/**
 * The pause after a lost race starts here and doubles. Each pause is shortened at random, so that
 * the same devices do not meet again.
 */
const FIRST_PAUSE_MS = 50
const LAST_PAUSE_MS = 2_000
/** After so many lost races in a row, something else is wrong. */
const MAX_RACES = 12
/** A device that loses races doubles the size of its claim, up to so many times the size. */
const MAX_GROWTH = 16

type Place = Pick<Target, 'database' | 'collection'>

/** A relative URL means other documents in another folder; the address of this one shows which. */
const EXAMPLE: Place = { database: 'database', collection: 'collection' }

/**
 * @example
 * createHilo({ source: documentSource({ url: '/counters/{collection}.json' }) })
 *
 * @throws HiloError `invalid-argument`
 */
export function documentSource(options: DocumentOptions): HiloSource {
  const known = ['url', 'key', 'capacity', 'headers', 'fetch']
  const given = checkKeys('options', options, known)
  const { url, key, capacity: minSize = MIN_CAPACITY, headers, fetch: send } = given
  // An app may navigate later, and a relative URL would then mean another document.
  const base = baseUrl(globalThis.location)
  checkTemplate(url, base)
  const { searchParams } = new URL(addressOf(url, base, EXAMPLE))
  const signature = [...searchParams.keys()].find(isSignature)
  // guard: H24 a signature that changes makes no new key
  if (signature)
    throw invalid(
      `\`url\` has the parameter "${signature}", which changes: with each new one the device ` +
        'would leave its ranges behind. Leave it out, and add it to each request in `fetch`',
    )
  if (key === undefined && (headers || send))
    throw invalid(
      '`key` has to name the store and the tenant, since `headers` and `fetch` may choose them: ' +
        'a device keeps the ranges of different keys apart',
    )
  if (key !== undefined && (typeof key !== 'string' || key === ''))
    throw invalid('`key` has to be a non-empty string')
  if (!Number.isSafeInteger(minSize) || minSize < 1 || minSize > MAX_DOUBLED_CAPACITY)
    throw invalid(`\`capacity\` has to be a whole number from 1 to ${MAX_DOUBLED_CAPACITY}`)
  const store = new DocumentStore(headers ?? {}, send ?? fetch)
  /** Addresses of documents whose store was seen to refuse a write under a wrong version. */
  const tested = new Set<string>()

  async function take(
    address: string,
    target: Target,
    claim: DeviceClaim,
    signal: AbortSignal,
  ): Promise<GrantedRange> {
    const size = Math.max(minSize, claim.lastBatchSize)
    for (let lost = 0; ; lost++) {
      const document = await store.read(address, signal)
      // guard: H20 a document goes on above what this device has seen
      const from = Math.max(document.content.Max, claim.lastMax) + 1
      const to = from + Math.min(size * Math.min(2 ** lost, MAX_GROWTH), MAX_DOUBLED_CAPACITY) - 1
      if (!Number.isSafeInteger(to)) throw beyondSafe(address, document.content.Max)
      const isNew = document.version === undefined
      if (!isNew && !tested.has(address)) {
        // guard: H21 a store that ignores the version is found out
        await store.testVersionCheck(document, signal)
        tested.add(address)
      }
      const conflict = await store.moveTo(to, `${claim.id} ${from}-${to}`, document, signal)
      if (conflict === undefined) {
        if (isNew) await store.testNewCheck(document, to, signal)
        const prefix = target.collection + target.separator + document.serverPrefix
        return {
          range: { from, to, prefix, serverTag: '' },
        }
      }
      // Nobody can have deleted a file that was not there: a proxy answers, or the place does not
      // exist.
      const isNoPlace = isNew && conflict === 404
      if (lost === MAX_RACES || isNoPlace) throw alwaysLost(address, conflict, lost + 1)
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** lost, LAST_PAUSE_MS) * Math.random())
      signal.throwIfAborted()
    }
  }

  return {
    // guard: H24 the whole address of a document is part of the key
    key: `document ${JSON.stringify([addressOf(url, base, EXAMPLE), url, key])}`,
    claim: (target, claim, timeout) => {
      const address = addressOf(url, base, target)
      return granted(within(timeout, address, (signal) => take(address, target, claim, signal)))
    },
  }
}

/** Of Azure, Amazon and Google, and of an app. */
const isSignature = (parameter: string): boolean =>
  /^(sig|(x-amz-|x-goog-)?signature|(access_)?token)$/i.test(parameter)

/** @throws HiloError `invalid-argument` */
function checkTemplate(url: unknown, base: string | undefined): void {
  const isTemplate =
    typeof url === 'string' &&
    url !== '' &&
    !/[{}]/.test(fill(url, { database: '', collection: '' }))
  try {
    if (isTemplate && addressOf(url, base, EXAMPLE)) return
  } catch {}
  throw invalid(
    '`url` has to be a URL, or a path in a page, in which only {collection} and {database} are ' +
      'filled in',
  )
}

/** Without the user and password that the page may have been opened with: `fetch` refuses them. */
function addressOf(url: string, base: string | undefined, place: Place): string {
  const address = new URL(fill(url, place), base)
  address.username = ''
  address.password = ''
  return address.href
}

const fill = (url: string, place: Place): string =>
  url.replace(/\{(collection|database)\}/g, (_, name: keyof Place) =>
    encodeURIComponent(place[name]),
  )

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const beyondSafe = (address: string, max: number): HiloError =>
  new HiloError(
    'unsafe-range',
    `${address} is at ${max}: its next numbers pass 2^53−1, and none was taken. Continue this ` +
      'collection under a new name.',
  )

const alwaysLost = (address: string, status: number, times: number): HiloError =>
  new HiloError(
    'server-unreachable',
    `${address} answered ${status} to ${times} writes in a row: very many devices move it, or it ` +
      'cannot be written at all. It is asked again later.',
  )

const invalid = (why: string): HiloError =>
  new HiloError('invalid-argument', `documentSource did nothing: ${why}.`)
