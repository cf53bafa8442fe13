/**
 * Claims ranges over RavenDB's HiLo protocol, from offline-hilo-server or from a RavenDB. It passes
 * on the grant tokens of offline-hilo-server; a RavenDB has none. Guarantees that only a sound
 * answer becomes a range; any other answer becomes a `HiloError` that names a remedy.
 */
import { brief } from '../core/brief.js'
import { HiloError } from '../core/errors.js'
import { ledgerOf } from '../core/ledger-names.js'
import { size } from '../core/range.js'
import type {
  CheckInAnswer,
  ErrorAnswer,
  IdentityAnswer,
  NextAnswer,
  NextManyAnswer,
} from '../core/wire.js'
import type { OwnerConfig, Target } from '../device/contract.js'
import { type Mark, mark } from '../device/mark.js'
import {
  checkInUrl,
  emptyReturnUrl,
  identityUrl,
  nextCall,
  nextUrl,
  returnManyRequest,
  returnRequest,
  returnUrl,
  type WantedRange,
} from '../device/requests.js'
import type { DeviceClaim, GrantedRange } from '../device/state.js'
import { isRange } from '../device/stored.js'
import { checkAsked, invalid, noHiloAnswer, ofAnother, readAnswer } from './answers.js'
import { type GetHeaders, ledgerIn, requester, type ServerAddress } from './http.js'
import type { Source } from './source.js'

export function ravenSource(
  { url, timeout, credentials, device }: ServerAddress & Pick<OwnerConfig, 'device'>,
  headers: GetHeaders,
): Required<Source> {
  const request = requester({ url, timeout, credentials }, headers)
  /** By database: is it a RavenDB's, which knows claims by GET only? Found here, or before. */
  const plain = new Map<string, boolean>()

  async function post(wanted: readonly WantedRange[]): Promise<(() => GrantedRange)[]> {
    const { url: address, body } = nextCall(url, wanted, device)
    const { database } = wanted[0]!.target
    try {
      const grants = readGrants(await request('POST', address, body), url, wanted)
      plain.set(database, false)
      return grants
    } catch (error) {
      // A device that shows a token has got it from a server that knows the route.
      // guard: H25 only who does not know the route is asked by another one
      if (isUnknownRoute(error) && !wanted.some(({ claim }) => claim.shown))
        plain.set(database, true)
      throw error
    }
  }

  async function get(target: Target, claim: DeviceClaim): Promise<GrantedRange> {
    const { id, lastBatchSize, lastMax } = claim
    const marked = mark(target.collection, lastBatchSize, id)
    const address = nextUrl(url, target, marked, lastMax, id)
    const body = await request('GET', address).catch((error) => {
      if (isUnknownRoute(error)) plain.set(target.database, false)
      throw error
    })
    const grant = readGrant(body, url, target, marked, id)
    if (!grant.range.token) return { ...grant, isPlain: true }
    // It is an offline-hilo-server by now, and is asked by its own route.
    plain.set(target.database, false)
    return grant
  }

  return {
    async claim(target, claim) {
      const isPlain = plain.get(target.database) && !claim.shown
      return isPlain ? get(target, claim) : (await post([{ target, claim }]))[0]!()
    },
    claimTogether: async (wanted) =>
      (await post(wanted)).map((read) => {
        try {
          return read()
        } catch (error) {
          return (error as HiloError).ledger && (error as HiloError)
        }
      }),
    isPlain: (database) => plain.get(database) ?? false,
    wasPlain(database) {
      if (!plain.has(database)) plain.set(database, true)
    },
    reach: async (target) => {
      checkReturned(await request('PUT', emptyReturnUrl(url, target)), url)
    },
    giveBack: async (target, range) => {
      const { method, url: address, body } = returnRequest(url, target, range)
      checkReturned(await request(method, address, body), url)
    },
    giveBackTogether: async (pieces) => {
      const address = returnUrl(url, pieces[0]!.target.database)
      checkReturned(await request('POST', address, returnManyRequest(pieces)), url)
    },
    async nextIdentity(database, name, key, ledgers) {
      const address = identityUrl(url, database, name, key)
      const body = ledgers && { ledgers }
      return readIdentity(await request('POST', address, body, NUMBER_UNKNOWN), url, key)
    },
    checkIn: async (target, check) =>
      readCheckIn(await request('POST', checkInUrl(url, target.database), check), url, check.id),
  }
}

/** A RavenDB has no such route. Nothing was granted. */
const isUnknownRoute = (error: unknown): boolean =>
  error instanceof HiloError && error.code === 'server-refused' && error.status === 404

const NUMBER_UNKNOWN = 'Whether a number was taken is unknown: ask again with the same key.'

/** As a claim alone is refused. */
const refused = (answer: ErrorAnswer, url: string): HiloError =>
  new HiloError('server-refused', `${url} refused: ${brief(answer.Message, 30)}`, {
    status: 409,
    ...ledgerIn(answer),
  })

/** Read the answers to several claims, in their order. @throws HiloError `no-hilo-server` */
function readGrants(body: string, url: string, wanted: readonly WantedRange[]) {
  const { collections } = readAnswer<NextManyAnswer>(body, url)
  if (!Array.isArray(collections) || collections.length !== wanted.length)
    throw noHiloAnswer(url, 'it does not answer each claim', body)
  return wanted.map((one, i) => (): GrantedRange => {
    const answer = Object(collections[i])
    // guard: H34 a ledger that refuses one of several claims is heard
    if (typeof answer.Message === 'string' && ledgerIn(answer)) throw refused(answer, url)
    const text = JSON.stringify(answer)
    const grant = toGrant(answer, url, one.target, one.claim.id, text)
    return one.claim.shown ? { ...grant, results: readResults(answer.grants, url, body) } : grant
  })
}

/**
 * Reads the answer to a GET. A RavenDB's names no claim: a cache that ignores the query of an
 * address sends everybody the first grant.
 * @param id of the claim, where the server was told it
 * @returns the range with the app's own prefix
 * @throws HiloError `no-hilo-server`, `invalid-response`, `unsafe-range`
 */
export function readGrant(
  body: string,
  url: string,
  target: Target,
  marked: Mark,
  id?: string,
): GrantedRange {
  const { collection, separator } = target
  const asked = { ...target, collection: marked.tag }
  const answer = readAnswer<NextAnswer>(body, url)
  const { range, ...grant } = toGrant(answer, url, asked, id, body)
  // guard: H37 an answer with another mark is no answer
  if (answer.Claim === undefined && size(range) !== marked.count) throw ofAnother(url, body)
  const prefix = collection + separator + range.prefix.slice(collection.length + separator.length)
  return { ...grant, range: { ...range, prefix } }
}

/**
 * @param target with the tag as it was asked for
 * @param id of the claim
 * @param body for people
 */
function toGrant(
  answer: Partial<Record<keyof NextAnswer, unknown>>,
  url: string,
  { collection, separator }: Target,
  id: string | undefined,
  body: string,
): GrantedRange {
  const { Prefix, Low, High, ServerTag, Token, Claim, Ledger, Database } = answer
  checkAsked(Claim, id, url, body)
  if (typeof Prefix !== 'string' || typeof Low !== 'number' || typeof High !== 'number')
    throw noHiloAnswer(url, 'it has no Prefix, Low or High', body)
  // guard: H37 an answer for another tag is no answer
  if (!Prefix.startsWith(collection + separator)) throw ofAnother(url, body)
  // guard: H15 no range above 2^53−1 is taken
  if (High > Number.MAX_SAFE_INTEGER)
    throw new HiloError(
      'unsafe-range',
      `${url} granted numbers up to ${High}, above 2^53−1, which JavaScript cannot count ` +
        'through. Nothing was taken. Continue this collection under a new name.',
    )
  const range = {
    from: Low,
    to: High,
    prefix: Prefix,
    serverTag: ServerTag ?? '',
    ...(Token ? { token: Token } : {}),
  }
  if (!isRange(range)) throw invalid(url, 'it holds no range', body)
  // guard: H34 a grant names its ledger, whatever the route was that it came by
  return { range, ...(typeof Ledger === 'string' && { ledger: ledgerOf(Ledger, Database) }) }
}

/** @throws HiloError `no-hilo-server`, `invalid-response` */
function readIdentity(body: string, url: string, key: string): number {
  const { NewIdentityValue: value, Claim } = readAnswer<IdentityAnswer>(
    body,
    url,
    'NewIdentityValue',
  )
  checkAsked(Claim, key, url, body)
  if (!Number.isSafeInteger(value))
    throw invalid(url, 'NewIdentityValue is no whole number below 2^53', body)
  return value as number
}

/** @throws HiloError `no-hilo-server`, `invalid-response` */
function readCheckIn(body: string, url: string, asked: string): CheckInAnswer {
  const { id, grants, ledger, serverTag } = readAnswer<CheckInAnswer>(body, url, 'grants')
  checkAsked(id, asked, url, body)
  return {
    grants: readResults(grants, url, body),
    ...(typeof ledger === 'string' && { ledger, serverTag: String(serverTag) }),
  }
}

function readResults(grants: unknown, url: string, body: string): CheckInAnswer['grants'] {
  const isSound = (each: CheckInAnswer['grants'][number]) =>
    'superseded' in each ||
    'dropped' in each ||
    'unknown' in each ||
    (typeof each.token === 'string' && Number.isSafeInteger(each.high))
  if (!Array.isArray(grants) || !grants.every((each) => isSound(Object(each))))
    throw invalid(url, 'it does not say what became of each grant', body)
  return grants
}

/** The answer to a return has no body, or JSON. */
function checkReturned(body: string, url: string): void {
  if (body !== '') readAnswer(body, url)
}
