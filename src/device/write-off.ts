/**
 * Counts numbers as gaps, because their page was killed or their give-back was lost. Pure
 * transitions. Guarantees that such a number is never free again: if the page lives after all, its
 * numbers are a gap and nothing else.
 */
import { total } from '../core/range.js'
import type { DeviceState, Lease, Offer } from './state.js'

/** This many pages with numbers are remembered. A page that was killed never settles them. */
const MAX_PAGES = 64
/** This many give-backs are remembered of which nobody knows whether they arrived. */
const MAX_SENT = 64

/**
 * Writes off the oldest pages and give-backs when there are more than these.
 * @param page is asking just now, so it lives, however many leases it holds
 */
export function writeOffOldest(state: DeviceState, page: string): DeviceState {
  const pages = pagesOf(state)
  const excess = Math.max(0, pages.size - MAX_PAGES)
  // guard: H16 a page does not write its own leases off
  const oldest = [...pages].filter((other) => other !== page).slice(0, excess)
  const sent = state.offers.filter(({ isSent }) => isSent)
  return writeOff(writeOffPages(state, new Set(oldest)), [], sent.slice(0, -MAX_SENT))
}

/** The pages that hold leases of this device, or offers they may still send. */
export function pagesOf({ leases, offers }: DeviceState): Set<string> {
  return new Set([
    ...leases.map(({ page }) => page),
    ...offers.filter((offer) => !offer.isSent).map(({ page }) => page),
  ])
}

/**
 * The pages to ask for their offers that they have not sent: all of them, when that and the free
 * numbers cover `want`. None, when even all of it is not enough: then only a claim helps.
 */
export function pagesWithOffers({ ranges, offers }: DeviceState, want: number): Set<string> {
  // guard: H12 what may have been sent is asked of nobody
  const unsent = offers.filter((offer) => !offer.isSent)
  const free = total(ranges)
  const isEnough = free < want && free + total(unsent.map(({ range }) => range)) >= want
  return new Set(isEnough ? unsent.map(({ page }) => page) : [])
}

/**
 * These pages did not answer: their numbers are lost, but for offers with a token. The server knows
 * the fate of those.
 */
export function writeOffPages(state: DeviceState, pages: ReadonlySet<string>): DeviceState {
  if (pages.size === 0) return state
  const isDead = ({ page, isSent }: Offer) => !isSent && pages.has(page)
  const asked = {
    ...state,
    offers: state.offers.map((offer) =>
      isDead(offer) && offer.range.token ? { ...offer, isSent: true as const } : offer,
    ),
  }
  return writeOff(
    asked,
    asked.leases.filter(({ page }) => pages.has(page)),
    asked.offers.filter(isDead),
  )
}

function writeOff(
  state: DeviceState,
  leases: readonly Lease[],
  offers: readonly Offer[],
): DeviceState {
  if (leases.length + offers.length === 0) return state
  const leased = leases.map(({ range }) => range)
  const offered = offers.map(({ range }) => range)
  return {
    ...state,
    leases: state.leases.filter((lease) => !leases.includes(lease)),
    offers: state.offers.filter((offer) => !offers.includes(offer)),
    issued: Math.max(state.issued, ...leased.map((range) => range.to)),
    gaps: {
      ...state.gaps,
      crash: state.gaps.crash + total(leased),
      giveBack: state.gaps.giveBack + total(offered),
    },
  }
}
