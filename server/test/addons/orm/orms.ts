/**
 * The ORMs' own side, for tests: their statements and their arithmetic, as they are described, and
 * nothing of the server's code. One ORM for each way to take from a counter; what each strategy
 * makes of its values is in vectors.test.ts. A taker is one process with the ORM in it, on a
 * connection of its own.
 */
import type pg from 'pg'
import type { CounterOptions } from '../../../src/addons/bound/orm/counter-options.js'

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

const onSequence = { sequence: 'order_seq', maxId, ids: false } as const

async function nextval(client: pg.Client): Promise<number> {
  const { rows } = await client.query("SELECT nextval('order_seq') AS v")
  return Number(rows[0].v)
}

const lo = (v: number): Block => [v, v + N - 1]
const legacy = (v: number): Block => [
  v * (MAX_LO + 1) + (v === 0 ? 1 : 0),
  v * (MAX_LO + 1) + MAX_LO,
]
/**
 * Hibernate's pooled since 5.6.8: the value is the highest id of its block; what the counter starts
 * with is an id of its own.
 */
const pooled = (v: number): Block => (v === 1 ? [1, 1] : [v - N + 1, v])

/**
 * Pooled as it was: the first use fetches twice, and takes all from the first to the second value.
 */
function pooledTwice(client: pg.Client): Taker {
  let isFirst = true
  return async () => {
    const value = await nextval(client)
    const wasFirst = isFirst
    isFirst = false
    if (wasFirst && value === 1) return [1, await nextval(client)]
    return [value - N + 1, value]
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
  (table: string, column: string, where: string) =>
  (client: pg.Client): Promise<number> =>
    inTransaction(client, async () => {
      const { rows } = await client.query(
        `SELECT ${column} AS v FROM ${table} WHERE ${where} FOR UPDATE`,
      )
      const before = Number(rows[0].v)
      await client.query(`UPDATE ${table} SET ${column} = $1 WHERE ${column} = $2 AND ${where}`, [
        before + 1,
        before,
      ])
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

/** @returns what was stored before; a missing row is inserted with 0 */
const moveSegment = (client: pg.Client) =>
  again(client, () =>
    inTransaction(client, async () => {
      const { rows } = await client.query(
        "SELECT next_val AS v FROM hibernate_sequences WHERE sequence_name = 'Order' FOR UPDATE",
      )
      const before = rows.length > 0 ? Number(rows[0].v) : 0
      if (rows.length === 0)
        await client.query("INSERT INTO hibernate_sequences VALUES ('Order', 0)")
      await client.query(
        'UPDATE hibernate_sequences SET next_val = $1 WHERE next_val = $2 AND ' +
          `sequence_name = 'Order'`,
        [before + N, before],
      )
      return before
    }),
  )

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
    title: 'a plain sequence',
    settings: { strategy: 'sequence', ...onSequence },
    schema: 'CREATE SEQUENCE order_seq',
    newTaker: (client) => async () => {
      const value = await nextval(client)
      return [value, value]
    },
  },
  {
    title: 'efcore',
    settings: {
      strategy: 'efcore',
      sequence: 'EntityFrameworkHiLoSequence',
      blockSize: N,
      maxId,
      ids: false,
    },
    schema: `CREATE SEQUENCE "EntityFrameworkHiLoSequence" START 1 INCREMENT ${N}`,
    newTaker: (client) => async () => {
      const { rows } = await client.query(`SELECT nextval('"EntityFrameworkHiLoSequence"') AS v`)
      return lo(Number(rows[0].v))
    },
  },
  {
    title: 'hibernate-pooled-before-5.6.8',
    settings: { strategy: 'hibernate-pooled-before-5.6.8', ...onSequence, blockSize: N },
    schema: `CREATE SEQUENCE order_seq START 1 INCREMENT ${N}`,
    newTaker: pooledTwice,
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
      ids: false,
    },
    schema:
      'CREATE TABLE hilo (entity text, version integer, next_hi integer); INSERT INTO hilo ' +
      `VALUES ('Order', 1, 7), ('Line', 2, 3), ('Order', 2, 1)`,
    newTaker: overRow(moveRow('hilo', 'next_hi', "entity = 'Order' AND version = 2"), legacy),
  },
  {
    title: 'hibernate-table, pooled',
    settings: { strategy: 'hibernate-table', segment: 'Order', blockSize: N, maxId, ids: false },
    schema:
      'CREATE TABLE hibernate_sequences (sequence_name varchar(255) NOT NULL PRIMARY KEY, ' +
      'next_val bigint)',
    newTaker: overRow(moveSegment, (stored) => pooled(stored + 1)),
  },
  {
    title: 'marten',
    settings: { strategy: 'marten', entity: 'Order', maxLo: N, maxId, ids: false },
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
    title: 'textbook',
    settings: { strategy: 'textbook', segment: 'orders', blockSize: N, maxId, ids: false },
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
