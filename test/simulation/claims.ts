/**
 * What each claim was granted, for the checker: a number that was granted twice for one claim, or
 * for a claim that its device gave up, may become a gap.
 */
import type { Checker, Series } from './checker.js'
import type { Lost } from './excuses.js'

interface Granted {
  series: Series
  low: number
  high: number
}

/** Claims for several collections share one id when they are sent as one request. */
export const claimKey = (id: string, collection: string): string =>
  `${id} ${collection.toLowerCase()}`

/** The collection of a series: `orders` of `orders-A`. */
export const collectionOf = (series: Series): string => series.slice(0, series.lastIndexOf('-'))

export class Claims {
  readonly #checker: Checker
  /** For each claim: what each node granted. */
  readonly #grants = new Map<string, Granted[]>()
  readonly #refused = new Set<string>()

  constructor(checker: Checker) {
    this.#checker = checker
  }

  grantsOf(claim: string): readonly Granted[] {
    return this.#grants.get(claim) ?? []
  }

  /**
   * A gateway refused a claim. The server may have granted the same claim before, or may still get
   * it later.
   */
  refused(claim: string): void {
    this.#refused.add(claim)
    this.#excuse(this.grantsOf(claim), 'a claim refused by a gateway')
  }

  /**
   * A claim is granted twice when it is sent again to another node, or to a server without claim
   * ids. The device usually takes one of the answers.
   */
  answered(claim: string, series: Series, low: number, high: number): void {
    const all = [...this.grantsOf(claim), { series, low, high }]
    this.#grants.set(claim, all)
    if (this.#refused.has(claim)) this.refused(claim)
    const ofSame = all.filter((each) => collectionOf(each.series) === collectionOf(series))
    if (ofSame.length > 1) this.#excuse(ofSame, 'a claim granted twice')
  }

  #excuse(grants: readonly Granted[], why: Lost): void {
    for (const { series, low, high } of grants) this.#checker.excuse(series, low, high, why)
  }
}
