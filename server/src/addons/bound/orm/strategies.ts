/**
 * The strategies by which ORMs count blocks of ids, as one table: where the counter may be, which
 * setting tells a block's size, and which ids a value stands for. All users of a counter have to
 * use the same one.
 */
import { additive, type Blocks, multiplicative } from './blocks.js'

/**
 * Where a counter may be: in a sequence; in the only row of a table, or the one that a `where`
 * finds; or in the row of a key (a segment), which is added when it is missing.
 */
type CounterKind = 'sequence' | 'row' | 'segment'

/** A table with one row per key. */
export interface SegmentTable {
  /** The setting that holds the key. */
  setting: 'segment' | 'entity'
  /** The ORM's name for the keys of its rows. */
  keyIs: string
  table: string
  keyColumn: string
  column: string
  /** The next value is the stored one, plus this. */
  ahead: bigint
  /** The stored value before the first one is taken. */
  start(first: bigint): bigint
  /** Other columns that must have this value, or the strategy would count otherwise. */
  fixed?: Readonly<Record<string, bigint>>
}

export interface Optimizer {
  /** The setting that tells a block's size. Undefined: one id. */
  size?: 'blockSize' | 'maxLo'
  /**
   * @param size that setting
   * @param first the first value of the counter
   */
  blocks(size: bigint, first: bigint): Blocks
  /** Ids depend on the first value of the counter: `initialValue` is a setting. */
  hasFirst?: true
  /**
   * When the ORM takes from a new counter for the first time, it fetches two values and uses all
   * ids between them. So nobody else may take before that.
   */
  fetchesTwice?: true
}

export interface Strategy extends Optimizer {
  /** How messages name the ORM. */
  system: string
  kinds: readonly CounterKind[]
  segments?: SegmentTable
  /** The setting `optimizer` says which ids a value stands for. */
  hasOptimizer?: true
  /** The ORM gives up when it loses too many races, so takes have to be few and large. */
  yields?: true
}

const pooledLo: Optimizer = { size: 'blockSize', blocks: (size) => additive(size, 0n) }
const pooled: Optimizer = {
  size: 'blockSize',
  hasFirst: true,
  blocks: (size, first) => additive(size, 1n - size, first),
}
const oldPooled: Optimizer = {
  ...pooled,
  fetchesTwice: true,
  blocks: (size, first) => additive(size, -size, first),
}
const hilo: Optimizer = { size: 'blockSize', blocks: (size) => multiplicative(size, 1n - size, 1n) }
const legacyHilo: Optimizer = {
  size: 'maxLo',
  blocks: (maxLo) => multiplicative(maxLo + 1n, 0n, 1n),
}

/** The optimizers of Hibernate's enhanced generators, wherever the counter is. */
export const OPTIMIZERS: Readonly<Record<string, Optimizer>> = {
  pooled,
  'pooled-lo': pooledLo,
  hilo,
  'pooled-before-5.6.8': { ...pooled, fetchesTwice: true },
  'pooled-before-4.3.11': oldPooled,
}

const onSequence = { kinds: ['sequence'] } as const
const onRow = { kinds: ['row'] } as const
const onBoth = { kinds: ['sequence', 'row'] } as const
const onSegment = (segments: SegmentTable) => ({ kinds: ['segment'], segments }) as const

const hibernateTable = {
  setting: 'segment',
  keyIs:
    "the pkColumnValue of the @TableGenerator, else the entity's table; 'default' where there is " +
    'no @TableGenerator',
  table: 'hibernate_sequences',
  keyColumn: 'sequence_name',
  column: 'next_val',
  ahead: 1n,
  start: (first) => first - 1n,
} as const satisfies SegmentTable

/** The values of the setting `strategy`. */
export type StrategyName =
  | 'sequence'
  | 'efcore'
  | 'doctrine'
  | 'hibernate-pooled'
  | 'hibernate-pooled-before-5.6.8'
  | 'hibernate-pooled-before-4.3.11'
  | 'hibernate-pooled-lo'
  | 'hibernate-hilo'
  | 'hibernate-seqhilo'
  | 'hibernate-hilo-table'
  | 'hibernate-multi-hilo-table'
  | 'hibernate-table'
  | 'hibernate-table-before-5.3'
  | 'nhibernate-pooled'
  | 'nhibernate-pooled-lo'
  | 'nhibernate-seqhilo'
  | 'nhibernate-hilo-table'
  | 'marten'
  | 'doctrine-table'
  | 'textbook'

export const STRATEGIES: Readonly<Record<StrategyName, Strategy>> = {
  sequence: { system: 'the back end', ...onSequence, blocks: () => additive(1n, 0n) },
  efcore: { system: 'EF Core', ...onSequence, ...pooledLo },
  doctrine: { system: 'Doctrine', ...onSequence, ...pooledLo },
  'hibernate-pooled': { system: 'Hibernate 5.6.8 and later', ...onBoth, ...pooled },
  'hibernate-pooled-before-5.6.8': {
    system: 'Hibernate 4.3.11 to 5.6.7',
    ...onBoth,
    ...pooled,
    fetchesTwice: true,
  },
  'hibernate-pooled-before-4.3.11': { system: 'Hibernate before 4.3.11', ...onBoth, ...oldPooled },
  'hibernate-pooled-lo': { system: 'Hibernate', ...onBoth, ...pooledLo },
  'hibernate-hilo': { system: 'Hibernate 5.2.10 and later', ...onBoth, ...hilo },
  'hibernate-seqhilo': { system: 'Hibernate', ...onSequence, ...legacyHilo },
  'hibernate-hilo-table': { system: 'Hibernate', ...onRow, ...legacyHilo },
  'hibernate-multi-hilo-table': {
    system: 'Hibernate',
    ...onSegment({
      ...hibernateTable,
      keyIs: "its parameter primary_key_value, else the entity's table",
      column: 'sequence_next_hi_value',
      ahead: 0n,
      start: () => 0n,
    }),
    ...legacyHilo,
  },
  'hibernate-table': {
    system: 'Hibernate 5.3 and later',
    ...onSegment(hibernateTable),
    ...pooled,
    hasOptimizer: true,
  },
  'hibernate-table-before-5.3': {
    system: 'Hibernate before 5.3',
    ...onSegment({ ...hibernateTable, ahead: 0n, start: (first) => first }),
    ...pooled,
    hasOptimizer: true,
  },
  'nhibernate-pooled': { system: 'NHibernate', ...onBoth, ...oldPooled },
  'nhibernate-pooled-lo': { system: 'NHibernate', ...onBoth, ...pooledLo },
  'nhibernate-seqhilo': { system: 'NHibernate', ...onSequence, ...legacyHilo },
  'nhibernate-hilo-table': { system: 'NHibernate', ...onRow, ...legacyHilo },
  marten: {
    system: 'Marten',
    size: 'maxLo',
    blocks: (maxLo) => multiplicative(maxLo, 1n),
    yields: true,
    ...onSegment({
      setting: 'entity',
      keyIs: "the document's .NET type, as in Order",
      table: 'mt_hilo',
      keyColumn: 'entity_name',
      column: 'hi_value',
      ahead: 1n,
      start: () => -1n,
    }),
  },
  'doctrine-table': {
    system: "Doctrine DBAL's TableGenerator",
    blocks: () => additive(1n, 0n),
    ...onSegment({
      setting: 'segment',
      keyIs: 'the name that the back end gives nextValue',
      table: 'sequences',
      keyColumn: 'sequence_name',
      column: 'sequence_value',
      ahead: 1n,
      start: () => 0n,
      fixed: { sequence_increment_by: 1n },
    }),
  },
  textbook: {
    system: 'the textbook',
    size: 'blockSize',
    blocks: (size) => multiplicative(size, 0n),
    ...onSegment({
      setting: 'segment',
      keyIs: "the back end's own name for it",
      table: 'hilo_next_hi',
      keyColumn: 'name',
      column: 'next_hi',
      ahead: 1n,
      start: () => -1n,
    }),
  },
}

/** Strategies that duplicate as soon as anybody else takes from the counter. Why, as messages. */
export const REFUSED_STRATEGIES: Readonly<Record<string, string>> = {
  'nhibernate-hilo':
    "NHibernate's enhanced hilo takes every number between two values for its own, so it " +
    'duplicates as soon as anybody else takes one. ' +
    'Switch NHibernate to pooled-lo. (Its older generators are fine: nhibernate-hilo-table, ' +
    'nhibernate-seqhilo.)',
  'hibernate-hilo-before-5.2.10':
    'before 5.2.10, hilo takes every number between two values for its own, so it duplicates as ' +
    'soon as anybody else takes one. ' +
    'Upgrade Hibernate, or switch it to pooled-lo.',
}
