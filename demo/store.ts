/**
 * The desk's memory: every record this browser made, in IndexedDB, with what became of it. Shared by all tabs; each method is one transaction.
 * Records are kept by their key, not by their id: that ids never collide is what the desk shows, so it may not assume it.
 */
import { type DBSchema, type IDBPDatabase, type IDBPObjectStore, openDB } from 'idb'
import type { Collection, Customer, Order, Records, Result } from './records.js'

/** `waiting`: not known to be in the server's table yet. `refused`: the server said no for good. */
export type State = 'waiting' | 'sent' | 'refused'
export type Kept<R> = R & { state: State; reason?: string }

export interface Snapshot {
  /** The newest ones. */
  orders: Kept<Order>[]
  customers: Map<string, Kept<Customer>>
  total: number
  waiting: number
  refused: number
}

interface Schema extends DBSchema {
  orders: { key: string; value: Kept<Order>; indexes: { created: string; state: [State, string] } }
  customers: { key: string; value: Kept<Customer>; indexes: { id: string; name: string; state: [State, string] } }
}

const inState = (state: State) => IDBKeyRange.bound([state, ''], [state, '\uffff'])

export class DeskStore {
  readonly #db: IDBPDatabase<Schema>

  static async open(): Promise<DeskStore> {
    const db = await openDB<Schema>('order-desk', 1, {
      upgrade(db) {
        const orders = db.createObjectStore('orders', { keyPath: 'key' })
        orders.createIndex('created', 'createdAt')
        orders.createIndex('state', ['state', 'createdAt'])
        const customers = db.createObjectStore('customers', { keyPath: 'key' })
        customers.createIndex('id', 'id')
        customers.createIndex('name', 'name')
        customers.createIndex('state', ['state', 'createdAt'])
      },
    })
    return new DeskStore(db)
  }

  private constructor(db: IDBPDatabase<Schema>) {
    this.#db = db
  }

  async add<C extends Collection>(collection: C, records: readonly Records[C][]): Promise<void> {
    const tx = this.#db.transaction(collection, 'readwrite')
    const kept = records.map((record) => ({ ...record, state: 'waiting' }) as Schema[C]['value'])
    await Promise.all([...kept.map((record) => tx.store.add(record)), tx.done])
  }

  async snapshot(limit: number): Promise<Snapshot> {
    const tx = this.#db.transaction(['orders', 'customers'])
    const store = tx.objectStore('orders')
    const [orders, customers, total, waiting, refused] = await Promise.all([
      newest(store.index('created').iterate(null, 'prev'), limit),
      tx.objectStore('customers').getAll(),
      store.count(),
      store.index('state').count(inState('waiting')),
      store.index('state').count(inState('refused')),
    ])
    return { orders, customers: new Map(customers.map((customer) => [customer.id, customer])), total, waiting, refused }
  }

  customerNamed(name: string): Promise<Customer | undefined> {
    return this.#db.getFromIndex('customers', 'name', name)
  }

  /** What waits to be sent, oldest first. */
  async waiting<C extends Collection>(collection: C, limit: number): Promise<Records[C][]> {
    const kept = await this.#db.getAllFromIndex(collection, 'state', inState('waiting'), limit)
    return kept.map(({ state, reason, ...record }) => record as unknown as Records[C])
  }

  async isWaiting(collection: Collection, key: string): Promise<boolean> {
    return (await this.#db.get(collection, key))?.state === 'waiting'
  }

  /** The refused order makes way for the same one under another id. */
  async replace(refused: Order, order: Order): Promise<void> {
    const tx = this.#db.transaction('orders', 'readwrite')
    await Promise.all([tx.store.delete(refused.key), tx.store.add({ ...order, state: 'waiting' }), tx.done])
  }

  /**
   * Notes what the server made of a batch.
   * @returns how many records have another state now
   */
  async settle(collection: Collection, results: readonly Result[]): Promise<number> {
    let changes = 0
    const tx = this.#db.transaction(['orders', 'customers'], 'readwrite')
    for (const { key, status, reason } of results) {
      const record = await tx.objectStore(collection).get(key)
      if (record?.state !== 'waiting') continue
      changes++
      if (status === 424 && (await this.#sendAgain(tx.objectStore('customers'), (record as Order).customer))) continue
      const after =
        status < 300 ? { ...record, state: 'sent' as const } : { ...record, state: 'refused' as const, ...(reason && { reason }) }
      await tx.objectStore(collection).put(after as Kept<Order> & Kept<Customer>)
    }
    await tx.done
    return changes
  }

  /** The server lost a customer that it once stored: the order waits until the customer is there again. */
  async #sendAgain(customers: CustomersInTransaction, id: string): Promise<boolean> {
    const customer = await customers.index('id').get(id)
    if (!customer || customer.state === 'refused') return false
    await customers.put({ ...customer, state: 'waiting' })
    return true
  }
}

type CustomersInTransaction = IDBPObjectStore<Schema, ['orders', 'customers'], 'customers', 'readwrite'>

async function newest<V>(cursors: AsyncIterable<{ value: V }>, limit: number): Promise<V[]> {
  const values: V[] = []
  for await (const { value } of cursors) {
    values.push(value)
    if (values.length === limit) break
  }
  return values
}
