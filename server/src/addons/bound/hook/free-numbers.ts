/**
 * Asks the app whether numbers are free. Guarantees that no range leaves for a device of which the
 * app has an id, also from stock: such a range stays granted to nobody, and another one is claimed
 * in its place.
 */
import { bindingKey } from '../../../ledger/collections.js'
import type { ClaimOutcome, ClaimRequest, CollectionKey, Grant } from '../../../ledger/ledger.js'
import { CounterUnusable } from '../../../ledger/ledger-errors.js'
import type { Tell } from '../cautions.js'
import { call, shown } from './call.js'
import type { Hook } from './hook-options.js'

/** A claim passes over so many ranges that are in use. Then somebody has to look. */
const MAX_PASSES = 100

type Numbers = Pick<Grant, 'low' | 'high'>
type Granted = Extract<ClaimOutcome, { grant: Grant }>

/** @throws UpstreamUnavailable, CounterUnusable */
export async function isFree(
  { database, collection }: CollectionKey,
  hook: Hook,
  { low, high }: Numbers,
): Promise<boolean> {
  const ask = hook.isFree
  if (ask === false) return true
  const name = `isFree of ${database}/${collection}`
  const answer = await call(name, 'Nothing was granted.', (signal) =>
    ask({ database, collection, low, high, signal }),
  )
  if (typeof answer !== 'boolean')
    throw new CounterUnusable(
      `${name} gave ${shown(answer)}. It has to give true, if nobody has an id from low to ` +
        'high, or false. Nothing was granted.',
    )
  return answer
}

/** A warning for an operator where nobody can look. */
export const unseenText = (key: CollectionKey): string =>
  `${bindingKey(key)}: nobody looks whether the numbers of nextHi are free, because isFree is ` +
  'false. If nextHi, blockSize or hiIs are wrong, nobody notices that ids come twice.'

/**
 * The outcomes of claims, with free numbers only. If `isFree` fails for some claims, the others
 * have theirs.
 * @param hookOf the hook of a collection, if it has one
 * @param claim makes one more claim
 * @throws the error of `isFree`, when no claim has an outcome
 */
export async function freeOutcomes(
  requests: readonly ClaimRequest[],
  outcomes: readonly ClaimOutcome[],
  hookOf: (key: CollectionKey) => Hook | undefined,
  claim: (request: ClaimRequest) => Promise<ClaimOutcome>,
  tell: Tell,
): Promise<ClaimOutcome[]> {
  const asked = await Promise.allSettled(
    outcomes.map(async (outcome, i) => {
      const hook = hookOf(requests[i]!)
      return hook && 'grant' in outcome
        ? freeOutcome(hook, requests[i]!, outcome, claim, tell)
        : outcome
    }),
  )
  const failed = asked.find((one) => one.status === 'rejected')
  if (failed && asked.every(({ status }) => status === 'rejected')) throw failed.reason
  return asked.map((one) => (one.status === 'fulfilled' ? one.value : { refused: 'short', max: 0 }))
}

async function freeOutcome(
  hook: Hook,
  request: ClaimRequest,
  granted: Granted,
  claim: (request: ClaimRequest) => Promise<ClaimOutcome>,
  tell: Tell,
): Promise<ClaimOutcome> {
  const key = bindingKey(request)
  for (let given = granted, turn = 1, passes = 0; ; turn++) {
    const { grant, isRepeat } = given
    // guard: H20 numbers of a hook that are in use leave for nobody
    if (await isFree(request, hook, grant)) return { ...given, results: granted.results }
    if (!isRepeat) {
      tell(usedText(key, grant))
      if (++passes === MAX_PASSES) throw alwaysInUse(key, grant)
    }
    // The tokens were shown with the first claim. Repeated, a claim comes to the same range.
    const id = request.id && `${request.id}/${turn}`
    const next = await claim({ ...request, id, shown: undefined })
    if ('refused' in next) return next
    given = next
  }
}

const alwaysInUse = (key: string, { low, high }: Numbers): CounterUnusable =>
  new CounterUnusable(
    `isFree of ${key} said ${MAX_PASSES} times in one claim that ids are in use: the last ones ` +
      `are in ${low} to ${high}. Nothing was granted. If these ids came from elsewhere, set the ` +
      'counter of nextHi above them. Else nextHi, blockSize or hiIs are wrong.',
  )

const usedText = (key: string, { low, high }: Numbers): string =>
  `${key}: isFree says that somebody has an id from ${low} to ${high} already, so they are ` +
  'granted to nobody. They came from nextHi as if they were free. Find out who made that id. If ' +
  'the back end did, nextHi, blockSize or hiIs are wrong, or the counter was set back: stop this ' +
  'server, and correct that.'
