/**
 * The order desk's tables, beside the HiLo ledger in the same database. The primary key is what
 * refuses a duplicate id: nothing here compares ids. Every commit is on disk before it is answered.
 */
import {
  type Changes,
  COLLECTIONS,
  type Collection,
  type Counts,
  FORGER,
  type Order,
  type Result,
  type Sent,
  totalOf,
} from '../records.js'
import type { Query, Sql } from './sql.js'

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS customers (
    id TEXT PRIMARY KEY, number BIGINT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL,
    created_at TEXT NOT NULL, tab TEXT NOT NULL, change BIGINT NOT NULL UNIQUE
  )`,
  `CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, number BIGINT NOT NULL,
    customer TEXT NOT NULL REFERENCES customers (id), follows TEXT REFERENCES orders (id),
    lines TEXT NOT NULL, total_cents BIGINT NOT NULL, version INTEGER NOT NULL, edit TEXT NOT NULL,
    key TEXT NOT NULL, created_at TEXT NOT NULL, tab TEXT NOT NULL, change BIGINT NOT NULL UNIQUE
  )`,
  'CREATE TABLE IF NOT EXISTS refused (key TEXT PRIMARY KEY, collection TEXT NOT NULL, id ' +
    'TEXT NOT NULL, tab TEXT NOT NULL)',
  // Counts every change. Its row lock orders the changes of several writers.
  'CREATE TABLE IF NOT EXISTS changes (single INTEGER PRIMARY KEY CHECK (single = 1), last ' +
    'BIGINT NOT NULL)',
  'INSERT INTO changes (single, last) VALUES (1, 0) ON CONFLICT (single) DO NOTHING',
]

export interface Tables {
  /**
   * Stores the records that can be stored, in one transaction, and returns a result for each.
   */
  store(collection: Collection, records: readonly StoredRecord[]): Promise<Result[]>
  /** What changed after the change with this number, at most `limit` of each table. */
  changes(since: number, limit: number): Promise<Changes>
  counts(): Promise<Counts>
}

/** Fields of both kinds of records, and fields of one kind. */
export type StoredRecord = Sent<
  Omit<Order, 'customer' | 'lines' | 'version' | 'edit'> & Partial<Order> & { name?: string }
>

export async function openTables(sql: Sql): Promise<Tables> {
  await sql.transaction(async (query) => {
    for (const statement of SCHEMA) await query(statement)
  })
  return {
    store: (collection, records) =>
      sql.transaction(async (query) => {
        const results: Result[] = []
        const nextChange = await changeCounter(query)
        for (const record of records) {
          const result = await (collection === 'orders'
            ? storeOrder(query, record as Sent<Order>, nextChange)
            : storeCustomer(query, record, nextChange))
          if (result.status === 409) await noteRefusal(query, collection, record)
          results.push(result)
        }
        await nextChange.save()
        return results
      }),
    changes: (since, limit) => sql.transaction((query) => readChanges(query, since, limit)),
    counts: () => sql.transaction(readCounts),
  }
}

interface ChangeCounter {
  (): number
  save(): Promise<void>
}

/** Takes the lock that all writers need, before anything else. */
async function changeCounter(query: Query): Promise<ChangeCounter> {
  const [row] = await query<{ last: number | string }>(
    'UPDATE changes SET last = last RETURNING last',
  )
  let last = Number(row!.last)
  const next = () => ++last
  return Object.assign(next, {
    async save() {
      await query('UPDATE changes SET last = ?', last)
    },
  })
}

async function storeCustomer(
  query: Query,
  record: StoredRecord,
  nextChange: ChangeCounter,
): Promise<Result> {
  const { id, name = '', key, createdAt, tab } = record
  const inserted = await query(
    `INSERT INTO customers (id, number, name, key, created_at, tab, change)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id`,
    ...[id, numberOf(id), name, key, createdAt, tab, nextChange()],
  )
  if (inserted.length > 0) return { key, status: 201 }
  const [stored] = await query<Row>('SELECT * FROM customers WHERE id = ?', id)
  return stored!.key === key && stored!.name === name ? { key, status: 200 } : taken(key, stored!)
}

async function storeOrder(
  query: Query,
  order: Sent<Order>,
  nextChange: ChangeCounter,
): Promise<Result> {
  const { id, customer, follows = null, lines, version, edit, key, createdAt, tab, base } = order
  const missing = await missingReference(query, order)
  if (missing) return { key, status: 424, reason: `There is no ${missing} yet.` }
  const content = [customer, follows, JSON.stringify(lines), totalOf(lines), version, edit] as const
  const inserted = await query(
    `INSERT INTO orders (id, number, customer, follows, lines, total_cents, version, edit,
                         key, created_at, tab, change)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id`,
    ...[id, numberOf(id), ...content, key, createdAt, tab, nextChange()],
  )
  if (inserted.length > 0) return { key, status: 201 }
  const [stored] = await query<Row>('SELECT * FROM orders WHERE id = ?', id)
  if (stored!.key !== key) return taken(key, stored!)
  if (stored!.edit === edit) return { key, status: 200 }
  const updated = await query(
    `UPDATE orders SET customer = ?, follows = ?, lines = ?, total_cents = ?, version = ?,
                        edit = ?, change = ?
     WHERE id = ? AND version = ? AND version < ? RETURNING id`,
    ...[...content, nextChange(), id, base, version],
  )
  if (updated.length > 0) return { key, status: 201 }
  return {
    key,
    status: 412,
    reason: `Somebody else edited ${id} first.`,
    current: toOrder(stored!),
  }
}

/** The id of a record that the order needs and the table does not have. */
async function missingReference(
  query: Query,
  { customer, follows }: Order,
): Promise<string | undefined> {
  if ((await query('SELECT 1 FROM customers WHERE id = ?', customer)).length === 0) return customer
  if (
    follows !== undefined &&
    (await query('SELECT 1 FROM orders WHERE id = ?', follows)).length === 0
  )
    return follows
  return undefined
}

const taken = (key: string, { id, tab }: Row): Result => ({
  key,
  status: 409,
  reason: `The table has another record with the id ${id}, made by tab ${tab}.`,
})

async function noteRefusal(
  query: Query,
  collection: Collection,
  { key, id, tab }: StoredRecord,
): Promise<void> {
  await query(
    'INSERT INTO refused (key, collection, id, tab) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO ' +
      'NOTHING',
    key,
    collection,
    id,
    tab,
  )
}

async function readChanges(query: Query, since: number, limit: number): Promise<Changes> {
  // All changes up to there are committed: a writer holds the counter's lock until its commit.
  const [counter] = await query<{ last: number | string }>('SELECT last FROM changes')
  const read = (collection: Collection) =>
    query<Row>(
      `SELECT * FROM ${collection} WHERE change > ? AND change <= ? ORDER BY change LIMIT ?`,
      since,
      Number(counter!.last),
      limit,
    )
  const [customers, orders] = [await read('customers'), await read('orders')]
  // If one list was cut short, the other ends at the same change: an order never comes before its
  // customer.
  const cuts = [customers, orders]
    .filter((rows) => rows.length === limit)
    .map((rows) => Number(rows.at(-1)!.change))
  const end = Math.min(Number(counter!.last), ...cuts)
  const upToEnd = (row: Row) => Number(row.change) <= end
  return {
    customers: customers.filter(upToEnd).map((row) => ({ ...made(row), name: row.name })),
    orders: orders.filter(upToEnd).map(toOrder),
    since: end,
    isAll: cuts.length === 0,
    counts: await readCounts(query),
  }
}

async function readCounts(query: Query): Promise<Counts> {
  const counts = {} as Counts
  for (const collection of COLLECTIONS) {
    const [row] = await query<Record<keyof Counts[Collection], number | string>>(
      `SELECT count(*) AS stored, coalesce(max(number), 0) AS highest,
       (SELECT count(*) FROM refused WHERE collection = ?) AS refused,
       (SELECT count(*) FROM refused WHERE collection = ? AND tab = ?) AS forged
       FROM ${collection}`,
      collection,
      collection,
      FORGER,
    )
    counts[collection] = {
      stored: Number(row!.stored),
      refused: Number(row!.refused),
      forged: Number(row!.forged),
      highest: Number(row!.highest),
    }
  }
  return counts
}

type Row = Record<
  'id' | 'key' | 'created_at' | 'tab' | 'name' | 'customer' | 'lines' | 'edit',
  string
> & {
  follows: string | null
  version: number
  /** PostgreSQL sends numbers of 64 bits as text. */
  change: number | string
}

const made = ({ id, key, created_at: createdAt, tab }: Row) => ({ id, key, createdAt, tab })

const toOrder = (row: Row): Order => ({
  ...made(row),
  customer: row.customer,
  lines: JSON.parse(row.lines),
  ...(row.follows !== null && { follows: row.follows }),
  version: row.version,
  edit: row.edit,
})

/** Of `orders/33-A`: 33. */
const numberOf = (id: string): number => Number(/(\d{1,15})\D*$/.exec(id)?.[1] ?? 0)
