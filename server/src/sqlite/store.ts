/**
 * The ledger's rows in one SQLite file, for a single machine. Each transaction takes the write lock
 * first, so transactions of other processes wait for it.
 */
import type { BoundCollections } from '../ledger/bound-collections.js'
import type { RowStore } from '../ledger/row-store.js'
import type { SqlConnection } from '../sql/connection.js'
import type { Opening } from '../sql/schema.js'
import { runWork, SQLITE, writeHealth } from '../sql/sqlite.js'
import { sqlStore } from '../sql/store.js'
import { BUSY_TIMEOUT_MS, openSqliteFile, type SqliteFile } from './file.js'
import { createPatience, isBusy } from './patience.js'
import { rememberBindings } from './remember-bindings.js'
import { guard, runIn, type Sqlite } from './transaction.js'

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
  return sqlStore(connectionTo(file), file.secrets)
}

function connectionTo({ db, commit, close }: SqliteFile): SqlConnection {
  const patience = createPatience(BUSY_TIMEOUT_MS)
  const prepared = new Map<string, ReturnType<Sqlite['prepare']>>()

  function prepare(text: string) {
    const known = prepared.get(text) ?? db.prepare(text)
    prepared.set(text, known)
    return known
  }

  const run = runIn(db, prepare)

  return {
    dialect: SQLITE,
    transaction: (work) => patience.run(() => commit(() => runWork(run, work))),
    read: (statement) => patience.run(() => guard(() => run(statement))),
    ping: async (work) => {
      try {
        commit(() => {
          runWork(run, work)
          writeHealth(run)
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
