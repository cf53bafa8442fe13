/**
 * Ranges from a document `{"Max": n}` that devices move up by conditional writes, as RavenDB 2 and
 * 3's clients do: in RavenDB, in this package's server, or in any store that honours `If-Match`,
 * object stores included. Guarantees that a range is issued only after the store has confirmed that
 * this device, and no other, moved the document over it. The document only ever goes up, which also
 * makes stores safe whose `ETag` is a hash of the content; a write whose answer was lost is a gap.
 */
import type { HiloSource, Target } from '../core/contract.js'
import { HiloError } from '../core/errors.js'
import type { ClaimRequest, GrantedRange } from '../core/state.js'
import {
  capacity,
  formatServerTime,
  MAX_DOUBLED_CAPACITY,
  MIN_CAPACITY,
  parseServerTime,
} from '../core/wire.js'
import { type GetHeaders, granted, refusal, unreachable, within } from './http.js'

export interface DocumentOptions {
  /**
   * Where a collection's document is: `{collection}` and `{database}` are filled in. Of a server
   * that speaks RavenDB's protocol:
   * `/databases/{database}/docs?id=Raven/Hilo/{collection}`; of RavenDB 2 and 3: `/databases/{database}/docs/Raven/Hilo/{collection}`.
   * Then `Raven/ServerPrefixForHilo` is read in the same breath.
   */
  url: string
  /**
   * The least numbers to take at once: 32, the default, or more. It takes more when they go fast,
   * or when many devices move the document.
   */
  capacity?: number
  /** Sent with every request: an object, or a function that is asked before each (tokens). */
  headers?: Record<string, string> | GetHeaders
  /** In the place of `fetch`: for requests that have to be signed, or sent with credentials. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** The document as it was read. */
interface Found {
  /** What else is in it is written back as it was. */
  content: { Max: number }
  /** What a write has to name; undefined: there is no document yet. */
  version: string | undefined
  serverPrefix: string
}

/** How a kind of store is asked to write only if. */
interface Conditions {
  /** There is no document yet. */
  isNew: Record<string, string>
  /** Its version is one that it never has. */
  never: Record<string, string>
}

const PREFIX_DOCUMENT = 'Raven/ServerPrefixForHilo'
/**
 * RavenDB 4 and later, and this package's server: documents are wrapped, and an empty version is
 * that of none.
 */
const RAVEN = /[?&]id=Raven(\/|%2F)Hilo(\/|%2F)/i
/** RavenDB 2 and 3: an address per document; a version is a GUID, and only zeros that of none. */
const OLD_RAVEN = /\/docs\/Raven\/Hilo\/[^?]*/i
const NEVER = { 'If-Match': '"offline-hilo-probe"' }
const OF_RAVEN: Conditions = { isNew: { 'If-Match': '""' }, never: NEVER }
const OF_OLD_RAVEN: Conditions = {
  isNew: { 'If-None-Match': '00000000-0000-0000-0000-000000000000' },
  never: { 'If-Match': 'ffffffff-ffff-ffff-ffff-ffffffffffff' },
}
const OF_OTHERS: Conditions = { isNew: { 'If-None-Match': '*' }, never: NEVER }
/**
 * A store that ignores the condition writes the probe: far above anything that others write
 * meanwhile, so that it makes a gap, not a duplicate.
 */
const PROBE_JUMP = 1_000_000
/**
 * Pauses after a lost race start here and double, each shortened at random, so that devices do not
 * meet again.
 */
const FIRST_PAUSE_MS = 50
const LAST_PAUSE_MS = 2_000
/** So many races lost in a row are no accident. */
const MAX_LOST = 12
/** A device that loses races takes more at once, up to so many times as much. */
const MAX_GROWTH = 16

/**
 * @example
 * createHilo({ source: documentSource({ url: '/counters/{collection}.json' }) })
 *
 * @throws HiloError `invalid-argument`
 */
export function documentSource({
  url,
  capacity: least = MIN_CAPACITY,
  headers = {},
  fetch: send = fetch,
}: DocumentOptions): HiloSource {
  if (
    typeof url !== 'string' ||
    url === '' ||
    /[{}]/.test(url.replace(/\{(collection|database)\}/g, ''))
  )
    throw invalid(
      '`url` has to be an address, in which only {collection} and {database} are filled in',
    )
  if (!Number.isSafeInteger(least) || least < 1 || least > MAX_DOUBLED_CAPACITY)
    throw invalid(`\`capacity\` has to be a whole number from 1 to ${MAX_DOUBLED_CAPACITY}`)
  /** Documents of stores that were seen to honour conditions. */
  const proven = new Set<string>()

  async function request(address: string, init: RequestInit): Promise<Response> {
    const own = typeof headers === 'function' ? await headers() : headers
    return send(address, { cache: 'no-store', ...init, headers: { ...own, ...init.headers } })
  }

  async function read(address: string, signal: AbortSignal): Promise<Found> {
    const [response, serverPrefix] = await Promise.all([
      request(RAVEN.test(address) ? `${address}&id=${PREFIX_DOCUMENT}` : address, { signal }),
      OLD_RAVEN.test(address)
        ? readPrefix(address.replace(OLD_RAVEN, `/docs/${PREFIX_DOCUMENT}`), signal)
        : '',
    ])
    const body = await response.text()
    if (response.status === 404) return { content: { Max: 0 }, version: undefined, serverPrefix }
    if (!response.ok) throw refusal(response, body, address)
    const found = unwrap(parse(body, address), response.headers.get('ETag'), serverPrefix)
    const { Max } = found.content
    if (!Number.isSafeInteger(Max) || Max < 0)
      throw unsound(address, `it is no document {"Max": n}: ${body.slice(0, 120)}`)
    if (found.version === '')
      throw unsound(
        address,
        'it has no ETag. Of another origin it has to say Access-Control-Expose-Headers: ETag',
      )
    if (found.version?.startsWith('W/'))
      throw unsound(
        address,
        'its ETag is weak, and no write can name it. Switch compression off there',
      )
    return found
  }

  async function readPrefix(address: string, signal: AbortSignal): Promise<string> {
    const response = await request(address, { signal })
    const body = await response.text()
    if (response.status === 404) return ''
    if (!response.ok) throw refusal(response, body, address)
    return textOf(parse(body, address).ServerPrefix)
  }

  /** @returns 0 when it was written, or the status that says that the condition did not hold */
  async function write(
    address: string,
    content: object,
    condition: Record<string, string>,
    signal: AbortSignal,
  ): Promise<number> {
    const response = await request(address, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json', ...condition },
      body: JSON.stringify(content),
      signal,
    })
    const body = await response.text()
    if (CONFLICTS.includes(response.status)) return response.status
    if (!response.ok) throw refusal(response, body, address)
    return 0
  }

  /**
   * @throws HiloError when the store writes although the condition does not hold: it would give two
   * devices the same numbers
   */
  async function prove(
    address: string,
    { content }: Pick<Found, 'content'>,
    condition: Record<string, string>,
    signal: AbortSignal,
  ) {
    if (
      (await write(address, { ...content, Max: content.Max + PROBE_JUMP }, condition, signal)) === 0
    )
      throw new HiloError(
        'server-refused',
        `${address} takes writes whose ${Object.keys(condition)[0]} does not hold: two devices would get the same numbers, so none was taken. ` +
          'It needs a store with conditional writes.',
      )
  }

  async function take(
    target: Target,
    claim: ClaimRequest,
    signal: AbortSignal,
  ): Promise<GrantedRange> {
    const address = fill(url, target)
    const { isNew, never } = RAVEN.test(address)
      ? OF_RAVEN
      : OLD_RAVEN.test(address)
        ? OF_OLD_RAVEN
        : OF_OTHERS
    const age = parseServerTime(claim.lastRangeAt ?? '')
    const size = Math.max(
      least,
      capacity(claim.lastBatchSize, age === undefined ? undefined : Date.now() - age),
    )
    for (let lost = 0; ; lost++) {
      const found = await read(address, signal)
      const { content, version, serverPrefix } = found
      const from = Math.max(content.Max, claim.lastMax) + 1
      const to = from + Math.min(size * Math.min(2 ** lost, MAX_GROWTH), MAX_DOUBLED_CAPACITY) - 1
      if (!Number.isSafeInteger(to))
        throw new HiloError(
          'unsafe-range',
          `${address} is at ${content.Max}: its numbers pass 2^53−1, and none was taken. Go ` +
            'on under a new name.',
        )
      if (version !== undefined && !proven.has(address)) {
        await prove(address, found, never, signal)
        proven.add(address)
      }
      const status = await write(
        address,
        { ...content, Max: to },
        version === undefined ? isNew : { 'If-Match': version },
        signal,
      )
      if (status === 0) {
        if (version === undefined)
          await prove(address, { content: { ...content, Max: to } }, isNew, signal)
        const prefix = target.collection + target.separator + serverPrefix
        return {
          range: { from, to, prefix, serverTag: '' },
          last: { size: to - from + 1, at: formatServerTime(Date.now()) },
        }
      }
      if (lost === MAX_LOST)
        throw new HiloError(
          'server-unreachable',
          `${address} answered ${status} to ${lost + 1} writes in a row: very many devices ` +
            'move it, or it cannot be written at all. It is asked again later.',
        )
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** lost, LAST_PAUSE_MS) * Math.random())
      signal.throwIfAborted()
    }
  }

  return {
    key: url,
    claim: (target, claim, timeout) =>
      granted(
        within(timeout, fill(url, target), (signal) =>
          take(target, claim, signal).catch((error) => {
            throw error instanceof HiloError
              ? error
              : unreachable(fill(url, target), timeout, signal, error)
          }),
        ),
      ),
  }
}

/**
 * HTTP's word, RavenDB's and that of object stores whose writes met, and theirs for a document that
 * went in between.
 */
const CONFLICTS = [412, 409, 404]

const fill = (url: string, { collection, database }: Target): string =>
  url.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(name === 'database' ? database : collection),
  )

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

function unwrap(body: Record<string, unknown>, etag: string | null, serverPrefix: string): Found {
  const { Results } = body
  if (!Array.isArray(Results))
    return {
      content: body as never,
      version: etag ?? '',
      serverPrefix: serverPrefix || textOf(body.ServerPrefix),
    }
  const [document, prefix] = Results as (Record<string, unknown> | null)[]
  const { '@change-vector': vector, '@collection': collection = '@hilo' } = Object(
    document?.['@metadata'],
  )
  return {
    content: {
      Max: 0,
      ...document,
      '@metadata': { '@collection': collection },
    } as Found['content'],
    version: document ? (typeof vector === 'string' ? `"${vector}"` : '') : undefined,
    serverPrefix: textOf(prefix?.ServerPrefix),
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function parse(body: string, address: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(body))
  } catch {
    throw unsound(address, `it is not JSON: ${body.slice(0, 120)}`)
  }
}

const unsound = (address: string, why: string): HiloError =>
  new HiloError(
    'invalid-response',
    `The document ${address} cannot be used: ${why}. Nothing was taken.`,
  )

const invalid = (why: string): HiloError =>
  new HiloError('invalid-argument', `documentSource did nothing: ${why}.`)
