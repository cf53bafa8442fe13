/**
 * Every answer that refuses a request, with RavenDB's statuses and types where RavenDB has them.
 * Guarantees that it names the cause and a remedy, and shows no SQL, stack trace or secret.
 */
import { type ErrorAnswer, TOO_MANY } from '../../../src/core/wire.js'
import type { ClaimRefusal, ClaimRequest, OtherLedger } from '../ledger/ledger.js'
import {
  CounterUnusable,
  CounterWentBack,
  HeldOfAnother,
  LedgerFileChanged,
  LedgerReplaced,
  LedgerTablesChanged,
  LedgerUnavailable,
  LedgerUpgraded,
  OtherIds,
} from '../ledger/ledger-errors.js'
import { toldAs, within } from '../ledger/name.js'
import type { FailureLog } from './log.js'

export const RETRY_SECONDS = 1
/** A person has to look at it first. */
const PERSON_RETRY_SECONDS = 30

/** The reasons by which the metrics count refusals. */
export type Reason =
  | 'bad-request'
  | 'budget'
  | 'conflict'
  | 'copied-device'
  | 'counter'
  | 'database'
  | 'failure'
  | 'jump'
  | 'limit'
  | 'no-database'
  | 'no-numbers'
  | 'no-right'
  | 'no-route'
  | 'no-token'
  | 'other-host'
  | 'other-ledger'
  | 'other-site'
  | 'queue'
  | 'restored'
  | 'stopping'
  | 'went-back'

export class Refusal extends Error {
  override name = 'Refusal'
  readonly reason: Reason
  readonly status: number
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  /** More fields of the body. */
  readonly fields: Readonly<Record<string, unknown>>

  constructor(
    reason: Reason,
    status: number,
    type: string,
    message: string,
    headers: Record<string, string> = {},
    fields: Record<string, unknown> = {},
  ) {
    super(message)
    this.reason = reason
    this.status = status
    this.type = type
    this.headers = headers
    this.fields = fields
  }
}

/** RavenDB answers a bad parameter with 500. */
export const badParameter = (message: string) =>
  new Refusal('bad-request', 500, 'System.ArgumentException', message)

/** A request of our extension cannot be read. */
export const badRequest = (message: string) =>
  new Refusal('bad-request', 400, 'System.ArgumentException', message)

export const forbidden = (
  reason: 'no-right' | 'no-token' | 'other-host' | 'other-site',
  message: string,
) => new Refusal(reason, 403, 'Raven.Client.Exceptions.Security.AuthorizationException', message)

/** RavenDB answers 400 where nobody answers a path or a method. */
export const noRoute = (method: string, path: string) =>
  new Refusal(
    'no-route',
    400,
    'Raven.Client.Exceptions.Routing.RouteNotFoundException',
    `There is no handler for path: ${method} ${path}`,
  )

export const noSeries = (
  letter: string,
  collection: string,
  undone: 'closed' | 'handed over',
): Refusal =>
  new Refusal(
    'bad-request',
    404,
    'System.InvalidOperationException',
    `There is no series ${letter} of '${collection}'. Nothing was ${undone}. GET …/hilo/series ` +
      'lists the series of a database.',
  )

/** Whose it is, a person sees. */
export const nameTaken = (name: string, collection: string): Refusal =>
  refused(
    'conflict',
    `The series ${name} of '${collection}' is not free: it was given before, perhaps in other ` +
      'letters: t3 and T3 are one name. A name is never given twice: a new till gets a new name. ' +
      'No series was given. Who has it, an operator sees with npx offline-hilo-server series ' +
      '<database>.',
  )

export const manySeries = (most: number): Refusal =>
  refused(
    'limit',
    `This token has ${most} series that nobody has closed, and may have no more. No series was ` +
      'given. An operator sees them with npx offline-hilo-server series <database>, and closes ' +
      'those that are lost with --close. If several devices use the token, give each one of its ' +
      'own, or say with the token how many there are ("devices"), or raise limits.seriesPerToken.',
  )

/** The request is understood, but a limit or the promise of unique numbers forbids it. */
export const refused = (reason: Reason, message: string) =>
  new Refusal(reason, 422, 'System.InvalidOperationException', message)

/** Fewer numbers may be granted: our client asks for half as many. */
export const tooMany = (reason: Reason, message: string) =>
  new Refusal(reason, 422, TOO_MANY, message)

export const quotaReached = (what: 'collections' | 'identities' | 'series') =>
  refused(
    'limit',
    `This server allows no more databases, or no more ${what} in this one. Correct the ` +
      'name, or raise limits.databases or limits.collections.',
  )

export const tooLarge = (status: 413 | 414, message: string) =>
  new Refusal('limit', status, 'System.ArgumentException', message)

/** Too much for one token, and not for the server. */
export const tooOften = (message: string, seconds: number): Refusal =>
  new Refusal('budget', 429, 'System.InvalidOperationException', message, {
    'Retry-After': String(seconds),
  })

/** Nothing was granted, or nobody knows. The same request may be sent again. */
export const tryLater = (reason: Reason, message: string, seconds: number) =>
  new Refusal(reason, 503, 'System.TimeoutException', message, { 'Retry-After': String(seconds) })

export const queueFull = (): Refusal =>
  tryLater(
    'queue',
    'The server has more requests than it can answer just now. Nothing was granted. Send the ' +
      'same request again later.',
    RETRY_SECONDS,
  )

/** Nobody knows the grants from after the backup. */
export const restored = (databases: readonly string[]) =>
  tryLater(
    'restored',
    `${databases.map((name) => `'${name}'`).join(', ')} grants nothing: its ledger was restored ` +
      'from a backup, and a device has numbers that were granted later. An operator has to run: ' +
      'npx offline-hilo-server raise-floor <database> --all --by <numbers>. Send the same ' +
      'request again later.',
    PERSON_RETRY_SECONDS,
  )

/** Nobody knows which names were given after the backup. */
export const unlisted = (database: string) =>
  tryLater(
    'restored',
    `'${database}' gives no name of a series: its ledger was restored from a backup, and may ` +
      'have given the same name before. An operator has to list the series that exist: ' +
      'npx offline-hilo-server series <database> --exists <name>, and then --all-listed. Send ' +
      'the same request again later.',
    PERSON_RETRY_SECONDS,
  )

/** The fields by which an answer names a ledger, as a device is to know it. */
export const namedIn = (name: string, database: string) => ({
  Ledger: within(name, database),
  Database: toldAs(database),
})

/** The device holds numbers of another ledger, and stops when it reads this. */
export const ofAnotherLedger = ({ held, name, database, serverTag, above }: OtherLedger): Refusal =>
  new Refusal(
    'other-ledger',
    409,
    'System.InvalidOperationException',
    `The device holds numbers of ledger ${held}, and this is ${database} of ledger ${name}` +
      (above === undefined ? '' : `, which follows it above ${above}`) +
      '. Nothing was granted.',
    {},
    {
      ...namedIn(name, database),
      ServerTag: serverTag,
      ...(above !== undefined && { Above: above }),
    },
  )

/**
 * As RavenDB says it, 503 on `/topology` and 500 elsewhere.
 * @param reason in a sentence of ours
 */
export const databaseMissing = (database: string, status: 404 | 500 | 503, reason: string) =>
  status === 503
    ? new Refusal('no-database', status, 'Error', `Database ${database} wasn't found. ${reason}`, {
        'Database-Missing': encodeURIComponent(database),
      })
    : new Refusal(
        'no-database',
        status,
        'Raven.Client.Exceptions.Database.DatabaseDoesNotExistException',
        `Database '${database}' does not exist. ${reason}`,
      )

const FILE_CHANGES: Readonly<Record<LedgerFileChanged['what'], string>> = {
  moved: 'was moved, replaced or deleted',
  alone: 'has lost its -shm',
  overwritten: 'was written over',
  damaged: 'is damaged',
}

/** What is wrong with a ledger that a person has to look at. */
function faultOf(error: unknown): string | undefined {
  if (error instanceof LedgerFileChanged)
    return `The file of this server's ledger ${FILE_CHANGES[error.what]}`
  if (error instanceof LedgerReplaced)
    return 'The database of this server holds another ledger than before, or an older state of it'
  if (error instanceof LedgerUpgraded)
    return 'A newer version of this server has stored what this one would misread'
  if (error instanceof OtherIds) return "This server would make other ids than its ledger's"
  if (error instanceof LedgerTablesChanged)
    return "The tables of this server's ledger are not as the server made them"
  return undefined
}

/** Turns any error into an answer. Failures of the server go into the log. */
export function toRefusal(error: unknown, logFailure: FailureLog): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof HeldOfAnother) return ofAnotherLedger(error.other)
  logFailure(error)
  const fault = faultOf(error)
  if (fault !== undefined)
    return tryLater(
      'database',
      `${fault}. Nothing was granted. The log of this server says what to do. Send the same ` +
        'request again later.',
      PERSON_RETRY_SECONDS,
    )
  if (error instanceof LedgerUnavailable)
    return tryLater(
      'database',
      "The server's database, or the server that its numbers come from, does not answer. " +
        'Send the same request again later.',
      RETRY_SECONDS,
    )
  if (error instanceof CounterWentBack)
    return tryLater(
      'went-back',
      `${error.message}. Send the same request again later.`,
      PERSON_RETRY_SECONDS,
    )
  if (error instanceof CounterUnusable)
    return tryLater(
      'counter',
      'The counter, or the server, that these numbers come from cannot be used. The log of this ' +
        'server says why. For a counter that `collections` names, ' +
        'npx offline-hilo-server check says it, too. Nothing was granted.',
      PERSON_RETRY_SECONDS,
    )
  return new Refusal(
    'failure',
    500,
    'System.Exception',
    'The server failed, and its log says why. The same request may be sent again.',
  )
}

/** @param url path and query of the request */
export function refusalBody({ type, message, fields }: Refusal, url: string): ErrorAnswer {
  return { Url: url, Type: type, Message: message, Error: `${type}: ${message}`, ...fields }
}

/** On workerd a request may have no address. */
export function pathOf(url: string): string {
  if (!URL.canParse(url)) return url
  const { pathname, search } = new URL(url)
  return pathname + search
}

export function claimRefused(
  refusal: ClaimRefusal,
  { database, collection: tag, lastMax }: ClaimRequest,
): Refusal {
  const { max } = refusal
  switch (refusal.refused) {
    case 'other-ledger':
      return ofAnotherLedger(refusal.other)
    case 'jump':
      return refused(
        'jump',
        `The client saw number ${lastMax} of '${tag}', but this server has granted only up to ` +
          `${max}: too far apart to be believed. ` +
          'If the server was restored from an old backup, run: npx offline-hilo-server ' +
          `raise-floor (then nothing up to ${lastMax} is granted again).`,
      )
    case 'overflow':
      return tooMany(
        'no-numbers',
        `The numbers of '${tag}' are used up: the next would pass 2^53-1, which JavaScript ` +
          'cannot count, or what its id column can hold. Go on under a new name, or make the ' +
          'column larger, and raise limits.maxId, or the maxId of a bound collection.',
      )
    case 'full':
      return quotaReached('collections')
    case 'short':
      return tryLater(
        'no-numbers',
        `'${tag}' has no numbers here just now: they come from another server. Send the same ` +
          'request again later.',
        RETRY_SECONDS,
      )
    case 'restored':
      return restored([database])
    case 'spent':
      return new Refusal(
        'copied-device',
        410,
        'System.InvalidOperationException',
        'This claim was answered before: to another token of this server, or its numbers have ' +
          'been in use since, so a copy of the device is asking. Claim anew, with a new id.',
      )
  }
}
