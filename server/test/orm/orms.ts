/**
 * The ORMs' own side of each strategy, for tests: their statements and their arithmetic, as they
 * are described, and nothing of the server's code. A taker is one process with the ORM in it, on a
 * connection of its own.
 */
import type pg from 'pg'
import type { CounterOptions } from '../../src/bound/orm/counter-options.js'

/** First and last id of a block. */
export type Block = [low: number, high: number]
type Taker = () => Promise<Block>

export interface Orm {
  title: string
  settings: CounterOptions
  /** What the ORM's schema tool creates. */
  schema: string
  newTaker(client: pg.Client): Taker
}

const N = 10
const MAX_LO = 9
const maxId = 'int8'

const sequence = (increment: number) => `CREATE SEQUENCE order_seq START 1 INCREMENT ${increment}`
const onSequence = { sequence: 'order_seq', maxId } as const

async function nextval(client: pg.Client): Promise<number> {
  const { rows } = await client.query("SELECT nextval('order_seq') AS v")
  return Number(rows[0].v)
}

const overSequence =
  (toBlock: (value: number) => Block) =>
  (client: pg.Client): Taker =>
  async () =>
    toBlock(await nextval(client))

const lo = (v: number): Block => [v, v + N - 1]
const legacy = (v: number): Block => [
  v * (MAX_LO + 1) + (v === 0 ? 1 : 0),
  v * (MAX_LO + 1) + MAX_LO,
]
const hilo = (v: number): Block => [(v - 1) * N + 1, v * N]

/**
 * Hibernate's pooled since 5.6.8: the value is the highest id of its block; what the counter starts
 * with is an id of its own.
 */
const pooled = (v: number): Block => (v === 1 ? [1, 1] : [v - N + 1, v])

/**
 * Pooled as it was: the first use fetches twice, and takes all from the first to the second value.
 */
const pooledTwice =
  (above: 0 | 1) =>
  (fetch: (client: pg.Client) => Promise<number>) =>
  (client: pg.Client): Taker => {
    let isFirst = true
    return async () => {
      const value = await fetch(client)
      const wasFirst = isFirst
      isFirst = false
      if (wasFirst && value === 1) return [1, (await fetch(client)) - 1 + above]
      return [value - N + above, value - 1 + above]
    }
  }

/** A transaction of its own, as ORMs do it: what is read is locked, what is written is compared. */
async function inTransaction<T>(client: pg.Client, step: () => Promise<T>): Promise<T> {
  await client.query('BEGIN')
  const result = await step()
  await client.query('COMMIT')
  return result
}

/** @returns what was stored before */
const moveRow =
  (table: string, column: string, by: number, where = '') =>
  (client: pg.Client): Promise<number> =>
    inTransaction(client, async () => {
      const { rows } = await client.query(
        `SELECT ${column} AS v FROM ${table} ${where ? `WHERE ${where}` : ''} FOR UPDATE`,
      )
      const before = Number(rows[0].v)
      await client.query(
        `UPDATE ${table} SET ${column} = $1 WHERE ${column} = $2 ${where ? `AND ${where}` : ''}`,
        [before + by, before],
      )
      return before
    })

const overRow =
  (fetch: (client: pg.Client) => Promise<number>, toBlock: (value: number) => Block) =>
  (client: pg.Client): Taker =>
  async () =>
    toBlock(await fetch(client))

/** Two takers that find no row both insert it: one of them is told, and begins again. */
async function again<T>(client: pg.Client, step: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await step()
    } catch (error) {
      await client.query('ROLLBACK')
      if ((error as { code?: string }).code !== '23505') throw error
    }
  }
}

/** @returns what was stored before; a missing row is inserted with `start` */
const moveSegment = (column: string, start: number, by: number) => (client: pg.Client) =>
  again(client, () =>
    inTransaction(client, async () => {
      const { rows } = await client.query(
        `SELECT ${column} AS v FROM hibernate_sequences WHERE sequence_name = 'Order' FOR UPDATE`,
      )
      const before = rows.length > 0 ? Number(rows[0].v) : start
      if (rows.length === 0)
        await client.query(
          `INSERT INTO hibernate_sequences (sequence_name, ${column}) VALUES ('Order', $1)`,
          [start],
        )
      await client.query(
        `UPDATE hibernate_sequences SET ${column} = $1 WHERE ${column} = $2 AND ` +
          `sequence_name = 'Order'`,
        [before + by, before],
      )
      return before
    }),
  )

const segmentTable = (column: string) =>
  'CREATE TABLE hibernate_sequences (sequence_name varchar(255) NOT NULL PRIMARY KEY, ' +
  `${column} bigint)`
const hibernateTable = {
  strategy: 'hibernate-table',
  segment: 'Order',
  blockSize: N,
  maxId,
} as const
const nextHi = (seed: number) =>
  'CREATE TABLE hibernate_unique_key (next_hi integer); INSERT INTO hibernate_unique_key ' +
  `VALUES (${seed})`
const nextVal =
  'CREATE TABLE hibernate_sequence (next_val bigint); INSERT INTO hibernate_sequence VALUES (1)'
const onRow = { table: 'hibernate_sequence', column: 'next_val', maxId } as const

async function martenNextHi(client: pg.Client): Promise<number> {
  for (;;) {
    try {
      const { rows } = await client.query("SELECT mt_get_next_hi('Order') AS v")
      if (rows[0].v >= 0) return Number(rows[0].v)
    } catch (error) {
      if ((error as { code?: string }).code !== '23505') throw error
    }
  }
}

export const ORMS: Orm[] = [
  {
    title: 'efcore',
    settings: { strategy: 'efcore', sequence: 'EntityFrameworkHiLoSequence', blockSize: N, maxId },
    schema: `CREATE SEQUENCE "EntityFrameworkHiLoSequence" START 1 INCREMENT ${N}`,
    newTaker: (client) => async () => {
      const { rows } = await client.query(`SELECT nextval('"EntityFrameworkHiLoSequence"') AS v`)
      return lo(Number(rows[0].v))
    },
  },
  ...(['doctrine', 'hibernate-pooled-lo', 'nhibernate-pooled-lo'] as const).map((strategy) => ({
    title: strategy,
    settings: { strategy, ...onSequence, blockSize: N },
    schema: sequence(N),
    newTaker: overSequence(lo),
  })),
  {
    title: 'hibernate-pooled',
    settings: { strategy: 'hibernate-pooled', ...onSequence, blockSize: N },
    schema: sequence(N),
    newTaker: overSequence(pooled),
  },
  {
    title: 'hibernate-pooled-before-5.6.8',
    settings: { strategy: 'hibernate-pooled-before-5.6.8', ...onSequence, blockSize: N },
    schema: sequence(N),
    newTaker: pooledTwice(1)(nextval),
  },
  ...(['hibernate-pooled-before-4.3.11', 'nhibernate-pooled'] as const).map((strategy) => ({
    title: strategy,
    settings: { strategy, ...onSequence, blockSize: N },
    schema: sequence(N),
    newTaker: pooledTwice(0)(nextval),
  })),
  {
    title: 'nhibernate-pooled in a table',
    settings: { strategy: 'nhibernate-pooled', ...onRow, blockSize: N },
    schema: nextVal,
    newTaker: pooledTwice(0)(moveRow('hibernate_sequence', 'next_val', N)),
  },
  {
    title: 'hibernate-hilo',
    settings: { strategy: 'hibernate-hilo', ...onSequence, blockSize: N },
    schema: sequence(1),
    newTaker: overSequence(hilo),
  },
  ...(['hibernate-seqhilo', 'nhibernate-seqhilo'] as const).map((strategy) => ({
    title: strategy,
    settings: { strategy, ...onSequence, maxLo: MAX_LO },
    schema: sequence(1),
    newTaker: overSequence(legacy),
  })),
  {
    title: 'hibernate-pooled-lo in a table',
    settings: { strategy: 'hibernate-pooled-lo', ...onRow, blockSize: N },
    schema: nextVal,
    newTaker: overRow(moveRow('hibernate_sequence', 'next_val', N), lo),
  },
  {
    title: 'hibernate-hilo-table',
    settings: {
      strategy: 'hibernate-hilo-table',
      table: 'hibernate_unique_key',
      column: 'next_hi',
      maxLo: MAX_LO,
      maxId: 'int4',
    },
    schema: nextHi(0),
    newTaker: overRow(moveRow('hibernate_unique_key', 'next_hi', 1), legacy),
  },
  {
    title: 'nhibernate-hilo-table, one row per entity',
    settings: {
      strategy: 'nhibernate-hilo-table',
      table: 'hilo',
      column: 'next_hi',
      where: { entity: 'Order', version: 2 },
      maxLo: MAX_LO,
      maxId: 'int4',
    },
    schema:
      'CREATE TABLE hilo (entity text, version integer, next_hi integer); INSERT INTO hilo ' +
      `VALUES ('Order', 1, 7), ('Line', 2, 3), ('Order', 2, 1)`,
    newTaker: overRow(moveRow('hilo', 'next_hi', 1, "entity = 'Order' AND version = 2"), legacy),
  },
  {
    title: 'hibernate-multi-hilo-table',
    settings: { strategy: 'hibernate-multi-hilo-table', segment: 'Order', maxLo: MAX_LO, maxId },
    schema: segmentTable('sequence_next_hi_value'),
    newTaker: overRow(moveSegment('sequence_next_hi_value', 0, 1), legacy),
  },
  {
    title: 'hibernate-table, pooled',
    settings: hibernateTable,
    schema: segmentTable('next_val'),
    newTaker: overRow(moveSegment('next_val', 0, N), (stored) => pooled(stored + 1)),
  },
  {
    title: 'hibernate-table, pooled-lo',
    settings: { ...hibernateTable, optimizer: 'pooled-lo' },
    schema: segmentTable('next_val'),
    newTaker: overRow(moveSegment('next_val', 0, N), (stored) => lo(stored + 1)),
  },
  {
    title: 'hibernate-table, hilo',
    settings: { ...hibernateTable, optimizer: 'hilo' },
    schema: segmentTable('next_val'),
    newTaker: overRow(moveSegment('next_val', 0, 1), (stored) => hilo(stored + 1)),
  },
  {
    title: 'hibernate-table-before-5.3, pooled-lo',
    settings: { ...hibernateTable, strategy: 'hibernate-table-before-5.3', optimizer: 'pooled-lo' },
    schema: segmentTable('next_val'),
    newTaker: overRow(moveSegment('next_val', 1, N), lo),
  },
  {
    title: 'marten',
    settings: { strategy: 'marten', entity: 'Order', maxLo: N, maxId },
    schema: `CREATE TABLE mt_hilo
        (entity_name varchar CONSTRAINT pk_mt_hilo PRIMARY KEY, hi_value bigint DEFAULT 0);
      CREATE FUNCTION mt_get_next_hi(entity varchar) RETURNS integer LANGUAGE plpgsql AS $$
      DECLARE
        before bigint;
      BEGIN
        SELECT hi_value INTO before FROM mt_hilo WHERE entity_name = entity;
        IF before IS NULL THEN
          INSERT INTO mt_hilo VALUES (entity, 0);
          RETURN 0;
        END IF;
        UPDATE mt_hilo SET hi_value = before + 1 WHERE entity_name = entity AND hi_value = before;
        RETURN CASE WHEN FOUND THEN before + 1 ELSE -1 END;
      END $$`,
    newTaker: overRow(martenNextHi, (v) => [v * N + 1, v * N + N]),
  },
  {
    title: 'doctrine-table',
    settings: { strategy: 'doctrine-table', segment: 'orders', maxId: 'int4' },
    schema:
      'CREATE TABLE sequences (sequence_name varchar(255) PRIMARY KEY, sequence_value ' +
      'integer DEFAULT 1, sequence_increment_by integer DEFAULT 1)',
    newTaker: (client) => () =>
      again(client, () =>
        inTransaction(client, async (): Promise<Block> => {
          const { rows } = await client.query(
            `SELECT sequence_value AS v, sequence_increment_by AS d FROM sequences
             WHERE sequence_name = 'orders' FOR UPDATE`,
          )
          if (rows.length === 0) {
            await client.query("INSERT INTO sequences VALUES ('orders', 1, 1)")
            return [1, 1]
          }
          const [{ v, d }] = rows
          await client.query(
            `UPDATE sequences SET sequence_value = sequence_value + sequence_increment_by
             WHERE sequence_name = 'orders' AND sequence_value = $1`,
            [v],
          )
          return [v + 1, v + d]
        }),
      ),
  },
  {
    title: 'textbook',
    settings: { strategy: 'textbook', segment: 'orders', blockSize: N, maxId },
    schema: 'CREATE TABLE hilo_next_hi (name text PRIMARY KEY, next_hi bigint NOT NULL)',
    newTaker: (client) => async () => {
      const { rows } = await client.query(
        `INSERT INTO hilo_next_hi AS t VALUES ('orders', 0)
           ON CONFLICT (name) DO UPDATE SET next_hi = t.next_hi + 1 RETURNING next_hi AS v`,
      )
      const v = Number(rows[0].v)
      return [v * N, v * N + N - 1]
    },
  },
]
