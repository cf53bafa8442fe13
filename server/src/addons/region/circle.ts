/**
 * Through which regions a request comes to a root, told in a header. Guarantees that regions in a
 * circle, also one above itself, do not ask each other for ever: one refuses, and names the circle.
 */
import type { Ledger } from '../../ledger/ledger.js'
import { CounterUnusable } from '../../ledger/ledger-errors.js'
import { LEDGER_NAME } from '../../ledger/name.js'

/** `<name of the region's ledger> <root that it asks>`, the lowest region first. */
export const REGIONS_HEADER = 'Hilo-Regions'
/** A longer one, about thirty regions, is nobody's. */
const MAX_LENGTH = 2_000
/** A region asks its root within five seconds, or not on behalf of that request. */
const KEPT_MS = 10_000

export interface Circle {
  /** What a region below sends. */
  askedThrough: NonNullable<Ledger['askedThrough']>
  /** What this region sends. */
  regions(): string
}

/**
 * @param name of this region's own ledger. It is told to roots only, so nobody else can stop a
 * request with it
 * @param url of its root
 */
export function circleOf(name: string, url: string): Circle {
  // Requests share claims, so the path of one stands for all. Another one meets the circle later.
  let below = { path: '', at: Number.NEGATIVE_INFINITY }
  return {
    askedThrough(headers) {
      const regions = headers.get(REGIONS_HEADER)
      if (regions === null || regions.length > MAX_LENGTH) return
      const parts = regions.split(' ')
      if (!parts.every(isPart)) return
      const own = parts.indexOf(name)
      if (own < 0) {
        below = { path: `${regions} `, at: performance.now() }
        return
      }
      const urls = parts.slice(own).filter((_, i) => i % 2 === 1)
      throw new CounterUnusable(
        `This region is above itself: it asks ${urls.join(', which asks ')}, which is this ` +
          'region, or has a copy of its ledger. No numbers can come from there, and none was ' +
          'granted. Lead `upstream` of one of them to the root that counts.',
      )
    },
    regions() {
      const isOld = performance.now() - below.at > KEPT_MS
      return `${isOld ? '' : below.path}${name} ${url}`
    },
  }
}

const isPart = (text: string, i: number): boolean =>
  i % 2 === 0 ? LEDGER_NAME.test(text) : /^https?:\/\/[\x21-\x7e]+$/.test(text)
