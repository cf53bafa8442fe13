/**
 * The port to the server or counter that grants ranges. An implementation keeps no state: all that
 * must survive a lost answer is in the claim.
 */
import type { HiloError } from '../core/errors.js'
import type { Range } from '../core/range.js'
import type { CheckInAnswer, CheckInRequest, LedgerNames } from '../core/wire.js'
import type { Target } from '../device/contract.js'
import type { ReturnedPiece, WantedRange } from '../device/requests.js'
import type { DeviceClaim, GrantedRange } from '../device/state.js'

export interface Source {
  /**
   * Asks for one range. The same claim may be sent again after a lost answer.
   * @throws HiloError `server-unreachable`, `server-refused`, `invalid-response`, `unsafe-range`
   */
  claim(target: Target, claim: DeviceClaim): Promise<GrantedRange>
  /**
   * As `claim`, for several collections of one database in one request. Their claims have one id,
   * and each may be sent again alone.
   * @returns in their order. For one that was refused: the error, where it names another ledger,
   * and otherwise undefined: call `claim` to get the reason
   * @throws HiloError as `claim`
   */
  claimTogether?(wanted: readonly WantedRange[]): Promise<(GrantedRange | HiloError | undefined)[]>
  /**
   * Each request gets numbers of its own, also when a claim comes again. Then `claimTogether` is
   * not called. Absent: so it is.
   */
  isPlain?(database: string): boolean
  /** An earlier page has found it so: that holds until an answer shows otherwise. */
  wasPlain?(database: string): void
  /**
   * Asks whether the server would take numbers of a collection back now. Gives nothing back.
   * @throws HiloError as `claim`
   */
  reach?(target: Target): Promise<void>
  /**
   * Gives back a range that nobody on this device uses any more. For a range without a token it is
   * called at most once (H8). Absent: this source takes nothing back, and the device keeps its
   * claimed numbers.
   * @throws HiloError as `claim`
   */
  giveBack?(target: Target, range: Range): Promise<void>
  /**
   * As `giveBack`, for several ranges of one database in one request. All have tokens. Absent: each
   * is given back alone.
   * @throws HiloError as `claim`; each range may have come back
   */
  giveBackTogether?(pieces: readonly ReturnedPiece[]): Promise<void>
  /**
   * Shows the tokens of all grants that this device holds numbers of. Absent where grants have no
   * tokens; called only when there are some.
   * @throws HiloError as `claim`
   */
  checkIn?(target: Target, request: CheckInRequest): Promise<CheckInAnswer>
  /**
   * The next number of an identity; the same `key` brings the same number.
   * @param ledgers that the device holds numbers of: another one gives none (H34)
   * @throws HiloError as `claim`
   */
  nextIdentity?(database: string, name: string, key: string, ledgers?: LedgerNames): Promise<number>
}
