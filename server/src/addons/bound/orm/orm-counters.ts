/**
 * The ORMs' counters that collections are bound to, in the ledger's own PostgreSQL. Guarantees that
 * each connection checks a counter before it takes from it, again after each change of its tables,
 * and that it takes in the transaction which grants the numbers.
 */
import { bindingKey } from '../../../ledger/collections.js'
import type { OrmCounters, Query } from '../../../ledger/counter-port.js'
import type { CollectionKey } from '../../../ledger/ledger.js'
import { CounterUnusable } from '../../../ledger/ledger-errors.js'
import type { Span } from '../../../ledger/number-line.js'
import { Pacer } from '../../upstream/authority.js'
import type { Tell } from '../cautions.js'
import type { Bindings, Bound } from '../collections-setting.js'
import { lastValue, valueAbove } from './blocks.js'
import { highWaterOf, reachOf } from './bound-rows.js'
import type { Binding, Counter, Relation } from './counter-binding.js'
import { problemsOf } from './counter-checks.js'
import { nameOf, nextValue, raiseCounter } from './counter-statements.js'
import { explained } from './explained.js'
import { shapeOf } from './relations.js'
import { unprovenProblems } from './remembered-proof.js'
import { takeBlocks } from './take-blocks.js'
import { joined, type UsedRange, usedOf } from './used-ids.js'

/**
 * Other takers of some counters give up when they lose too many races. There, takes that follow
 * each other closely double, up to so many blocks: takes are few, and races rare.
 */
const MOST_AT_ONCE = 64

export function ormCounters(ledger: string, bindings: Bindings<Relation>, tell: Tell): OrmCounters {
  const checked = new WeakMap<Query, Map<Counter, string>>()
  const pacers = new Map<Counter, Pacer>()
  /** Counters that blocks were taken from. */
  const begun = new Set<Counter>()

  async function usable(query: Query, key: CollectionKey): Promise<Counter> {
    const bound = bindings.get(bindingKey(key)) as Bound<Relation> & { authority: 'counter' }
    const { counter } = bound
    const done = checked.get(query) ?? new Map<Counter, string>()
    checked.set(query, done)
    const shape = await shapeOf(query, counter)
    // guard: H31 a table or sequence that was changed while the server runs is checked again
    if (done.get(counter) === shape) return counter
    const problems = await counterProblems(query, ledger, counter, false)
    if (problems.length > 0) throw new CounterUnusable(problems.join(' '))
    done.set(counter, shape)
    return counter
  }

  function isShared(binding: Counter): boolean {
    const place = nameOf(binding)
    return [...bindings.values()].some(
      (other) => 'counter' in other && other.counter !== binding && nameOf(other.counter) === place,
    )
  }

  /** Before the first block: rows may have come since the start. */
  async function refuseUnproven(query: Query, binding: Counter): Promise<void> {
    if (begun.has(binding)) return
    if ((await highWaterOf(query, ledger, binding.key)) > 0) {
      begun.add(binding)
      return
    }
    const problems = await explained(binding, () => unprovenProblems(query, ledger, binding, 0))
    // guard: H20 a binding that nobody has proved takes no first block where the table has ids
    if (problems.length > 0) throw new CounterUnusable(problems.join(' '))
  }

  function pacerOf(binding: Counter): Pacer | undefined {
    const pacer = pacers.get(binding) ?? new Pacer(MOST_AT_ONCE)
    pacers.set(binding, pacer)
    return binding.yields ? pacer : undefined
  }

  /** Spans of the stock of which the back end has ids. */
  async function usedStock(query: Query, binding: Counter, stock: readonly Span[]) {
    const ranges = stock.map(([low, high]) => ({ low: BigInt(low), high: BigInt(high) }))
    const used = await explained(binding, () => usedOf(query, binding.ids, ranges))
    for (const range of used) tell(usedText(binding, range, 'are granted to nobody'))
    return used.map(({ low, high }): Span => [Number(low), Number(high)])
  }

  return {
    async answer(query, { raiseTo: least, raiseBy, above, stock, missing, ...key }) {
      const binding = await usable(query, key)
      const raiseTo =
        raiseBy === undefined
          ? least
          : Math.max(least ?? 0, (await lastIdOf(query, binding)) + raiseBy)
      const isAtEnd = raiseTo !== undefined && !hasIdsAbove(binding, raiseTo)
      if (raiseTo !== undefined && !isAtEnd)
        await explained(binding, () => raiseCounter(query, binding, raiseTo))
      if (raiseBy !== undefined && !isAtEnd)
        return { fresh: [], used: [], isAtEnd, reach: await lastIdOf(query, binding) }
      const used = await usedStock(query, binding, stock)
      const wanted = missing(used)
      if (wanted === 0 || !hasIdsAbove(binding, above)) return { fresh: [], used, isAtEnd }
      await refuseUnproven(query, binding)
      const pacer = pacerOf(binding)
      const needed = Math.ceil(wanted / Number(binding.blocks.size))
      const count = pacer?.take(needed, performance.now()) ?? needed
      // guard: H20 a shared counter gives nothing that another collection has
      const floor = isShared(binding)
        ? Math.max(above, await reachOf(query, ledger, binding))
        : above
      const taken = await explained(binding, () => takeBlocks(query, binding, count, wanted, floor))
      pacer?.came(count, performance.now())
      for (const range of joined(taken.used)) tell(usedText(binding, range, 'were passed over'))
      return { fresh: taken.fresh, used, isAtEnd }
    },
  }
}

/** A warning for an operator: numbers are in use although nobody was granted them. */
const usedText = (binding: Counter, { low, high, id, column }: UsedRange, fate: string): string =>
  `${bindingKey(binding.key)}: ${column} has ${id} already, so ${low} to ${high} ${fate}. They ` +
  `came from ${nameOf(binding)} as if they were free. Find out who made that row. If the back ` +
  'end did, strategy or size are wrong, or the counter was set back: stop this server, and ' +
  'correct that.'

/** The highest id that a counter has given. */
async function lastIdOf(query: Query, binding: Counter): Promise<number> {
  const { blocks } = binding
  const value = await explained(binding, () => nextValue(query, binding))
  return Number(value * blocks.factor + blocks.shift - 1n)
}

const hasIdsAbove = ({ blocks, maxId }: Binding, floor: number): boolean =>
  valueAbove(blocks, BigInt(floor)) <= lastValue(blocks, maxId)

/** The faults of a counter, by the database and by how far the ledger has come. */
export async function counterProblems(
  query: Query,
  ledger: string | undefined,
  binding: Counter,
  isFirst: boolean,
): Promise<string[]> {
  const reach = await reachOf(query, ledger, binding)
  return explained(binding, () => problemsOf(query, binding, reach, isFirst))
}
