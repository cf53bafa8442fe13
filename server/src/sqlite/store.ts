/**
 * The ledger's rows in one SQLite file, for a single machine. Each transaction takes the write lock
 * first, so transactions of other processes wait for it.
 */
import type { BoundCollections } from '../ledger/bound-collections.js'
import { type StatusRow, type StoredLists, spansOf } from '../ledger/columns.js'
import { SETTINGS_OF_DATABASES, type Setting, toDatabases } from '../ledger/database-rows.js'
import type { CollectionKey, IdentityKey } from '../ledger/ledger.js'
import type { RowStore } from '../ledger/row-store.js'
import type { GrantRow, SeriesRow } from '../ledger/rows.js'
import { HEALTH_KEY, SCHEMA } from '../ledger/schema.js'
import {
  COLLECTION_NAMES,
  DROPPINGS,
  FREE_LISTS,
  IDENTITY_NAMES,
  identitiesOf,
  oldGrants,
  prunings,
  STATUS,
  seriesOf,
} from '../ledger/sql.js'
import { deviceStore } from './devices.js'
import { BUSY_TIMEOUT_MS, guard, openSqliteFile, reader, runner, write } from './file.js'
import { collectionReader, loader } from './load.js'
import { createPatience, isBusy } from './patience.js'
import { rememberBindings } from './remember-bindings.js'
import { saver } from './save.js'

/** @param bound to upstreams only: the counters of ORMs are in PostgreSQL */
export function openSqliteStore(
  dataDir: string,
  bound: BoundCollections,
  schema = SCHEMA,
): RowStore {
  const { db, secret, requireInPlace } = openSqliteFile(dataDir, schema)
  try {
    rememberBindings(db, bound)
  } catch (error) {
    db.close()
    throw error
  }
  const load = loader(db)
  const save = saver(db)
  const readCollection = collectionReader(db)
  const readStatus = reader<StatusRow>(db, STATUS)
  const readSeries = reader<SeriesRow>(db, seriesOf('?'))
  const readFree = reader<StoredLists>(db, FREE_LISTS)
  const readSettings = reader<Setting>(db, SETTINGS_OF_DATABASES)
  const readCollections = reader<CollectionKey>(db, COLLECTION_NAMES)
  const readIdentities = reader<IdentityKey>(db, IDENTITY_NAMES)
  const writeHealth = runner(
    db,
    `INSERT INTO hilo_meta (key, value) VALUES ('${HEALTH_KEY}', ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  )
  // From here on, waiting for another program's lock does not stop the process.
  db.exec('PRAGMA busy_timeout = 0')
  const patience = createPatience(BUSY_TIMEOUT_MS)
  const commit = <T>(step: () => T): T =>
    write(db, () => {
      const result = step()
      requireInPlace()
      return result
    })
  const change = <T>(step: () => T): Promise<T> => patience.run(() => commit(step))
  const read = <T>(step: () => T): Promise<T> => patience.run(() => guard(step))
  const readOld = reader<GrantRow>(db, oldGrants('?', '?'))
  const readIdentitiesOf = reader<IdentityKey>(db, identitiesOf('?'))
  const removeDropped = DROPPINGS.map((sql) => reader(db, sql))
  const pruneAnswers = prunings('?').map((sql) => reader(db, sql))
  /** Repeats until there is no row left. Requests that wait come first. */
  const repeat = async (step: () => unknown[]): Promise<void> => {
    while ((await change(step)).length > 0) await new Promise((resolve) => setImmediate(resolve))
  }

  return {
    secret,
    devices: deviceStore(db, { change, read }),
    change: ({ select, step }) =>
      change(() => {
        let result = step(load(select), new Map())
        for (let wanted = select; 'select' in result; ) {
          wanted = { ...wanted, ...result.select }
          result = step(load(wanted), new Map())
        }
        save(result.changes)
        return result.answer
      }),
    readCollection: (key) => read(() => readCollection(key)),
    readStatus: () => read(() => readStatus()),
    readSeries: (database) => read(() => readSeries(database)),
    readDatabases: () => read(() => toDatabases(readSettings())),
    readNames: () => read(() => ({ collections: readCollections(), identities: readIdentities() })),
    readFree: () => read(() => readFree().map(spansOf)),
    readOld: ({ settledBefore, heardBefore }) => read(() => readOld(settledBefore, heardBefore)),
    readIdentities: (database) => read(() => readIdentitiesOf(database)),
    pruneAnswers: async (before) => {
      for (const step of pruneAnswers) await repeat(() => step(before))
    },
    removeDropped: async () => {
      for (const step of removeDropped) await repeat(() => step())
    },
    ping: async () => {
      try {
        commit(() => writeHealth(new Date().toISOString()))
      } catch (error) {
        // Another program is writing just now, so the file can be written.
        if (!isBusy(error)) throw error
      }
    },
    close: async () => {
      await patience.end()
      db.close()
    },
  }
}
