/**
 * `/databases/{db}/hilo/…`: claims and give-backs, as RavenDB answers them, and our check-in. A
 * plain RavenDB client does not notice the extension.
 */
import { type Context, Hono } from 'hono'
import {
  type CheckInAnswer,
  formatServerTime,
  type NextAnswer,
  type NextManyAnswer,
} from '../../../src/core/wire.js'
import { bindingKey } from '../ledger/collections.js'
import type {
  CheckInResult,
  ClaimOutcome,
  ClaimRequest,
  CollectionKey,
  Grant,
  Ledger,
} from '../ledger/ledger.js'
import type { Access, Caller } from './access.js'
import { type Costs, type Price, sumOf, type Turn } from './budgets.js'
import { claimQueue, type FailedClaim } from './claim-queue.js'
import type { CheckedOptions } from './handler-options.js'
import {
  authorizationIn,
  type ReturnedRange,
  readCheckInBody,
  readClaimBody,
  readNextQuery,
  readReturnBody,
  readReturnQuery,
} from './hilo-requests.js'
import { type FailureLog, UnknownToken } from './log.js'
import { answer, answerNothing, Parameters, parseJson, readJson, readText } from './messages.js'
import type { Metrics } from './metrics.js'
import type { OtherLedgers } from './other-ledgers.js'
import { claimRefused, namedIn, pathOf, refusalBody, toRefusal } from './refusals.js'

export function hiloRoutes(
  options: CheckedOptions,
  access: Access,
  costs: Costs,
  metrics: Metrics,
  logFailure: FailureLog,
  others: OtherLedgers,
): Hono {
  const { ledger, nodeTag: serverTag, limits } = options
  const claim = claimer(options, costs, metrics)

  function note(database: string, results: readonly CheckInResult[]): void {
    metrics.checkedIn(results)
    if (results.includes('unknown')) logFailure(new UnknownToken(database))
  }

  /** A give-back that shows its grant token needs the right to claim, and no other. */
  async function giveBack(
    c: Context,
    read: () => readonly ReturnedRange[],
    authorization?: string,
  ): Promise<Response> {
    const { database, admit } = access.callerOf(c, ['claim', 'give-back'], authorization)
    const ranges = read()
    const returns = ranges.map((range) => ({ database, ...range, at: Date.now() }))
    // guard: H26 a give-back needs what a claim needs
    const wanted = returns.map(({ token, collection: tag }) => {
      const action = token === undefined ? 'give-back' : 'claim'
      return { action, tag, count: 0 } as const
    })
    const { length: rows } = returns
    const asked = {
      wanted,
      cost: { rows },
      units: rows,
      lane: laneOf(ledger, returns),
      isShared: returns.every(({ token }) => token !== undefined),
    }
    const give = () => Promise.all(returns.map((each) => ledger.giveBack(each)))
    const counts = await admit(asked, give)
    metrics.returned(counts.reduce((sum, count) => sum + count))
    return answerNothing(204)
  }

  const routes = new Hono()
  routes.get('/hilo/next', async (c) => {
    const at = Date.now()
    const caller = access.callerOf(c, ['claim'])
    const { database, name: by } = caller
    const query = readNextQuery(new Parameters(c.req.url), at, limits.count)
    // Each field by its name: to copy objects field by field takes more than to read the query.
    const { collection, id, count, lastMax, prefix } = query
    const asked: ClaimRequest = { database, collection, id, by, count, lastMax, serverTag, at }
    const [outcome] = (await claim(caller, [asked])) as [ClaimOutcome]
    if ('refused' in outcome) throw claimRefused(outcome, asked)
    return answer(claimAnswer(outcome.grant, prefix, asked), outcome.isRepeat ? 200 : 201)
  })
  routes.post('/hilo/next', async (c) => {
    const at = Date.now()
    const caller = access.callerOf(c, ['claim'])
    const { database, name: by } = caller
    const { id, device, ranges } = readClaimBody(await readJson(c), limits.count)
    const claims = ranges.map(({ collection, count, lastMax, shown, ledgers }): ClaimRequest => {
      const of = { database, collection, id, by, device, ledgers }
      return { ...of, count, lastMax, serverTag, at, shown }
    })
    const outcomes = await claim(caller, claims)
    const collections = outcomes.map((outcome, i) => {
      if ('grant' in outcome) {
        const range = claimAnswer(outcome.grant, ranges[i]!.prefix, claims[i]!)
        if (outcome.results.length === 0) return range
        note(database, outcome.results)
        return { ...range, grants: outcome.results.map(resultAnswer) }
      }
      if ('other' in outcome) others.note(database, outcome.other)
      const refusal =
        'failure' in outcome
          ? toRefusal(outcome.failure, logFailure)
          : claimRefused(outcome, claims[i]!)
      // All claims of a request are of one database.
      if (claims.length === 1 || refusal.reason === 'restored') throw refusal
      metrics.claimRefused(refusal)
      return refusalBody(refusal, pathOf(c.req.url))
    })
    const isNew = outcomes.some((outcome) => 'grant' in outcome && !outcome.isRepeat)
    return answer({ collections } satisfies NextManyAnswer, isNew ? 201 : 200)
  })
  const fromQuery = (c: Context) => () => readReturnQuery(new Parameters(c.req.url))
  routes.put('/hilo/return', (c) => giveBack(c, fromQuery(c)))
  routes.post('/hilo/return', async (c) => {
    // The body may have any type: a page that closes sends plain text, which needs no preflight.
    const text = await readText(c)
    if (text === '') return giveBack(c, fromQuery(c))
    const body = parseJson(text)
    return giveBack(c, () => readReturnBody(body), authorizationIn(body))
  })
  routes.post('/hilo/checkin', async (c) => {
    const { database, admit } = access.callerOf(c, ['check-in'])
    const { id, grants, spent, ledgers } = readCheckInBody(await readJson(c))
    const checkIn = { database, id, at: Date.now(), grants, spent, ledgers, serverTag }
    const rows = grants.length + spent.length
    const wanted = [{ action: 'check-in', count: 0 } as const]
    const asked = { wanted, cost: { rows }, units: 1 + rows, isShared: true }
    const results = await others.watch(
      database,
      admit(asked, () => ledger.checkIn(checkIn)),
    )
    note(database, results)
    const name = ledgers?.[serverTag]
    return answer({
      // guard: H11 the answer to a check-in names it
      id,
      ...(name !== undefined && { ledger: name, serverTag }),
      grants: results.map(resultAnswer),
    } satisfies CheckInAnswer)
  })
  return routes
}

/** Claims for a caller, as far as its rights and its budget go. */
function claimer({ ledger }: CheckedOptions, costs: Costs, metrics: Metrics) {
  // A bound collection waits in a queue of its own: its counter may be locked by somebody else, and
  // its upstream may not answer. All other collections share one queue.
  const queue = claimQueue({
    commit: (claims: readonly ClaimRequest[]) => ledger.claim(claims),
    queueOf: (claim) => (ledger.isBound(claim) ? bindingKey(claim) : ''),
    rowOf: bindingKey,
    sizeOf: ({ shown = [] }) => 1 + shown.length,
    onCommit: metrics.committed,
  })
  metrics.watchQueue(queue)

  /** @throws the failure, if every claim failed */
  async function claim(
    caller: Caller,
    claims: readonly ClaimRequest[],
  ): Promise<(ClaimOutcome | FailedClaim)[]> {
    const start = performance.now()
    const shown = claims.reduce((sum, { shown = [] }) => sum + shown.length, 0)
    let prices: Price[] = []
    const asked = {
      wanted: claims.map(
        ({ collection: tag, count }) => ({ action: 'claim', tag, count }) as const,
      ),
      async cost(turn: Turn) {
        prices = await costs.of(claims, turn)
        return sumOf(prices)
      },
      units: claims.length + shown,
      lane: laneOf(ledger, claims),
      isShared: true,
    }
    const outcomes = await caller.admit(asked, () => queue.add(claims))
    for (const [i, price] of prices.entries()) {
      const outcome = outcomes[i]!
      // A token gets back the cost of nothing, and of a name that others paid meanwhile.
      if (!('grant' in outcome) || outcome.isRepeat) caller.refund(price)
      else if (!costs.saw(claims[i]!, outcome.grant.high)) caller.refund({ names: price.names })
    }
    const answered = outcomes.filter((outcome): outcome is ClaimOutcome => !('failure' in outcome))
    if (answered.length === 0) throw (outcomes[0] as FailedClaim).failure
    metrics.claimed(answered, (performance.now() - start) / 1000)
    return outcomes
  }

  return claim
}

/** The first bound collection of a request, or none. */
function laneOf(ledger: Ledger, keys: readonly CollectionKey[]): string {
  const bound = keys.find((key) => ledger.isBound(key))
  return bound ? bindingKey(bound) : ''
}

function resultAnswer(result: CheckInResult): CheckInAnswer['grants'][number] {
  if (result === 'superseded') return { superseded: true }
  if (result === 'dropped') return { dropped: true }
  if (result === 'unknown') return { unknown: true }
  return { token: result.token, high: result.high }
}

/**
 * @param prefix the text before the number
 */
const claimAnswer = (
  { low, high, count, serverTag, at, token, ledger }: Grant,
  prefix: string,
  { database, id: claim }: Pick<ClaimRequest, 'database' | 'id'>,
): NextAnswer => ({
  Prefix: prefix,
  Low: low,
  High: high,
  LastSize: count,
  ServerTag: serverTag,
  LastRangeAt: formatServerTime(at),
  Token: token,
  // guard: H11 an answer names its claim
  ...(claim !== undefined && {
    Claim: claim,
    ...(ledger !== undefined && namedIn(ledger, database)),
  }),
})
