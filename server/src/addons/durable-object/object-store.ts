/**
 * The ledger's rows in the SQLite of a Durable Object. There is one object per database, and one
 * thread in it. Guarantees that a commit is on disk before its promise resolves.
 */
import { LedgerReplaced, LedgerUnavailable, reasonOf } from '../../ledger/ledger-errors.js'
import type { RowStore } from '../../ledger/row-store.js'
import { putSetting } from '../../sql/meta.js'
import { type Opening, readSetting, upgradeSqlite, writeHealth } from '../../sql/schema.js'
import { refuseLacking } from '../../sql/shape.js'
import { sqlStore } from '../../sql/sql-store.js'
import {
  type Run,
  runWork,
  SQLITE,
  type SqlConnection,
  type Statement,
  statement,
} from '../../sql/statements.js'
import type { ObjectStorage } from './cloudflare.js'
import type { StoredBudgets } from './kept-budgets.js'

export const runnerIn =
  ({ sql }: ObjectStorage): Run =>
  <Row>({ text, parameters }: Statement) =>
    [...sql.exec(text, ...parameters)] as Row[]

export interface Owned {
  /** Are written with each commit. */
  budgets?: StoredBudgets
  /** Whose object it is. An older runtime does not tell it. */
  database?: string | undefined
  /** Has it been given a new secret, with which it is to be opened again? */
  isRenewed?: boolean | undefined
}

export function openDurableStore(
  storage: ObjectStorage,
  opening: Opening,
  owned: Owned = {},
): RowStore {
  const { budgets, database } = owned
  const run = runnerIn(storage)

  /** The platform keeps answers back until the commit is on disk; this also says so to us. */
  async function commit<T>(step: () => T): Promise<T> {
    const answer = guard(() =>
      storage.transactionSync(() => {
        const done = ownStep(step)
        budgets?.write()
        return done
      }),
    )
    budgets?.written()
    await storage.sync().catch(unavailable)
    return answer
  }

  /** Whoever is stopped by the new secret of this object is not told of another ledger. */
  function ownStep<T>(step: () => T): T {
    try {
      return step()
    } catch (error) {
      if (owned.isRenewed && error instanceof LedgerReplaced) throw new LedgerUnavailable(RENEWED)
      throw error
    }
  }

  const identity = guard(() =>
    storage.transactionSync(() => {
      const opened = upgradeSqlite(run, 'this Durable Object', opening)
      if (database !== undefined) refuseOther(run, database)
      return opened
    }),
  )
  const connection: SqlConnection = {
    dialect: SQLITE,
    transaction: (work) => commit(() => runWork(run, work)),
    read: async (asked) => guard(() => run(asked)),
    ping: (work) =>
      commit(() => {
        runWork(run, work)
        writeHealth(run)
      }),
    close: async () => {},
  }
  return sqlStore(connection, identity)
}

const RENEWED =
  'The secret of this ledger has just been renewed. Requests that waited meanwhile were asked to ' +
  'come again, and nothing is wrong.'

/** Of `hilo_meta`: the database whose ledger it is. */
const DATABASE = 'database'

/** @throws Error */
function refuseOther(run: Run, own: string): void {
  const stored = readSetting(run, DATABASE)
  if (stored === undefined) run(statement(putSetting(SQLITE.schema), DATABASE, own))
  // guard: H31 an object opens the ledger of its own database
  if (stored === undefined || stored === own) return
  throw new Error(
    `This is the object of '${own}', and it has the ledger of '${stored}', in which numbers of ` +
      `'${own}' begin at 1. Nothing is granted. Put the files of its own ledger back.`,
  )
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
