/**
 * Reads and writes one document `{"Max": n}` in a store with conditional writes. It knows how
 * RavenDB, RavenDB 2 and 3, and other stores want to be asked. Guarantees that a write names the
 * version that was read, so that the store refuses it when another device was faster, and that a
 * write counts only once the store shows it: an answer alone may be that to another write.
 */
import { brief } from '../core/brief.js'
import { HiloError } from '../core/errors.js'
import { type GivenHeaders, plainHeaders } from '../core/headers.js'
import { parsed } from './answers.js'
import { refusal } from './http.js'

export type Send = (url: string, init: RequestInit) => Promise<Response>

/** A document as it was read. */
export interface StoredDocument {
  address: string
  /** Other fields than `Max` are written back unchanged. */
  content: Content
  /** Undefined: the store has no such document yet. */
  version: string | undefined
  /** The text between the collection and the number, from `Raven/ServerPrefixForHilo`. */
  serverPrefix: string
}

interface Content {
  Max: number
  /** The last writes, each by a text that no other one has. */
  Claims?: unknown
}

type Condition = Record<string, string>

/** The request headers that a kind of store understands as conditions of a write. */
interface Dialect {
  /** "Only if there is no document yet." */
  isNew: Condition
  /** "Only if the document has this version", with a version that no document has. */
  neverHolds: Condition
}

const PREFIX_DOCUMENT = 'Raven/ServerPrefixForHilo'

/**
 * RavenDB 4 and later, and offline-hilo-server. They wrap documents into `Results`, and an empty
 * version means "no document".
 */
const RAVEN_ADDRESS = /[?&]id=Raven(\/|%2F)Hilo(\/|%2F)/i
const RAVEN: Dialect = {
  isNew: { 'If-Match': '""' },
  neverHolds: { 'If-Match': '"offline-hilo-probe"' },
}

/** RavenDB 2 and 3. A version is a GUID, and the GUID of zeros means "no document". */
const OLD_RAVEN_ADDRESS = /\/docs\/Raven\/Hilo\/[^?]*/i
const OLD_RAVEN: Dialect = {
  isNew: { 'If-None-Match': '00000000-0000-0000-0000-000000000000' },
  neverHolds: { 'If-Match': 'ffffffff-ffff-ffff-ffff-ffffffffffff' },
}

/** Object stores, WebDAV and all else that follows HTTP. */
const PLAIN_HTTP: Dialect = {
  isNew: { 'If-None-Match': '*' },
  neverHolds: { 'If-Match': '"offline-hilo-probe"' },
}

/**
 * The statuses of a write whose condition did not hold: HTTP's, RavenDB's, and that of an object
 * store whose document was deleted meanwhile.
 */
const CONFLICTS = [412, 409, 404]

/**
 * A store that ignores conditions takes the test write. It is far above the writes of other devices
 * meanwhile, so that it leaves a gap and no number is granted twice.
 */
const TEST_WRITE_JUMP = 1_000_000

/** So many devices may write between a write and the reading that proves it. */
const SHOWN_CLAIMS = 16

export class DocumentStore {
  readonly #headers: GivenHeaders
  readonly #send: Send

  constructor(headers: GivenHeaders, send: Send) {
    this.#headers = headers
    this.#send = send
  }

  /** @throws HiloError `server-refused`, `no-hilo-server`, `invalid-response` */
  async read(address: string, signal: AbortSignal): Promise<StoredDocument> {
    const [response, oldPrefix] = await Promise.all([
      this.#request(RAVEN_ADDRESS.test(address) ? `${address}&id=${PREFIX_DOCUMENT}` : address, {
        signal,
      }),
      OLD_RAVEN_ADDRESS.test(address)
        ? this.#readPrefix(address.replace(OLD_RAVEN_ADDRESS, `/docs/${PREFIX_DOCUMENT}`), signal)
        : '',
    ])
    const body = await response.text()
    if (response.status === 404)
      return { address, content: { Max: 0 }, version: undefined, serverPrefix: oldPrefix }
    if (!response.ok) throw refusal(response, body, address)
    const document = unwrap(address, parse(body, address), response.headers.get('ETag'), oldPrefix)
    checkSound(document, body)
    return document
  }

  /**
   * Writes `max` if the document is still as it was read.
   * @param mark of this write; no other one has it
   * @returns the status that says it is not; undefined when `max` was written
   * @throws HiloError `no-hilo-server` when the store does not show the write
   */
  async moveTo(
    max: number,
    mark: string,
    document: StoredDocument,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { address, content, version } = document
    // guard: H21 a document is written only in the version that was read
    const condition = version === undefined ? dialectOf(address).isNew : { 'If-Match': version }
    const Claims = [...claimsIn(content), mark].slice(-SHOWN_CLAIMS)
    const answer = await this.#write(address, { ...content, Max: max, Claims }, condition, signal)
    if (typeof answer === 'number') return answer
    const isShown = (shown: object) => claimsIn(shown).includes(mark)
    if (isShown(parsed(answer) ?? {})) return undefined
    const after = await this.read(address, signal)
    // guard: H11 a write of a document counts once its store shows it
    if (!isShown(after.content) && !keepsMaxAlone(after, max)) throw unshown(address)
    return undefined
  }

  /**
   * Tries to write a document that exists under a version it does not have.
   * @throws HiloError `server-refused` when the store takes the write
   */
  testVersionCheck({ address, content }: StoredDocument, signal: AbortSignal): Promise<void> {
    return this.#testWrite(address, content, dialectOf(address).neverHolds, signal)
  }

  /**
   * Tries to write a document, which now exists and is at `max`, as if there was none.
   * @throws HiloError `server-refused` when the store takes the write
   */
  testNewCheck(
    { address, content }: StoredDocument,
    max: number,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#testWrite(address, { ...content, Max: max }, dialectOf(address).isNew, signal)
  }

  async #testWrite(
    address: string,
    content: Content,
    condition: Condition,
    signal: AbortSignal,
  ): Promise<void> {
    const test = { ...content, Max: content.Max + TEST_WRITE_JUMP }
    if (typeof (await this.#write(address, test, condition, signal)) === 'number') return
    throw new HiloError(
      'server-refused',
      `${address} takes writes whose ${Object.keys(condition)[0]} does not hold: two devices ` +
        'would get the same numbers, so none was taken. Use a store with conditional writes.',
    )
  }

  /** @returns the answer, or the status that says that the condition does not hold */
  async #write(
    address: string,
    content: object,
    condition: Condition,
    signal: AbortSignal,
  ): Promise<string | number> {
    const response = await this.#request(address, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json', ...condition },
      body: JSON.stringify(content),
      signal,
    })
    const body = await response.text()
    if (CONFLICTS.includes(response.status)) return response.status
    if (!response.ok) throw refusal(response, body, address)
    // A store that has written answers nothing, or JSON. A page was sent by somebody else, and the
    // document has not moved. (WebDAV's page of a new document comes with 201.)
    // guard: H25 a page that answers a write has written nothing
    if (response.status === 200 && body.trimStart().startsWith('<')) throw noJson(address, body)
    return body
  }

  async #readPrefix(address: string, signal: AbortSignal): Promise<string> {
    const response = await this.#request(address, { signal })
    const body = await response.text()
    if (response.status === 404) return ''
    if (!response.ok) throw refusal(response, body, address)
    return prefixOf(address, parse(body, address).ServerPrefix)
  }

  async #request(address: string, init: RequestInit): Promise<Response> {
    const headers = typeof this.#headers === 'function' ? await this.#headers() : this.#headers
    const send = this.#send
    return send(address, {
      cache: 'no-store',
      ...init,
      headers: { ...plainHeaders(headers), ...init.headers },
    })
  }
}

function dialectOf(address: string): Dialect {
  if (RAVEN_ADDRESS.test(address)) return RAVEN
  return OLD_RAVEN_ADDRESS.test(address) ? OLD_RAVEN : PLAIN_HTTP
}

/** Reads both forms of an answer: RavenDB's `{"Results": […]}`, and the document itself. */
function unwrap(
  address: string,
  body: Record<string, unknown>,
  etag: string | null,
  oldPrefix: string,
): StoredDocument {
  const { Results } = body
  if (!Array.isArray(Results))
    return {
      address,
      content: body as unknown as Content,
      version: etag ?? '',
      serverPrefix: oldPrefix || prefixOf(address, body.ServerPrefix),
    }
  const [document, prefix] = Results as (Record<string, unknown> | null)[]
  const { '@change-vector': version, '@collection': collection = '@hilo' } = Object(
    document?.['@metadata'],
  )
  return {
    address,
    content: {
      ...(document ?? { Max: 0 }),
      '@metadata': { '@collection': collection },
    } as unknown as Content,
    version: document ? (typeof version === 'string' ? `"${version}"` : '') : undefined,
    serverPrefix: prefixOf(address, prefix?.ServerPrefix),
  }
}

/** @throws HiloError `invalid-response` */
function checkSound({ address, content, version }: StoredDocument, body: string): void {
  if (!Number.isSafeInteger(content.Max) || content.Max < 0)
    throw unusable(address, `it is no document {"Max": n}: ${body.slice(0, 120)}`)
  if (version === '')
    throw unusable(
      address,
      'it has no ETag. If it is of another origin than the page, it has to answer ' +
        'Access-Control-Expose-Headers: ETag',
    )
  if (version?.startsWith('W/'))
    throw unusable(
      address,
      'its ETag is weak, and no write can name it. Switch compression off for it',
    )
}

/** @throws HiloError `invalid-response` */
function prefixOf(address: string, value: unknown): string {
  if (typeof value !== 'string') return ''
  // With `S1`, number 13 would have the id of number 113 under `S`.
  // guard: H10 a server prefix that ends in a digit is refused
  if (/\d$/.test(value))
    throw unusable(
      address,
      `the server prefix "${value}" ends in a digit, and ids would be two numbers'. Add a / to it`,
    )
  return value
}

function parse(body: string, address: string): Record<string, unknown> {
  const document = parsed(body)
  if (!document) throw noJson(address, body)
  return document
}

/** It comes from somebody else, such as the sign-in page of a hotel's network. */
const noJson = (address: string, body: string): HiloError =>
  new HiloError('no-hilo-server', unused(address, `it is not JSON: ${brief(body, 8)}`), {
    noAnswer: true,
  })

/**
 * A store may keep nothing else, as a row with a number does. There the answer alone has to do. A
 * RavenDB keeps all of a document, and offline-hilo-server shows it in its answer.
 */
const keepsMaxAlone = ({ address, content, version }: StoredDocument, max: number): boolean =>
  dialectOf(address) === PLAIN_HTTP &&
  version !== undefined &&
  content.Claims === undefined &&
  content.Max >= max

const claimsIn = ({ Claims }: { Claims?: unknown }): unknown[] =>
  Array.isArray(Claims) ? Claims : []

const unshown = (address: string): HiloError =>
  new HiloError(
    'no-hilo-server',
    `${address} took a write, and does not show its \`Claims\`: something answers in its place, ` +
      'or it does not keep the whole document. No id was made. It is asked again later.',
    { noAnswer: true },
  )

const unusable = (address: string, why: string): HiloError =>
  new HiloError('invalid-response', unused(address, why))

const unused = (address: string, why: string): string =>
  `The document ${address} cannot be used: ${why}. Nothing was taken.`
