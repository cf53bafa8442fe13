/**
 * The options of a collection whose numbers come from the counter of a back end's ORM: where the
 * counter is, and the meaning of its values. Guarantees that options which pass are complete and
 * fit their strategy. Whether the database agrees is found out by `checks.ts`.
 */
import { z } from 'zod'
import type { CollectionKey } from '../../../ledger/ledger.js'
import { MAX_NUMBER } from '../../../ledger/number-line.js'
import type { Checks } from '../../../ledger/option-checks.js'
import type { Blocks } from './blocks.js'
import {
  OPTIMIZERS,
  REFUSED_STRATEGIES,
  type SegmentTable,
  STRATEGIES,
  type Strategy,
  type StrategyName,
} from './strategies.js'

/** The counter that a collection's numbers come from, and how the ORM that shares it counts. */
export interface CounterOptions {
  /** How the ORM counts. */
  strategy: StrategyName
  /** A sequence, as PostgreSQL spells it: `EntityFrameworkHiLoSequence`, `sales.order_seq`. */
  sequence?: string | undefined
  /** The table of a table counter. Default: the ORM's, where it has one. */
  table?: string | undefined
  /** Its column with the counter. Default: the ORM's, where it has one. */
  column?: string | undefined
  /**
   * Which row counts, in a table with several: column and value. Column names stand in the SQL as
   * they are, so the configuration has to be trusted; values are parameters.
   */
  where?: Readonly<Record<string, string | number>> | undefined
  /** The row's key in a table with one row per key. */
  segment?: string | undefined
  /** Marten's name of the document type, as in `mt_hilo.entity_name`. */
  entity?: string | undefined
  /** The column with those keys. Default: the ORM's. */
  keyColumn?: string | undefined
  /** Ids per block: `incrementBy`, `allocationSize`, `increment_size`. */
  blockSize?: number | undefined
  /** The ORM's `max_lo`, or Marten's `MaxLo`. */
  maxLo?: number | undefined
  /** The first value of the counter. Default 1. */
  initialValue?: number | undefined
  /** Of `hibernate-table`. Default `pooled`. */
  optimizer?:
    | 'pooled'
    | 'pooled-lo'
    | 'hilo'
    | 'pooled-before-5.6.8'
    | 'pooled-before-4.3.11'
    | undefined
  /**
   * The highest id that the id column can store: its type, or a number up to 2^53−1. A claim that
   * would pass it is refused.
   */
  maxId: 'int2' | 'int4' | 'int8' | number
  /**
   * The columns of the back end's tables that have the ids, like `orders.id`: whole numbers, each
   * with an index. A sequence may serve several tables: then name the column of each. An id that is
   * there is granted to nobody, and a strategy that contradicts the ids is refused. `false` says
   * that nobody can look: then nobody notices a wrong strategy either.
   */
  ids: string | readonly string[] | false
  /**
   * Ids in these columns that no counter made, such as 9223372036854775807 as "the last one". They
   * do not count as the highest id. As text, where JavaScript has no such number.
   */
  sentinels?: readonly (number | string)[] | undefined
  /**
   * `false` says in writing that nobody has proved this binding, and that the server shall use it
   * all the same. Without it, the server refuses an unproved binding whose tables have rows, until
   * `offline-hilo-server check --prove` has seen the back end make ids as configured.
   */
  proved?: false | undefined
}

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
  /** As configured, for messages: `blockSize 10`. */
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

const MAX_IDS = { int2: 32_767, int4: 2_147_483_647, int8: MAX_NUMBER } as const

const NAME = '[^\\p{Cc}."]{1,63}'
const identifier = z
  .string()
  .regex(
    new RegExp(`^${NAME}$`, 'u'),
    'has to be one name, spelled as PostgreSQL has it, without quotes',
  )
const sqlName = z
  .string()
  .regex(
    new RegExp(`^${NAME}(\\.${NAME})?$`, 'u'),
    'has to be a name like order_seq or sales.order_seq, spelled as PostgreSQL has it, without ' +
      'quotes',
  )
const COLUMN = new RegExp(`^${NAME}(\\.${NAME}){1,2}$`, 'u')
const isIds = (value: unknown): boolean =>
  value === false ||
  ([value].flat().length > 0 &&
    [value].flat().every((each) => typeof each === 'string' && COLUMN.test(each)))
const key = z.string().min(1, 'is empty')
const number = z
  .int('has to be a whole number')
  .min(1, 'has to be at least 1')
  .max(MAX_NUMBER, 'has to be at most 2^53-1')

export const counterSettings = z.strictObject({
  strategy: z.string().refine((name) => Object.hasOwn(STRATEGIES, name), {
    error: ({ input }) =>
      REFUSED_STRATEGIES[String(input)] ?? `has to be one of ${Object.keys(STRATEGIES).join(', ')}`,
  }),
  sequence: sqlName.optional(),
  table: sqlName.optional(),
  column: identifier.optional(),
  where: z
    .record(
      identifier,
      z.union([z.string(), z.int()]),
      'has to be an object of columns and values, like {"tablename": "orders"}; SQL is not taken',
    )
    .optional(),
  segment: key.optional(),
  entity: key.optional(),
  keyColumn: identifier.optional(),
  blockSize: number.optional(),
  maxLo: number.optional(),
  initialValue: number.optional(),
  optimizer: z
    .enum(Object.keys(OPTIMIZERS), `has to be one of ${Object.keys(OPTIMIZERS).join(', ')}`)
    .optional(),
  maxId: z.custom<CounterOptions['maxId']>(
    (value) =>
      Object.hasOwn(MAX_IDS, value as string) ||
      (Number.isSafeInteger(value) && (value as number) >= 1),
    'has to be the highest id that the id column takes: "int2", "int4", "int8", or a number from ' +
      '1 to 2^53-1',
  ),
  ids: z.custom<CounterOptions['ids']>(
    isIds,
    'has to be the column with the ids, like "orders.id" or "sales.orders.id", or a list of ' +
      'them; or false, if this server cannot look into it. Then nobody notices a wrong strategy',
  ),
  sentinels: z
    .array(
      z.custom<number | string>(
        (value) =>
          typeof value === 'string' ? /^-?\d{1,30}$/.test(value) : Number.isSafeInteger(value),
        'has to be a whole number, as text where it is above 2^53-1',
      ),
    )
    .optional(),
  proved: z
    .literal(false, 'can only be false: a proof is what offline-hilo-server check --prove has seen')
    .optional(),
} satisfies Checks<CounterOptions>)

type CounterSettings = z.output<typeof counterSettings>
/** A setting, and its fault. */
export type Problem = [setting: string, message: string]

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
    size: size === undefined ? 'one id at a time' : `${strategy.size} ${size}`,
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
    ? { ...strategy, ...OPTIMIZERS[optimizer ?? 'pooled'], hasFirst: true }
    : strategy
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
