/**
 * Each bound collection has a queue of its own, all others share one. Guarantees that a counter
 * which somebody keeps locked, or an upstream which does not answer, neither delays nor fails any
 * but those who want its numbers.
 */
import { bindingKey } from '../bound/bindings.js'
import type { ClaimOutcome, ClaimRequest, Ledger } from '../ledger/ledger.js'
import { combineClaims } from './claim-queue.js'

type Take = (claims: readonly ClaimRequest[]) => Promise<ClaimOutcome[]>

/** The commit of a claim did not come about. */
export interface FailedClaim {
  failure: unknown
}

/** The parameters are `combineClaims`'. */
export function claimLanes(
  ledger: Ledger,
  maxWaiting: number,
  committed: (claims: number) => void,
): (claims: readonly ClaimRequest[]) => Promise<(ClaimOutcome | FailedClaim)[]> {
  const lanes = new Map<string, Take>()

  function laneOf(claim: ClaimRequest): Take {
    const name = ledger.isBound(claim) ? bindingKey(claim) : ''
    const lane =
      lanes.get(name) ??
      combineClaims(
        (claims: readonly ClaimRequest[]) => ledger.claim(claims),
        maxWaiting,
        committed,
      )
    lanes.set(name, lane)
    return lane
  }

  return async (claims) => {
    const parts = new Map<Take, ClaimRequest[]>()
    for (const claim of claims) {
      const lane = laneOf(claim)
      parts.set(lane, [...(parts.get(lane) ?? []), claim])
    }
    const outcomes = new Map<ClaimRequest, ClaimOutcome | FailedClaim>()
    await Promise.all(
      [...parts].map(async ([lane, part]) => {
        const taken = await lane(part).catch((failure: unknown) =>
          part.map((): FailedClaim => ({ failure })),
        )
        for (const [i, outcome] of taken.entries()) outcomes.set(part[i]!, outcome)
      }),
    )
    return claims.map((claim) => outcomes.get(claim)!)
  }
}
