/**
 * Claims of collections whose numbers come from elsewhere: what the ledger is short of is taken
 * there, and the claims are made once more. Guarantees that a source which fails costs nothing of
 * what others have given, and fails no claim that shares the commit and may have its numbers.
 */
import { isShort } from '../ledger/claim.js'
import { distinct, grouped, keyText, normalized } from '../ledger/keys.js'
import type {
  ClaimOutcome,
  ClaimRequest,
  CollectionKey,
  Ledger,
  UpstreamRange,
} from '../ledger/ledger.js'

/**
 * Takes numbers for these claims of one collection, or fewer.
 * @param max how far the ledger has come
 */
export type Take = (
  key: CollectionKey,
  short: readonly ClaimRequest[],
  max: number,
) => Promise<readonly UpstreamRange[]>

/** @throws what `take` throws, when it is short of numbers for every claim and gets none */
export async function refilled(
  claim: Ledger['claim'],
  requests: readonly ClaimRequest[],
  take: Take,
): Promise<ClaimOutcome[]> {
  const claims = requests.map(normalized)
  const outcomes = await claim(claims)
  const short = claims.filter((_, i) => isShort(outcomes[i]!))
  if (short.length === 0) return outcomes
  for (let refusals = outcomes.filter(isShort); ; ) {
    const maxOf = new Map(short.map((one, i) => [keyText(one), refusals[i]!.max]))
    const groups = grouped(short, keyText)
    const received = await answered(
      distinct(short, keyText).map((key) =>
        take(key, groups.get(keyText(key))!, maxOf.get(keyText(key))!),
      ),
    ).catch((error) => {
      if (short.length === claims.length) throw error
      return []
    })
    const filled = await claim(short, received)
    // All that was taken may be below a floor that was raised meanwhile: such numbers are a gap.
    if (received.length > 0 && filled.every(isShort)) refusals = filled
    else return outcomes.map((outcome) => (isShort(outcome) ? filled.shift()! : outcome))
  }
}

/** @throws the first failure when nobody has given anything */
async function answered(asked: readonly Promise<readonly UpstreamRange[]>[]) {
  const outcomes = await Promise.allSettled(asked)
  const given = outcomes.filter((outcome) => outcome.status === 'fulfilled')
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed && given.length === 0) throw failed.reason
  return given.flatMap(({ value }) => value)
}
