/**
 * The options of a collection whose numbers come from the counter of a back end's ORM, and the
 * check of each by itself. What they mean together is in `counter-binding.ts`.
 */
import { z } from 'zod'
import { MAX_NUMBER } from '../../../ledger/number-line.js'
import type { Checks } from '../../../ledger/option-checks.js'
import { OPTIMIZERS, REFUSED_STRATEGIES, STRATEGIES, type StrategyName } from './strategies.js'

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
   * `npx offline-hilo-server check --prove` has seen the back end make ids as configured.
   */
  proved?: false | undefined
}

export const MAX_IDS = { int2: 32_767, int4: 2_147_483_647, int8: MAX_NUMBER } as const

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
    .literal(
      false,
      'can only be false: a proof is what npx offline-hilo-server check --prove has seen',
    )
    .optional(),
} satisfies Checks<CounterOptions>)

export type CounterSettings = z.output<typeof counterSettings>
