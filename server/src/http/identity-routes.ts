/**
 * `/databases/{db}/identity/…`: RavenDB's identities. Each number is taken alone, so the allocation
 * leaves no gap. A request that is repeated with its `raft-request-id`, as RavenDB's clients do,
 * gets the same number.
 */
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import type { IdentityAnswer, LedgerNames } from '../../../src/core/wire.js'
import { identityText, normalizedIdentity } from '../ledger/collections.js'
import type { IdentityClaim, IdentityKey, IdentityOutcome } from '../ledger/ledger.js'
import type { Access, Asked, Caller } from './access.js'
import type { Costs, Turn } from './budgets.js'
import { claimQueue, type FailedClaim } from './claim-queue.js'
import type { CheckedOptions, Wanted } from './handler-options.js'
import { ledgers as ledgersShown } from './hilo-requests.js'
import { answer, MAX_DOCUMENT_ID_BYTES, Parameters, parseJson, readText } from './messages.js'
import type { Metrics } from './metrics.js'
import type { OtherLedgers } from './other-ledgers.js'
import {
  badParameter,
  ofAnotherLedger,
  quotaReached,
  type Refusal,
  refused,
  restored,
} from './refusals.js'

export function identityRoutes(
  { ledger, nodeTag: serverTag }: CheckedOptions,
  access: Access,
  costs: Costs,
  metrics: Metrics,
  others: OtherLedgers,
): Hono {
  const queue = claimQueue({
    commit: (claims: readonly IdentityClaim[]) => ledger.nextIdentities(claims),
    queueOf: () => '',
    rowOf: (claim) => identityText(normalizedIdentity(claim)),
    sizeOf: () => 1,
    onCommit: metrics.committed,
  })
  metrics.watchQueue(queue)

  /** Only the first number of an identity makes a name. */
  async function pay<T extends object>(
    { admit, refund }: Caller,
    asked: Asked,
    { database, name }: IdentityKey,
    work: () => Promise<T>,
  ): Promise<T> {
    // No collection ends in the `|` of an identity.
    const key = { database, collection: name }
    const [{ count: numbers }] = asked.wanted as [Wanted]
    let names = 0
    const cost = async (turn: Turn) => {
      const isThere = costs.knows(key) || (await turn(() => ledger.hasIdentity({ database, name })))
      names = isThere ? 0 : 1
      return { numbers, rows: 1, names }
    }
    const outcome = await admit({ ...asked, cost }, work)
    const isThere = 'value' in outcome && !('refused' in outcome)
    if (!isThere || !costs.saw(key, 0)) refund({ names })
    return outcome
  }

  return new Hono()
    .post('/identity/next', async (c) => {
      const caller = access.callerOf(c, ['identity'])
      const query = new Parameters(c.req.url)
      const { name, id } = readIdentityQuery(query)
      // Our own client sends its id twice: RavenDB's answer names no request.
      const asked = query.note('claim', MAX_REQUEST_ID_BYTES)
      const { database } = caller
      const ledgers = await readLedgers(c)
      const claim: IdentityClaim = { database, name, id, at: Date.now(), ledgers, serverTag }
      const wanted = [{ action: 'identity', tag: name, count: 1 } as const]
      const take = async () => (await queue.add([claim]))[0] as IdentityOutcome | FailedClaim
      const outcome = await pay(caller, { wanted, isShared: true }, claim, take)
      if ('failure' in outcome) throw outcome.failure
      if ('other' in outcome) others.note(database, outcome.other)
      return answer({
        NewIdentityValue: numberOf(outcome, { database, name }),
        // guard: H11 an identity's number names the request for it
        ...(asked !== undefined && { Claim: asked }),
      } satisfies IdentityAnswer)
    })
    .post('/identity/seed', async (c) => {
      const caller = access.callerOf(c, ['seed'])
      const { name, value, isForced } = readSeedQuery(new Parameters(c.req.url))
      const { database } = caller
      const wanted = [{ action: 'seed', tag: name, count: 0 } as const]
      const seed = { database, name, value, isForced }
      const outcome = await pay(caller, { wanted }, seed, () => ledger.seedIdentity(seed))
      return answer({ NewSeedValue: numberOf(outcome, { database, name }) })
    })
}

function numberOf(outcome: IdentityOutcome, identity: IdentityKey): number {
  if ('refused' in outcome) throw identityRefused(outcome, identity)
  return outcome.value
}

function identityRefused(
  outcome: Extract<IdentityOutcome, { refused: string }>,
  { database, name }: IdentityKey,
): Refusal {
  const { value } = outcome
  switch (outcome.refused) {
    case 'other-ledger':
      return ofAnotherLedger(outcome.other)
    case 'overflow':
      return refused(
        'no-numbers',
        `The numbers of identity '${name}' would pass 2^53-1, which JavaScript cannot count. ` +
          'Go on under a new name.',
      )
    case 'jump':
      return refused(
        'jump',
        `Identity '${name}' is at ${value}; the seed is too far above to be believed. Seed ` +
          'it in steps, or raise limits.maxJump.',
      )
    case 'restored':
      return restored([database])
    case 'full':
      return quotaReached('identities')
  }
}

/**
 * RavenDB's clients send no body.
 * @throws Refusal
 */
async function readLedgers(c: Context): Promise<LedgerNames | undefined> {
  const sent = await readText(c)
  if (sent === '') return undefined
  const { success, data } = identityBody.safeParse(parseJson(sent))
  if (!success) throw badParameter('The body is {"ledgers": {"A": "k3m9x2dq7rwt5hza/shop"}}.')
  return data.ledgers
}

const identityBody = z.object({ ledgers: ledgersShown.optional() })

/** A `raft-request-id` is stored with its number. */
const MAX_REQUEST_ID_BYTES = 128

function readIdentityQuery(query: Parameters): {
  name: string
  id: string | undefined
} {
  const text = query.single('name')
  if (text === '|') throw badParameter("The name of an identity is more than its '|'.")
  const name = text.endsWith('|') ? text : `${text}|`
  // With its `|`.
  query.note('name', MAX_DOCUMENT_ID_BYTES - Number(!text.endsWith('|')))
  return { name, id: query.note('raft-request-id', MAX_REQUEST_ID_BYTES) }
}

function readSeedQuery(query: Parameters): {
  name: string
  value: number
  isForced: boolean
} {
  const { name } = readIdentityQuery(query)
  query.mandatory('value')
  const value = query.number('value')
  if (value < 0) throw badParameter('An identity starts at 0 or above.')
  return { name, value, isForced: query.flag('force', 'bool, val') }
}
