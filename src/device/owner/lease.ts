/**
 * The numbers that a transaction gives a page. Guarantees that nothing goes back that could be
 * another node's (H9), or that another copy of the device keeps.
 */
import { isCheckInDue } from '../check-in.js'
import { exchange } from '../device.js'
import { asked } from '../reserve.js'
import type { DeviceState, Exchange, Exchanged } from '../state.js'
import { pagesOf } from '../write-off.js'

/** The inputs of a transaction, besides the stored state. */
export interface Surroundings {
  /** The device's clock; it paces, and decides nothing (H19). */
  date: number
  /** The target in force. */
  reserve: number
  /**
   * As many free numbers stay when the surplus is set aside to go back. In memory, 0: nobody else
   * sees them. `Infinity`: the source takes nothing back.
   */
  keep: number
  /** Does this page hear when another node answers another page? */
  isHeard: boolean
  /** No other page is open. */
  isAlone: boolean
}

/** Also the work that the transaction found for the owner. */
export type Given = Exchanged & { pages: Set<string>; isDue: boolean }

export function lease(
  state: DeviceState,
  request: Exchange,
  around: Surroundings,
): [DeviceState, Given] {
  // While several pages are busy, surplus stays free so that they can lease it. A page at rest
  // sets it aside to give back.
  const offer = request.offer && (request.want === 0 || around.isAlone)
  const { state: next, ...answer } = exchange(
    request.want > 0 && !request.isIdle ? asked(state) : state,
    { ...request, offer },
    kept(state, around),
    around.reserve,
  )
  return [next, { ...answer, pages: pagesOf(next), isDue: isCheckInDue(next, around.date) }]
}

/**
 * How many numbers stay, in this state. A RavenDB takes back only the end of its counter. Once
 * another client has claimed, numbers that are sent back are a gap; stored here they serve the next
 * page. A device without a reserve keeps nothing: two copies of the device would make the same ids
 * of it, and a RavenDB cannot tell them apart.
 */
export function kept(
  { ranges, isPlain }: DeviceState,
  { reserve, keep, isHeard }: Pick<Surroundings, 'reserve' | 'keep' | 'isHeard'>,
): number {
  const mayGoBack = isHeard || ranges.every(({ token }) => token !== undefined)
  const isForNextPage = isPlain && reserve > 0 && keep > 0
  return mayGoBack && !isForNextPage ? keep : Number.POSITIVE_INFINITY
}
