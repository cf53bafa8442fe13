/** Waits until one connection to a test's database waits for a lock. */
import { expect } from 'vitest'

const WAITING = `SELECT count(*)::int AS waiting FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`

export const oneWaitsForALock = (sql: (text: string) => Promise<unknown>): Promise<void> =>
  expect.poll(() => sql(WAITING)).toEqual([{ waiting: 1 }])
