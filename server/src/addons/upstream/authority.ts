/**
 * Claims numbers from another authority when the ledger is short of them, and makes its claims once
 * more. A new kind of authority is a new {@link BoundSource}. Guarantees that a source which fails
 * costs nothing of the numbers that others gave, and fails no claim that shares the commit and may
 * have its numbers.
 */
import type { Failure } from '../../../../src/core/errors.js'
import { nextStep } from '../../../../src/core/failures.js'
import { distinct, grouped, keyText, normalized } from '../../ledger/collections.js'
import type {
  ClaimOutcome,
  ClaimRefusal,
  ClaimRequest,
  CollectionKey,
  Ledger,
  UpstreamRange,
} from '../../ledger/ledger.js'
import { CounterUnusable, UpstreamUnavailable } from '../../ledger/ledger-errors.js'

/**
 * Takes numbers for these claims of one collection, or fewer.
 * @param max how far the ledger has come
 */
export type Take = (
  key: CollectionKey,
  short: readonly ClaimRequest[],
  max: number,
) => Promise<readonly UpstreamRange[]>

/** Where the numbers of one collection come from. */
export interface BoundSource {
  /** As `Take`, of this collection. */
  take(short: readonly ClaimRequest[], max: number): Promise<readonly UpstreamRange[]>
  /** Gives back as many numbers as it can. The ledger is still open. */
  close(): Promise<void>
}

/** @throws the error of `take`, when it is short of numbers for every claim and gets none */
export async function claimWithAuthority(
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
    // What was taken may be below a floor that was raised meanwhile, or dropped with it: a gap.
    const again = filled.filter(isShort)
    const isRaised = again.some(({ max }, i) => max > refusals[i]!.max)
    if (again.length === filled.length && (received.length > 0 || isRaised)) refusals = again
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

/**
 * An upstream that is away may be asked again soon. About an answer that cannot be used, somebody
 * has to do something.
 * @param effect a sentence before the message
 */
export function upstreamFailure(failure: Failure, effect?: string): Error {
  const isAway = nextStep(failure) === 'same'
  const message = effect === undefined ? failure.message : `${effect} ${failure.message}`
  return new (isAway ? UpstreamUnavailable : CounterUnusable)(message)
}

/** The last take was used up in less time than this. */
const CLOSE_MS = 1_000

export class Pacer {
  /** Did the last take follow closely on the one before? */
  isFast = false
  readonly #most: number
  #last = { at: Number.NEGATIVE_INFINITY, count: 0 }

  /** @param most doubling stops here */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  /**
   * @param now milliseconds
   * @returns how many to take when `count` are needed
   */
  take(count: number, now: number): number {
    this.isFast = now - this.#last.at < CLOSE_MS
    const doubled = this.isFast ? Math.min(2 * this.#last.count, this.#most) : 0
    return Math.max(count, doubled)
  }

  /** What was asked for and did not come says nothing of how fast numbers go. */
  came(count: number, now: number): void {
    this.#last = { at: now, count }
  }
}

/** Is it refused until numbers have come from elsewhere? */
const isShort = (outcome: ClaimOutcome): outcome is ClaimRefusal =>
  'refused' in outcome && outcome.refused === 'short'
