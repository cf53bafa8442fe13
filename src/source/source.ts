/**
 * The port to an authority: whoever hands out ranges. An implementation keeps no state; whatever
 * must survive is in the claim.
 */
import type { Target } from '../core/contract.js'
import type { Range } from '../core/range.js'
import type { ClaimRequest, GrantedRange } from '../core/state.js'
import type { CheckInAnswer, CheckInRequest } from '../core/wire.js'

export interface Source {
  /**
   * Asks for one range. The same claim may be sent again after a lost answer.
   * @throws HiloError `server-unreachable`, `server-refused`, `invalid-response`, `unsafe-range`
   */
  claim(target: Target, claim: ClaimRequest): Promise<GrantedRange>
  /**
   * Gives a range back whose numbers nobody here uses any more. Without a token it must be called
   * at most once (H8). Absent: this authority takes nothing back, and what was claimed stays on the
   * device.
   * @throws HiloError as `claim`
   */
  giveBack?(target: Target, range: Range): Promise<void>
  /**
   * Shows the tokens of all grants that this device holds numbers of. Only called when there are
   * some: absent where no grant has one.
   * @throws HiloError as `claim`
   */
  checkIn?(target: Target, request: CheckInRequest): Promise<CheckInAnswer>
  /**
   * The next number of an identity; the same `key` brings the same number.
   * @throws HiloError as `claim`
   */
  nextIdentity?(database: string, name: string, key: string): Promise<number>
}
