/**
 * A judge over lives of tills. It keeps a plain list of all receipts that customers hold in hand,
 * and of all that tills have shown, and compares both with what tills tell now.
 */
import { expect } from 'vitest'
import type { ConsecutiveNumber, SeriesReport } from '../../../src/addons/consecutive/index.js'
import { audit, type KeptLink } from './auditor.js'
import { exportOf, type Till } from './devices.js'

/** A receipt in the hand of a customer. */
export interface InHand {
  id: string
  series: string
  period: string
  number: number
  key: string
  /** Its storage has gone, and the server does not know of it. */
  isForgotten?: true
  /** Two copies of one storage went on, and this one had no network. */
  isOfCopy: boolean
}

/** What one storage has to tell. */
export interface Told {
  /** By key. */
  given: Map<string, InHand>
  states: Map<string, string>
  /** Series and period. */
  closed: Set<string>
  /** Of the register. */
  entries: string
}

export const nothing = (): Told => ({
  given: new Map(),
  states: new Map(),
  closed: new Set(),
  entries: '',
})

export const copyOf = ({ given, states, closed, entries }: Told): Told => ({
  given: new Map(given),
  states: new Map(states),
  closed: new Set(closed),
  entries,
})

export class Judge {
  readonly inHand: InHand[] = []
  readonly #hasRanges: boolean
  /** Of each series and period: numbers that a till has shown, or a person has stated. */
  readonly #explained = new Map<string, Set<number>>()
  readonly #doubtful = new Set<string>()

  constructor(hasRanges: boolean) {
    this.#hasRanges = hasRanges
  }

  /** A customer gets a receipt. */
  handsOut(
    { given, states, closed }: Told,
    key: string,
    answer: ConsecutiveNumber,
    isCopied: boolean,
  ): void {
    const { id, number, period = '', heard } = answer
    const had = given.get(key)
    expect(id, `of ${key} again`).toBe(had?.id ?? id)
    if (had) return
    const series = id.slice(0, id.indexOf('-'))
    expect(closed).not.toContain(`${series} ${period}`)
    const receipt = { id, number, period, series, key, isOfCopy: isCopied && !heard }
    given.set(key, receipt)
    states.set(key, 'open')
    this.inHand.push(receipt)
  }

  explain(series: string, period: string, number: number): void {
    const name = `${series} ${period}`
    this.#explained.set(name, (this.#explained.get(name) ?? new Set()).add(number))
  }

  /** What a till shows is remembered. */
  async sees({ receipts }: Till): Promise<SeriesReport[]> {
    const reports = await receipts.report()
    for (const { series, numbers } of reports)
      for (const { period = '', number, id, isDoubtful } of numbers) {
        this.explain(series, period, number)
        if (isDoubtful) this.#doubtful.add(id)
      }
    return reports
  }

  /** What a till tells fits to itself, to what it told before, and to what the server has kept. */
  async checks(till: Till, told: Told, kept: KeptLink[] = []): Promise<SeriesReport[]> {
    const text = await exportOf(till.receipts)
    const entries = text.split('\n').filter((line) => line.startsWith('{"record":"entry"'))
    expect(entries.join('\n').startsWith(told.entries), 'entries only grow').toBe(true)
    told.entries = entries.join('\n')
    expect(audit(text, kept)).toEqual([])
    const { broken } = await till.receipts.verify()
    // docs/ranges-and-chains.md: "also a number that a page without the chain made".
    const isUnchained = ({ chain, why }: (typeof broken)[0]) =>
      chain !== 'register' && why === 'missing'
    expect(broken.filter((each) => !isUnchained(each))).toEqual([])
    const reports = await this.sees(till)
    const rows = new Map(reports.flatMap(({ numbers }) => numbers.map((row) => [row.key, row])))
    for (const [key, { id }] of told.given)
      expect(rows.get(key)).toMatchObject({ id, state: told.states.get(key) })
    return reports
  }

  noneIsInTwoHands(): void {
    const hands = new Map<string, InHand[]>()
    for (const each of this.inHand) {
      const name = this.#hasRanges ? `${each.number}` : each.id
      hands.set(name, [...(hands.get(name) ?? []), each])
    }
    for (const [name, given] of hands) {
      // docs/document-numbers.md: "Numbers that both may have handed out are doubtful".
      // docs/copies-and-ledgers.md: "The server can't find what it never heard of: the numbers of
      // the last seconds before a device went back, and all that two copies make offline".
      const isTold =
        given.some(({ id, isForgotten }) => isForgotten || this.#doubtful.has(id)) ||
        given.every(({ isOfCopy }) => isOfCopy)
      // One sale may be asked for again, also where a copy was put back meanwhile.
      const isOneSale = given.every(({ key }) => key === given[0]!.key)
      expect(isOneSale || isTold, `${name}: ${JSON.stringify(given)}`).toBe(true)
    }
  }

  noneIsMissing(): void {
    for (const [name, numbers] of this.#explained) {
      const first = this.#hasRanges ? Math.min(...numbers) : 1
      const all = Array.from(numbers, (_, i) => first + i)
      expect(
        [...numbers].sort((a, b) => a - b),
        name,
      ).toEqual(all)
    }
  }
}
