/**
 * The ledger's rows in the SQLite of a Durable Object. There is one object per database, and one
 * thread in it. Guarantees that a commit is on disk before its promise resolves.
 */
import { LedgerUnavailable, reasonOf } from '../../ledger/ledger-errors.js'
import type { RowStore } from '../../ledger/row-store.js'
import { type Opening, upgradeSqlite, writeHealth } from '../../sql/schema.js'
import { refuseLacking } from '../../sql/shape.js'
import { sqlStore } from '../../sql/sql-store.js'
import {
  type Run,
  runWork,
  SQLITE,
  type SqlConnection,
  type Statement,
} from '../../sql/statements.js'
import type { ObjectStorage } from './cloudflare.js'
import type { StoredBudgets } from './kept-budgets.js'

export const runnerIn =
  ({ sql }: ObjectStorage): Run =>
  <Row>({ text, parameters }: Statement) =>
    [...sql.exec(text, ...parameters)] as Row[]

/** @param budgets are written with each commit */
export function openDurableStore(
  storage: ObjectStorage,
  opening: Opening,
  budgets?: StoredBudgets,
): RowStore {
  const run = runnerIn(storage)

  /** The platform keeps answers back until the commit is on disk; this also says so to us. */
  async function commit<T>(step: () => T): Promise<T> {
    const answer = guard(() =>
      storage.transactionSync(() => {
        const done = step()
        budgets?.write()
        return done
      }),
    )
    budgets?.written()
    await storage.sync().catch(unavailable)
    return answer
  }

  const identity = guard(() =>
    storage.transactionSync(() => upgradeSqlite(run, 'this Durable Object', opening)),
  )
  const connection: SqlConnection = {
    dialect: SQLITE,
    transaction: (work) => commit(() => runWork(run, work)),
    read: async (statement) => guard(() => run(statement)),
    ping: (work) =>
      commit(() => {
        runWork(run, work)
        writeHealth(run)
      }),
    close: async () => {},
  }
  return sqlStore(connection, identity)
}

/** SQLite's codes for a disk that fails or is full. A mistake in this program is none of them. */
const DISK = /SQLITE_(IOERR|FULL|READONLY|CANTOPEN|BUSY|NOMEM)|disk is full|disk I\/O/

/** @throws LedgerUnavailable when the storage is in the way */
function guard<T>(step: () => T): T {
  try {
    return step()
  } catch (error) {
    if (DISK.test(reasonOf(error))) unavailable(error)
    refuseLacking(error)
    throw error
  }
}

function unavailable(cause: unknown): never {
  throw new LedgerUnavailable(`The object's storage cannot be used: ${reasonOf(cause)}.`, { cause })
}
