/**
 * Moves the numbers that a device kept in memory, because its storage did not open in time, into
 * the stored state (H35). Pure. Guarantees that a number keeps its owner: free, a page's, or
 * offered by it.
 */
import { insertAll, overlaps } from '../core/range.js'
import { everything, unheardOf } from './check-in.js'
import type { DeviceState } from './state.js'
import { hear } from './which-ledger.js'

/**
 * @param apart in memory. A grant of its claim is a gap: nobody knows whether the claim was sent
 * @param date the device's clock, for people
 */
export function unite(stored: DeviceState, apart: DeviceState, date: number): DeviceState {
  // guard: H35 what two grants hold is not taken over
  if (everything(apart).some((range) => everything(stored).some((other) => overlaps(range, other))))
    return stored
  const { gaps, ledgers, former = [] } = stored
  // guard: H35 what a ledger grants that the device has left stays out
  if (Object.values(apart.ledgers ?? {}).some((name) => former.includes(name))) return stored
  const sinceGrant = apart.sinceGrant ?? stored.sinceGrant
  const serverTag = apart.serverTag ?? stored.serverTag
  const nodes = [...new Set([...(stored.nodes ?? []), ...(apart.nodes ?? [])])].slice(0, 2)
  const stopped = stored.stopped ?? apart.stopped
  const united: DeviceState = {
    ...stored,
    ranges: insertAll(stored.ranges, apart.ranges),
    // guard: H35 a page keeps what it was leased in memory
    leases: [...stored.leases, ...apart.leases],
    // guard: H35 what a page may have given back is not free
    offers: [...stored.offers, ...apart.offers],
    issued: Math.max(stored.issued, apart.issued),
    gaps: { ...gaps, crash: gaps.crash + apart.gaps.crash },
    grants: [...stored.grants, ...apart.grants],
    ...(sinceGrant && { sinceGrant }),
    ...(serverTag !== undefined && { serverTag }),
    ...(nodes.length > 0 && { nodes }),
    ...unheardOf([...(stored.unheard ?? []), ...(apart.unheard ?? [])]),
    ...(stopped && { stopped }),
    ...((ledgers || apart.ledgers) && { ledgers: { ...apart.ledgers, ...ledgers } }),
  }
  // guard: H35 to take over the grants of a ledger is to hear it
  return Object.entries(apart.ledgers ?? {}).reduce(
    (state, [tag, name]) => hear(state, { name, tag }, date),
    united,
  )
}
