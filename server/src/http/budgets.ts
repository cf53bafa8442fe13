/**
 * A token's hourly budget, its rest, and the cost of requests that move counters. Guarantees that
 * one token, in whosever hands, takes only its part of the server. A budget comes back little by
 * little, and a request for more than a whole one is refused. It is kept in memory, by each process
 * for itself, or where the place keeps it. How far counters have gone is kept in memory, of a
 * bounded number of names.
 */
import { bindingKey } from '../ledger/collections.js'
import type { CollectionKey, Ledger } from '../ledger/ledger.js'
import type { HandlerLimits } from './handler-options.js'
import { type Refusal, refused, tooMany, tooOften } from './refusals.js'
import type { FoundToken } from './tokens.js'

export const BUDGETS = ['requests', 'numbers', 'rows', 'names'] as const
type Budget = (typeof BUDGETS)[number]
export type Cost = Partial<Record<Budget, number>>
export type HourlyLimits = Pick<HandlerLimits, `${Budget}PerHour`>
/** A cause of a refusal. */
export type Spent = Budget | 'waiting'

export interface Budgets {
  /** @throws Refusal, and takes nothing, where less is left */
  spend(token: FoundToken, cost: Cost): void
  refund(token: FoundToken, cost: Cost): void
}

/** The rest of a token's budget, and since when. In seconds. */
export type Left = Record<Budget, number> & { at: number }

/** Where budgets outlast the process. Times are those of its clock. */
export interface KeptBudgets {
  /** By the name of the token. */
  read(): Iterable<[string, Left]>
  /** The object is kept, and changes again. */
  changed(token: string, left: Left): void
}

const HOUR_SECONDS = 3_600

/** Has all of it come back? */
export const isWhole = ({ at }: Left, now: number): boolean => now - at > HOUR_SECONDS

/**
 * @param onRefused called with the name of the token
 * @param kept undefined: in memory
 * @param now seconds. A clock that never goes back means nothing after a start
 */
export function createBudgets(
  limits: HourlyLimits,
  onRefused: (token: string, budget: Budget) => void,
  kept?: KeptBudgets,
  now = () => (kept ? Date.now() : performance.now()) / 1000,
): Budgets {
  const lefts = new Map<string, Left>(kept?.read())
  const hourly = (budget: Budget, { devices = 1 }: FoundToken) =>
    limits[`${budget}PerHour`] * devices

  function leftOf(token: FoundToken): Left {
    const at = now()
    let left = lefts.get(token.name)
    if (!left) {
      // A program may change its tokens for ever: a budget that is whole again need not be kept.
      for (const [name, other] of lefts) if (isWhole(other, at)) lefts.delete(name)
      left = { requests: 0, numbers: 0, rows: 0, names: 0, at: at - HOUR_SECONDS }
      lefts.set(token.name, left)
    }
    // The clock may have been set back.
    const passed = Math.max(0, at - left.at)
    for (const budget of BUDGETS) {
      const whole = hourly(budget, token)
      left[budget] = Math.min(whole, left[budget] + (whole * passed) / HOUR_SECONDS)
    }
    left.at = at
    kept?.changed(token.name, left)
    return left
  }

  return {
    spend(token, cost) {
      const left = leftOf(token)
      for (const budget of BUDGETS) {
        const whole = hourly(budget, token)
        const wanted = cost[budget] ?? 0
        const missing = wanted - left[budget]
        // guard: H26 a token has a budget
        if (missing <= 0) continue
        onRefused(token.name, budget)
        // guard: H26 no request takes more than a whole budget
        if (wanted > whole) throw aboveBudget(budget, whole, wanted)
        throw overBudget(budget, whole, Math.ceil((missing * HOUR_SECONDS) / whole))
      }
      for (const budget of BUDGETS) left[budget] -= cost[budget] ?? 0
    },
    refund(token, cost) {
      const left = leftOf(token)
      for (const budget of BUDGETS)
        left[budget] = Math.min(hourly(budget, token), left[budget] + (cost[budget] ?? 0))
    },
  }
}

const WHAT: Readonly<Record<Budget, string>> = {
  requests: 'requests',
  numbers: 'numbers',
  rows: 'rows of the ledger',
  names: 'new collections, identities and series',
}

/** Later, it would be too much still. Of numbers, our client asks for half as many. */
const aboveBudget = (budget: Budget, whole: number, wanted: number): Refusal =>
  (budget === 'numbers' ? tooMany : refused)(
    'budget',
    `This request takes ${wanted} ${WHAT[budget]}, and its token has ${whole} an hour. ${
      budget === 'numbers' ? 'Those count, too, that lastMax makes a counter skip. ' : ''
    }Nothing was granted. Ask for less at once. If several devices use it, say with it how ` +
      `many there are ("devices"), or raise limits.${budget}PerHour.`,
  )

const overBudget = (budget: Budget, whole: number, seconds: number): Refusal =>
  tooOften(
    `This token has used up its ${whole} ${WHAT[budget]} an hour. Nothing was granted. Send the ` +
      `same request again in ${seconds} seconds. If several devices use the token, give each one ` +
      `of its own, or say with the token how many there are ("devices"), or raise ` +
      `limits.${budget}PerHour.`,
    seconds,
  )

interface Move extends CollectionKey {
  /** Numbers that are asked for. */
  count: number
  /** Tokens that are replaced. */
  shown?: readonly unknown[] | undefined
  /** The counter skips all numbers up to this one. */
  lastMax: number
}

/** Waits for the turn of a request, and then reads the ledger. */
export type Turn = <T>(read: () => Promise<T>) => Promise<T>

export interface Costs {
  /**
   * Of each move: its numbers, those that it skips, its row and those of its tokens, and its name
   * where it is new.
   */
  of(moves: readonly Move[], turn: Turn): Promise<Price[]>
  /**
   * The counter has gone so far.
   * @returns whether that is the first that is known of it
   */
  saw(key: CollectionKey, max: number): boolean
  /** Is it known that there is such a name? */
  knows(key: CollectionKey): boolean
}

export type Price = Required<Omit<Cost, 'requests'>>

const MOST_REMEMBERED = 10_000

export function createCosts({ readAll }: Pick<Ledger, 'readAll'>): Costs {
  /** How far each has gone, by `bindingKey`. Another server may have moved it on. */
  const seen = new Map<string, number>()

  function saw(collection: CollectionKey, max: number): boolean {
    const key = bindingKey(collection)
    const before = seen.get(key)
    if (before === undefined && seen.size >= MOST_REMEMBERED) seen.delete(seen.keys().next().value!)
    seen.set(key, Math.max(before ?? 0, max))
    return before === undefined
  }

  return {
    saw,
    knows: (key) => seen.has(bindingKey(key)),
    async of(moves, turn) {
      const known = moves.map((move) => seen.get(bindingKey(move)) ?? -1)
      const unknown = moves.filter(({ lastMax }, i) => lastMax > known[i]!)
      // guard: H26 what a request costs is read in its turn
      const marks = unknown.length === 0 ? [] : await turn(() => readAll(unknown))
      return moves.map((move, i) => {
        const { count, lastMax, shown = [] } = move
        const mark = marks[unknown.indexOf(move)]
        const max = mark?.max ?? known[i]!
        if (mark && mark.version > 0) saw(move, max)
        const numbers = count + Math.max(0, lastMax - max)
        return { numbers, rows: 1 + shown.length, names: mark?.version === 0 ? 1 : 0 }
      })
    },
  }
}

export const sumOf = (prices: readonly Price[]): Price =>
  prices.reduce(
    (sum, { numbers, rows, names }) => ({
      numbers: sum.numbers + numbers,
      rows: sum.rows + rows,
      names: sum.names + names,
    }),
    { numbers: 0, rows: 0, names: 0 },
  )
