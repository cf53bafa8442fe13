/** The part of the ledger for identities: RavenDB's counters without ranges. */
import type { LedgerNames } from '../../../src/core/wire.js'
import type { OtherLedger } from './claims-port.js'
import type { IdentityKey } from './keys.js'

export interface IdentityClaim extends IdentityKey {
  /** A claim that is repeated with the same id gets the same number, until it is pruned. */
  id?: string | undefined
  /** Milliseconds since the epoch. */
  at: number
  /** The ledgers that the device holds numbers of, by server tag. */
  ledgers?: LedgerNames | undefined
  /** Of this server. */
  serverTag?: string
}

export interface IdentitySeed extends IdentityKey {
  /** The next number will be the one after. */
  value: number
  /** Also down, but never below a number that was handed out. */
  isForced: boolean
}

/** Where the identity is; or why it did not move, with reasons as for a claim. */
export type IdentityOutcome =
  | { value: number }
  | { refused: 'overflow' | 'jump' | 'full' | 'restored'; value: number }
  | { refused: 'other-ledger'; value: number; other: OtherLedger }

/** Counters of RavenDB's without ranges. */
export interface Identities {
  /**
   * Takes the next number of an identity per claim, without gaps, all of them in one commit.
   * Resolves with an outcome per claim, in their order.
   */
  nextIdentities(claims: readonly IdentityClaim[]): Promise<IdentityOutcome[]>

  seedIdentity(seed: IdentitySeed): Promise<IdentityOutcome>

  /** Is there such an identity? */
  hasIdentity(identity: IdentityKey): Promise<boolean>
}
