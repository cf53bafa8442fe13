/**
 * The meaning of a counter's options: where it is, which ids its values stand for, and the columns
 * that have them. Guarantees that a binding is complete and fits its strategy. Whether the database
 * agrees is found out by `counter-checks.ts`.
 */
import type { CollectionKey } from '../../../ledger/ledger.js'
import type { Blocks } from './blocks.js'
import { type CounterSettings, MAX_IDS } from './counter-options.js'
import {
  OPTIMIZERS,
  type SegmentTable,
  STRATEGIES,
  type Strategy,
  type StrategyName,
} from './strategies.js'

/** A table or sequence as SQL has it, with its schema: `public."Orders"`. */
export type Relation = string & { readonly isRelation: true }

export interface SequenceLocation<Name = string> {
  sequence: Name
}

export interface TableLocation<Name = string> {
  table: Name
  column: string
  /** Which row: column and value. */
  where: Readonly<Record<string, string | number>>
  /** The next value is the stored one, plus this. */
  ahead: bigint
  /** The value of a first row. Undefined: only the ORM's schema tool makes it. */
  start: bigint | undefined
  /** The setting with the row's key, and the ORM's name for such keys. */
  key: Pick<SegmentTable, 'setting' | 'keyIs'> | undefined
  fixed: Readonly<Record<string, bigint>>
}

/** The column of a back end's table that has the ids. */
export interface IdColumn<Name = string> {
  table: Name
  column: string
}

/** As configured; a `Counter` once the tables and sequences were found. */
export interface Binding<Name = string> {
  /** The bound collection. */
  key: CollectionKey
  strategy: StrategyName
  system: string
  location: SequenceLocation<Name> | TableLocation<Name>
  blocks: Blocks
  /** As configured: `blockSize 10`, or `pooled and blockSize 10` where there are optimizers. */
  size: string
  maxId: bigint
  /** The first value of the counter. Undefined: the strategy does not depend on it. */
  first: bigint | undefined
  fetchesTwice: boolean
  yields: boolean
  /** None: nobody can look. */
  ids: readonly IdColumn<Name>[]
  sentinels: readonly bigint[]
  /** The configuration says that it is used without a proof. */
  isUnproven: boolean
}

export type Counter = Binding<Relation>

export const isSequence = <Name>(
  location: SequenceLocation<Name> | TableLocation<Name>,
): location is SequenceLocation<Name> => 'sequence' in location

/** A setting, and its fault. */
export type Problem = [setting: string, message: string]

const DEFAULT_OPTIMIZER = 'pooled'

/** @returns the binding, or the faults of the settings */
export function toBinding(key: CollectionKey, settings: CounterSettings): Binding | Problem[] {
  const strategy: Strategy = withOptimizer(STRATEGIES[settings.strategy as StrategyName], settings)
  const problems = [...misplaced(strategy, settings), ...missing(strategy, settings)]
  if (problems.length > 0) return problems
  const first = BigInt(settings.initialValue ?? 1)
  const size = strategy.size && settings[strategy.size]!
  return {
    key,
    strategy: settings.strategy as StrategyName,
    system: strategy.system,
    location: locationOf(strategy, settings, first),
    blocks: strategy.blocks(BigInt(size ?? 1), first),
    size: sizeText(strategy, settings),
    maxId: BigInt(typeof settings.maxId === 'string' ? MAX_IDS[settings.maxId] : settings.maxId),
    first: strategy.hasFirst ? first : undefined,
    fetchesTwice: strategy.fetchesTwice ?? false,
    yields: strategy.yields ?? false,
    ids: settings.ids === false ? [] : [settings.ids].flat().map(idColumn),
    sentinels: (settings.sentinels ?? []).map(BigInt),
    isUnproven: settings.proved === false,
  }
}

/** @param name `table.column` or `schema.table.column` */
export function idColumn(name: string): IdColumn {
  const dot = name.lastIndexOf('.')
  return { table: name.slice(0, dot), column: name.slice(dot + 1) }
}

function withOptimizer(strategy: Strategy, { optimizer }: CounterSettings): Strategy {
  return strategy.hasOptimizer
    ? { ...strategy, ...OPTIMIZERS[optimizer ?? DEFAULT_OPTIMIZER], hasFirst: true }
    : strategy
}

function sizeText({ size, hasOptimizer }: Strategy, settings: CounterSettings): string {
  if (!size) return 'one id at a time'
  // guard: H31 the ledger remembers by which optimizer ids were made
  const optimizer = hasOptimizer ? `${settings.optimizer ?? DEFAULT_OPTIMIZER} and ` : ''
  return `${optimizer}${size} ${settings[size]}`
}

function locationOf(
  { kinds, segments }: Strategy,
  settings: CounterSettings,
  first: bigint,
): Binding['location'] {
  if (settings.sequence !== undefined) return { sequence: settings.sequence }
  if (!segments || !kinds.includes('segment'))
    return {
      table: settings.table!,
      column: settings.column!,
      where: settings.where ?? {},
      ahead: 0n,
      start: undefined,
      key: undefined,
      fixed: {},
    }
  return {
    table: settings.table ?? segments.table,
    column: settings.column ?? segments.column,
    where: { [settings.keyColumn ?? segments.keyColumn]: settings[segments.setting]! },
    ahead: segments.ahead,
    start: segments.start(first),
    key: segments,
    fixed: segments.fixed ?? {},
  }
}

/** Settings that the strategy does not use. They are a mistake, so they are refused. */
function misplaced(strategy: Strategy, settings: CounterSettings): Problem[] {
  const { kinds, segments, size } = strategy
  const used = new Set<string>(['strategy', 'maxId', 'ids', 'sentinels', 'proved'])
  if (kinds.includes('sequence')) used.add('sequence')
  if (kinds.includes('row')) for (const name of ['table', 'column', 'where']) used.add(name)
  if (segments)
    for (const name of ['table', 'column', 'keyColumn', segments.setting]) used.add(name)
  if (size) used.add(size)
  if (strategy.hasFirst) used.add('initialValue')
  if (strategy.hasOptimizer) used.add('optimizer')
  return Object.entries(settings)
    .filter(([name, value]) => value !== undefined && !used.has(name))
    .map(([name]) => [
      name,
      `is no setting of ${settings.strategy}, which has: ${[...used].join(', ')}`,
    ])
}

function missing({ kinds, segments, size }: Strategy, settings: CounterSettings): Problem[] {
  const problems: Problem[] = []
  const needs = (name: keyof CounterSettings, what: string) => {
    if (settings[name] === undefined) problems.push([name, `is missing: ${what}`])
  }
  if (size)
    needs(
      size,
      `how many ids ${settings.strategy} makes of one value, exactly as the back end has it`,
    )
  if (segments) needs(segments.setting, `which row of ${settings.table ?? segments.table} counts`)
  else if (settings.sequence !== undefined && settings.table !== undefined)
    problems.push(['table', 'is given beside sequence: there is one counter'])
  else if (settings.table === undefined && kinds.includes('sequence'))
    needs(
      'sequence',
      kinds.includes('row')
        ? 'name it, or a table and its column'
        : 'name the sequence that the back end takes from',
    )
  else if (settings.sequence === undefined) {
    needs('table', 'name the table of the counter')
    needs('column', 'name the column of the counter')
  }
  return problems
}
