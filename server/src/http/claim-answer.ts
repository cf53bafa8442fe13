/** A claim's outcome on the wire: RavenDB's answer with our grant token, or a refusal. */
import { formatServerTime, type NextAnswer } from '../../../src/core/wire.js'
import type { ClaimRefusal, ClaimRequest, Grant } from '../ledger/ledger.js'
import {
  quotaReached,
  RETRY_SECONDS,
  Refusal,
  refused,
  restored,
  tooMany,
  tryLater,
} from './refusals.js'

/**
 * @param prefix what stands before the number
 * @param claim the claim's id
 */
export const claimAnswer = (
  { low, high, count, serverTag, at, token }: Grant,
  prefix: string,
  claim: string | undefined,
): NextAnswer => ({
  Prefix: prefix,
  Low: low,
  High: high,
  LastSize: count,
  ServerTag: serverTag,
  LastRangeAt: formatServerTime(at),
  Token: token,
  // guard: H11 an answer names its claim
  ...(claim !== undefined && { Claim: claim }),
})

export function claimRefused(
  { refused: why, max }: ClaimRefusal,
  { database, collection: tag, lastMax }: ClaimRequest,
): Refusal {
  switch (why) {
    case 'jump':
      return refused(
        'jump',
        `The client saw number ${lastMax} of '${tag}', but this server has granted only up to ` +
          `${max}: too far apart to be believed. ` +
          'If the server was restored from an old backup, run: offline-hilo-server raise-floor ' +
          `(then nothing up to ${lastMax} is granted again).`,
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
