/** Functions that take blocks from counters of other databases, for `counters` of `openLedger`. */
import type { CounterHook } from 'offline-hilo-server'

/**
 * @param redis a client of the package `redis`
 * @param isFree asks the database that has the orders
 */
export const redisCounter = (redis: Redis, isFree: CounterHook['isFree']): CounterHook => ({
  nextHi: () => redis.incrBy('orders', 100),
  isFree,
  blockSize: 100,
  hiIs: 'last',
})

/** Has the table no row from `low` to `high`? One look into the index of its ids. */
const noOrderIn =
  (pool: Pool): CounterHook['isFree'] =>
  async ({ low, high }) => {
    const sql = 'SELECT id FROM orders WHERE id BETWEEN ? AND ? LIMIT 1'
    const [rows] = await pool.query<unknown[]>(sql, [low, high])
    return rows.length === 0
  }

/** @param pool of the package `mysql2/promise` */
export const autoIncrement = (pool: Pool): CounterHook => ({
  blockSize: 100,
  hiIs: 'first',
  isFree: noOrderIn(pool),
  async nextHi() {
    const rows = Array.from({ length: 100 }, () => "('')").join()
    const connection = await pool.getConnection()
    try {
      await connection.query('START TRANSACTION')
      const [{ insertId }] = await connection.query(`INSERT INTO orders (who) VALUES ${rows}`)
      const [{ affectedRows }] = await connection.query(
        'DELETE FROM orders WHERE id BETWEEN ? AND ?',
        [insertId, insertId + 99],
      )
      if (affectedRows !== 100) throw new Error('The ids of these rows do not follow each other.')
      await connection.query('COMMIT')
      return insertId
    } finally {
      // What was not committed is rolled back.
      connection.destroy()
    }
  },
})

/** Hibernate's TableGenerator with `pooled`, since 5.3. @param pool of `mysql2/promise` */
export const hibernateTable = (pool: Pool): CounterHook => ({
  blockSize: 50,
  hiIs: 'last',
  isFree: noOrderIn(pool),
  async nextHi() {
    const connection = await pool.getConnection()
    try {
      await connection.query('START TRANSACTION')
      const [[row]] = await connection.query<[{ next_val: number }]>(
        "SELECT next_val FROM order_ids WHERE sequence_name = 'orders' FOR UPDATE",
      )
      await connection.query(
        "UPDATE order_ids SET next_val = next_val + 50 WHERE sequence_name = 'orders'",
      )
      await connection.query('COMMIT')
      return row.next_val + 1
    } finally {
      connection.destroy()
    }
  },
})

/** A sequence of MariaDB, as Hibernate makes it since 6. @param pool of `mysql2/promise` */
export const mariaSequence = (pool: Pool): CounterHook => ({
  blockSize: 50,
  hiIs: 'last',
  isFree: noOrderIn(pool),
  async nextHi() {
    const [[row]] = await pool.query<[{ hi: number }]>('SELECT NEXT VALUE FOR orders_SEQ AS hi')
    return row.hi
  },
})

/** What these functions use of the clients. */
interface Redis {
  incrBy(key: string, increment: number): Promise<number>
}
interface Answer {
  insertId: number
  affectedRows: number
}
interface Queries {
  query<Rows = Answer>(sql: string, values?: unknown[]): Promise<[Rows, unknown]>
}
interface Pool extends Queries {
  getConnection(): Promise<Queries & { destroy(): void }>
}
