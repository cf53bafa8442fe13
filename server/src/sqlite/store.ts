/**
 * The ledger's rows in one SQLite file, for a single machine. Each transaction takes the write lock
 * first, so transactions of other processes wait for it.
 */
import type { BoundCollections } from '../ledger/bound-collections.js'
import type { RowStore } from '../ledger/row-store.js'
import type { SqlConnection, Work } from '../sql/connection.js'
import { HEALTH_KEY, type Opening } from '../sql/schema.js'
import type { Dialect, Statement } from '../sql/statements.js'
import { sqlStore } from '../sql/store.js'
import { BUSY_TIMEOUT_MS, openSqliteFile, type SqliteFile } from './file.js'
import { createPatience, isBusy } from './patience.js'
import { rememberBindings } from './remember-bindings.js'
import { guard, type Sqlite } from './transaction.js'

const SQLITE: Dialect = {
  rows: (name, columns) => {
    const values = columns.map(([column]) => `value->>'${column}' AS "${column}"`)
    return `(SELECT ${values} FROM json_each($1)) ${name}`
  },
  given: (rows) => [JSON.stringify(rows)],
  timeline: '0',
  // A transaction has the lock of the whole file.
  lock: () => '',
}

const WRITE_HEALTH = `INSERT INTO hilo_meta (key, value) VALUES ('${HEALTH_KEY}', $1)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`

/** @param bound to upstreams only: the counters of ORMs are in PostgreSQL */
export function openSqliteStore(
  dataDir: string,
  bound: BoundCollections,
  opening: Opening = {},
): RowStore {
  const file = openSqliteFile(dataDir, opening)
  try {
    rememberBindings(file.db, bound)
  } catch (error) {
    file.close()
    throw error
  }
  // From here on, waiting for another program's lock does not stop the process.
  file.db.exec('PRAGMA busy_timeout = 0')
  return sqlStore(connectionTo(file), file.secret)
}

function connectionTo({ db, commit, close }: SqliteFile): SqlConnection {
  const patience = createPatience(BUSY_TIMEOUT_MS)
  const prepared = new Map<string, ReturnType<Sqlite['prepare']>>()

  function prepare(text: string) {
    const known = prepared.get(text) ?? db.prepare(text)
    prepared.set(text, known)
    return known
  }

  // `all` reads to the end, which resets the statement.
  const find = ({ text, parameters }: Statement) => prepare(text).all(named(parameters))
  const write = ({ text, parameters }: Statement) => void prepare(text).run(named(parameters))

  const run = <T>({ begins, reads, step }: Work<T>): T => {
    begins?.()
    const { answer, writes } = step(reads.map(find), new Map())
    for (const each of writes) write(each)
    return answer
  }

  return {
    dialect: SQLITE,
    transaction: (work) => patience.run(() => commit(() => run(work))),
    read: (statement) => patience.run(() => guard(() => find(statement))),
    ping: async (work) => {
      try {
        commit(() => {
          run(work)
          write({ text: WRITE_HEALTH, parameters: [new Date().toISOString()] })
        })
      } catch (error) {
        // Another program is writing just now, so the file can be written.
        if (!isBusy(error)) throw error
      }
    },
    close: async () => {
      await patience.end()
      close()
    },
  }
}

/** To SQLite, `$1` is a name. */
const named = (parameters: readonly unknown[]): Record<string, unknown> =>
  Object.fromEntries(parameters.map((parameter, i) => [`$${i + 1}`, parameter]))
