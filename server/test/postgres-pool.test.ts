/**
 * Transactions whose statements are sent ahead: what fails undoes all of it, and nothing is taken
 * for done that is not.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LedgerUnavailable } from '../src/ledger/errors.js'
import { openPool, type PostgresPool } from '../src/postgres/pool.js'
import { newDatabase } from './postgres.js'

let pool: PostgresPool

beforeAll(async () => {
  pool = openPool(await newDatabase())
  await pool.query('CREATE TABLE notes (id INT PRIMARY KEY)')
}, 60_000)

afterAll(() => pool.close())

const notes = async () =>
  (await pool.query<{ id: number }>('SELECT id FROM notes ORDER BY id')).map(({ id }) => id)

describe('a transaction', () => {
  test('keeps its writes, in the order they were sent', async () => {
    const result = await pool.transaction(async (query, write) => {
      const [row] = await query<{ one: number }>('SELECT 1 AS one')
      write('INSERT INTO notes VALUES ($1)', [1])
      write('UPDATE notes SET id = 2 WHERE id = 1')
      return row!.one
    })
    expect(result).toBe(1)
    expect(await notes()).toEqual([2])
  })

  test('of which a write fails that nobody waited for is undone, and says why', async () => {
    const failing = pool.transaction(async (_, write) => {
      write('INSERT INTO notes VALUES (3)')
      write('INSERT INTO notes VALUES (3)')
      write('INSERT INTO notes VALUES (4)')
    })
    await expect(failing).rejects.toMatchObject({ code: '23505' })
    expect(await notes()).toEqual([2])
  })

  test('is not taken for done when the step overlooks that a statement of it failed', async () => {
    const careless = pool.transaction(async (query, write) => {
      write('INSERT INTO notes VALUES (5)')
      await query('SELECT 1 / 0').catch(() => {})
      return 'done'
    })
    await expect(careless).rejects.toMatchObject({ code: '22012' })
    expect(await notes()).toEqual([2])
  })

  test('fails for the reason of its first failing statement', async () => {
    const failing = pool.transaction((query) =>
      Promise.all([query('SELECT 1 / 0').then(() => {}), query('SELECT 1')]),
    )
    await expect(failing).rejects.toMatchObject({ code: '22012' })
  })

  test('whose connection breaks is unavailable: EPIPE is no SQLSTATE', async () => {
    const broken = pool.transaction(async () => {
      throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
    })
    await expect(broken).rejects.toThrow(LedgerUnavailable)
  })

  test('whose database is at none of its addresses says what each attempt did', async () => {
    const broken = pool.transaction(async () => {
      throw new AggregateError([
        new Error('connect ECONNREFUSED ::1:5432'),
        new Error('connect ECONNREFUSED 127.0.0.1:5432'),
      ])
    })
    await expect(broken).rejects.toThrow(
      'PostgreSQL did not do it: connect ECONNREFUSED ::1:5432; connect ECONNREFUSED ' +
        '127.0.0.1:5432.',
    )
  })

  test('whose step throws is undone, and the next one on the connection sees nothing', async () => {
    const failing = pool.transaction(async (query, write) => {
      write('INSERT INTO notes VALUES (6)')
      void query('SELECT pg_sleep(0.05)').catch(() => {})
      throw new Error('the step gives up')
    })
    await expect(failing).rejects.toThrow('the step gives up')
    expect(await pool.transaction((query) => query('SELECT id FROM notes'))).toEqual([{ id: 2 }])
  })
})
