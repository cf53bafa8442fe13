/**
 * The order desk's tables, in the same SQLite file as the HiLo ledger. The primary key is what refuses a duplicate id:
 * nothing here compares ids. Every commit is on disk before it is answered.
 */
import Database from 'libsql'
import { COLLECTIONS, type Collection, type Counts, type Customer, type Order, type Records, type Result, totalOf } from '../records.js'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS customers (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, key TEXT NOT NULL, created_at TEXT NOT NULL, tab TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS orders (
  id TEXT PRIMARY KEY, customer TEXT NOT NULL REFERENCES customers (id), lines TEXT NOT NULL, total_cents INTEGER NOT NULL,
  key TEXT NOT NULL, created_at TEXT NOT NULL, tab TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS refused (
  key TEXT PRIMARY KEY, collection TEXT NOT NULL, id TEXT NOT NULL, tab TEXT NOT NULL
);`

const BUSY_TIMEOUT_MS = 5_000

export interface Tables {
  /** Stores each record that can be stored, in one transaction, and says of each what became of it. */
  store<C extends Collection>(collection: C, records: readonly Records[C][]): Result[]
  /** The newest records. */
  list<C extends Collection>(collection: C, limit: number): Records[C][]
  counts(): Counts
  close(): void
}

export function openTables(file: string): Tables {
  const db = new Database(file)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA foreign_keys = ON;`)
  db.exec(SCHEMA)
  const tables: { [C in Collection]: Table<Records[C]> } = { customers: customersTable(db), orders: ordersTable(db) }
  const refuse = db.prepare('INSERT INTO refused (key, collection, id, tab) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING')
  const countRefused = db.prepare('SELECT count(*) AS count FROM refused WHERE collection = ?')

  function storeOne<C extends Collection>(collection: C, record: Records[C]): Result {
    const { key, id, tab } = record
    const table: Table<Records[C]> = tables[collection]
    const problem = table.problem(record)
    if (problem) return { key, status: 424, reason: problem }
    if (table.insert(record)) return { key, status: 201 }
    const stored = table.get(id)
    if (JSON.stringify(stored) === JSON.stringify(record)) return { key, status: 200 }
    refuse.run(key, collection, id, tab)
    return { key, status: 409, reason: `The table has another record with the id ${id}, made by tab ${stored?.tab}.` }
  }

  return {
    store: (collection, records) => db.transaction(() => records.map((record) => storeOne(collection, record))).immediate(),
    list: (collection, limit) => tables[collection].list(limit),
    counts: () =>
      Object.fromEntries(
        COLLECTIONS.map((collection) => [
          collection,
          { stored: tables[collection].count(), refused: (countRefused.get(collection) as { count: number }).count },
        ]),
      ) as Counts,
    close: () => db.close(),
  }
}

interface Table<R> {
  /** Why the record cannot be stored yet, if so. */
  problem(record: R): string | undefined
  /** @returns false when the constraint refused the id */
  insert(record: R): boolean
  get(id: string): R | undefined
  list(limit: number): R[]
  count(): number
}

function customersTable(db: Database.Database): Table<Customer> {
  const insert = db.prepare('INSERT INTO customers (id, name, key, created_at, tab) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING')
  return {
    problem: () => undefined,
    insert: ({ id, name, key, createdAt, tab }) => insert.run(id, name, key, createdAt, tab).changes === 1,
    ...reads(db, 'customers', (row) => ({ ...made(row), name: row.name })),
  }
}

function ordersTable(db: Database.Database): Table<Order> {
  const insert = db.prepare(
    'INSERT INTO orders (id, customer, lines, total_cents, key, created_at, tab) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
  )
  const hasCustomer = db.prepare('SELECT 1 FROM customers WHERE id = ?')
  return {
    problem: ({ customer }) => (hasCustomer.get(customer) ? undefined : `There is no customer ${customer} yet.`),
    insert: ({ id, customer, lines, key, createdAt, tab }) =>
      insert.run(id, customer, JSON.stringify(lines), totalOf(lines), key, createdAt, tab).changes === 1,
    ...reads(db, 'orders', (row) => ({ ...made(row), customer: row.customer, lines: JSON.parse(row.lines) })),
  }
}

type Row = Record<'id' | 'key' | 'created_at' | 'tab' | 'name' | 'customer' | 'lines', string>

const made = ({ id, key, created_at: createdAt, tab }: Row) => ({ id, key, createdAt, tab })

function reads<R>(db: Database.Database, name: Collection, read: (row: Row) => R) {
  const one = db.prepare(`SELECT * FROM ${name} WHERE id = ?`)
  const newest = db.prepare(`SELECT * FROM ${name} ORDER BY created_at DESC, rowid DESC LIMIT ?`)
  const count = db.prepare(`SELECT count(*) AS count FROM ${name}`)
  return {
    get(id: string) {
      const row = one.get(id)
      return row === undefined ? undefined : read(row as Row)
    },
    list: (limit: number) => newest.all(limit).map((row) => read(row as Row)),
    count: () => (count.get() as { count: number }).count,
  }
}
