/**
 * Every record that this browser made or received, with its state, in IndexedDB. All tabs share it;
 * each method is one transaction. Records are stored under their key and not under their id: the
 * desk shows that ids never collide, so it must not rely on it.
 */
import { type DBSchema, type IDBPDatabase, type IDBPObjectStore, openDB } from 'idb'
import {
  type Changes,
  type Collection,
  type Customer,
  type Line,
  newKey,
  type Order,
  type Records,
  type Result,
  type Sent,
} from './records.js'

/**
 * `waiting`: the server's table may not have it yet. `refused`: the server refused it for good.
 * `conflict`: somebody else edited it first.
 */
export type State = 'waiting' | 'sent' | 'refused' | 'conflict'

export type Kept<R> = R & {
  state: State
  /** The version that the server has, as far as is known. */
  base: number
  reason?: string
  /** Later edits whose answers were lost: the server may have them. */
  attempts?: string[]
  /** In a conflict: the server's version. */
  current?: Order
}

export interface Snapshot {
  /** The newest ones. */
  orders: Kept<Order>[]
  customers: Map<string, Kept<Customer>>
  total: number
  waiting: number
  /** Refused, or in conflict. */
  stuck: number
}

interface Schema extends DBSchema {
  orders: {
    key: string
    value: Kept<Order>
    indexes: { id: string; created: string; state: [State, string] }
  }
  customers: {
    key: string
    value: Kept<Customer>
    indexes: { id: string; name: string; state: [State, string] }
  }
  settings: { key: 'since' | 'isSwitchedOff'; value: number }
}

const inState = (state: State) => IDBKeyRange.bound([state, ''], [state, '\uffff'])

export class DeskStore {
  readonly #db: IDBPDatabase<Schema>

  static async open(): Promise<DeskStore> {
    const db = await openDB<Schema>('desk', 1, {
      upgrade(db) {
        const orders = db.createObjectStore('orders', { keyPath: 'key' })
        orders.createIndex('id', 'id')
        orders.createIndex('created', 'createdAt')
        orders.createIndex('state', ['state', 'createdAt'])
        const customers = db.createObjectStore('customers', { keyPath: 'key' })
        customers.createIndex('id', 'id')
        customers.createIndex('name', 'name')
        customers.createIndex('state', ['state', 'createdAt'])
        db.createObjectStore('settings')
      },
    })
    return new DeskStore(db)
  }

  private constructor(db: IDBPDatabase<Schema>) {
    this.#db = db
  }

  close(): void {
    this.#db.close()
  }

  /** The desk's offline switch, stored for the service worker. */
  async noteSwitch(on: boolean): Promise<void> {
    await this.#db.put('settings', on ? 0 : 1, 'isSwitchedOff')
  }

  async isSwitchedOn(): Promise<boolean> {
    return (await this.#db.get('settings', 'isSwitchedOff')) !== 1
  }

  async add<C extends Collection>(collection: C, records: readonly Records[C][]): Promise<void> {
    const tx = this.#db.transaction(collection, 'readwrite')
    const kept = records.map(
      (record) => ({ ...record, state: 'waiting', base: 0 }) as Schema[C]['value'],
    )
    await Promise.all([...kept.map((record) => tx.store.add(record)), tx.done])
  }

  async snapshot(limit: number): Promise<Snapshot> {
    const tx = this.#db.transaction(['orders', 'customers'])
    const store = tx.objectStore('orders')
    const states = store.index('state')
    const [orders, customers, total, waiting, refused, conflicts] = await Promise.all([
      newest(store.index('created').iterate(null, 'prev'), limit),
      tx.objectStore('customers').getAll(),
      store.count(),
      states.count(inState('waiting')),
      states.count(inState('refused')),
      states.count(inState('conflict')),
    ])
    const customerOf = new Map(customers.map((customer) => [customer.id, customer]))
    return { orders, customers: customerOf, total, waiting, stuck: refused + conflicts }
  }

  customerNamed(name: string): Promise<Customer | undefined> {
    return this.#db.getFromIndex('customers', 'name', name)
  }

  /** Changes an order's lines; it waits to be sent again. */
  async edit(key: string, lines: Line[]): Promise<void> {
    await this.#changeOrder(key, (order) => ({
      ...order,
      lines,
      version: order.version + 1,
      edit: newKey(),
      state: 'waiting',
    }))
  }

  /** Ends a conflict: keeps this browser's edit, or takes the other one. */
  async resolve(key: string, whose: 'mine' | 'theirs'): Promise<void> {
    await this.#changeOrder(key, ({ current, attempts: _, reason: __, ...order }) => {
      if (!current) return order
      const base = current.version
      return whose === 'mine'
        ? { ...order, base, version: base + 1, edit: newKey(), state: 'waiting' }
        : { ...current, base, state: 'sent' }
    })
  }

  /** What to send now, oldest first. From now on the server may have it. */
  async takeWaiting<C extends Collection>(
    collection: C,
    limit: number,
  ): Promise<Sent<Records[C]>[]> {
    const tx = this.#db.transaction(collection, 'readwrite')
    return inFull(tx, async () => {
      const kept = (await tx.store
        .index('state')
        .getAll(inState('waiting') as never, limit)) as Kept<Records[C]>[]
      for (const record of kept)
        if ('edit' in record)
          await tx.store.put({
            ...record,
            attempts: [...(record.attempts ?? []), record.edit],
          } as never)
      return kept.map(
        ({ state, reason, attempts, current, ...record }) => record as unknown as Sent<Records[C]>,
      )
    })
  }

  async isWaiting(collection: Collection, key: string): Promise<boolean> {
    return (await this.#db.get(collection, key))?.state === 'waiting'
  }

  /** Replaces a refused order by the same order with another id. */
  async replace(refused: Order, order: Order): Promise<void> {
    const tx = this.#db.transaction('orders', 'readwrite')
    await Promise.all([
      tx.store.delete(refused.key),
      tx.store.add({ ...order, state: 'waiting', base: 0 }),
      tx.done,
    ])
  }

  /**
   * Stores the server's results for a batch.
   * @returns how many records changed their state
   */
  async settle(
    collection: Collection,
    sent: readonly Sent<Customer | Order>[],
    results: readonly Result[],
  ): Promise<number> {
    const tx = this.#db.transaction(['orders', 'customers'], 'readwrite')
    return inFull(tx, async () => {
      let changes = 0
      for (const result of results) {
        const record = await tx.objectStore(collection).get(result.key)
        const asSent = sent.find(({ key }) => key === result.key)
        if (record?.state !== 'waiting' || !asSent) continue
        changes++
        if (
          result.status === 424 &&
          (await sendAgain(tx.objectStore('customers'), (record as Kept<Order>).customer))
        )
          continue
        await tx.objectStore(collection).put(settled(record, asSent, result) as never)
      }
      return changes
    })
  }

  /** The number of the last change that {@link merge} stored. */
  async since(): Promise<number> {
    return (await this.#db.get('settings', 'since')) ?? 0
  }

  /** Stores what others changed, except for records that wait here: sending shows conflicts. */
  async merge({ customers, orders, since }: Changes): Promise<void> {
    const tx = this.#db.transaction(['orders', 'customers', 'settings'], 'readwrite')
    await inFull(tx, async () => {
      for (const customer of customers) {
        const known = await tx.objectStore('customers').get(customer.key)
        if (known?.state !== 'waiting')
          await tx.objectStore('customers').put({ ...customer, state: 'sent', base: 1 })
      }
      for (const order of orders) {
        const known = await tx.objectStore('orders').get(order.key)
        if (!known || known.state === 'sent')
          await tx.objectStore('orders').put({ ...order, state: 'sent', base: order.version })
        else if (known.state === 'conflict')
          await tx.objectStore('orders').put({ ...known, current: order })
      }
      await tx.objectStore('settings').put(since, 'since')
    })
  }

  async #changeOrder(key: string, change: (order: Kept<Order>) => Kept<Order>): Promise<void> {
    const tx = this.#db.transaction('orders', 'readwrite')
    await inFull(tx, async () => {
      const order = await tx.store.get(key)
      if (order) await tx.store.put(change(order))
    })
  }
}

/**
 * Resolves with the result of `work` when its transaction is complete. If the browser aborts the
 * transaction, it rejects once.
 */
async function inFull<T>(tx: { done: Promise<void> }, work: () => Promise<T>): Promise<T> {
  const [result] = await Promise.all([work(), tx.done])
  return result
}

function settled(
  record: Kept<Customer> | Kept<Order>,
  sent: Sent<Customer | Order>,
  { status, reason, current }: Result,
): unknown {
  const { attempts = [], ...rest } = record
  if (status < 300) {
    if (!('version' in record)) return { ...rest, state: 'sent' }
    const { version, edit } = sent as Order
    // It was edited while it was sent: the newer edit still waits.
    return record.edit === edit
      ? { ...rest, state: 'sent', base: version }
      : { ...rest, base: version, attempts: [] }
  }
  if (status !== 412 || !current) return { ...rest, state: 'refused', ...(reason && { reason }) }
  // The server has an earlier edit of this browser, whose answer was lost.
  if (attempts.includes(current.edit)) {
    const version = Math.max((record as Kept<Order>).version, current.version + 1)
    return { ...rest, base: current.version, version, attempts: [] }
  }
  return { ...rest, state: 'conflict', current, ...(reason && { reason }) }
}

/**
 * The server lost a customer that it once stored: the order waits until the customer is there
 * again.
 */
async function sendAgain(customers: CustomersInTransaction, id: string): Promise<boolean> {
  const customer = await customers.index('id').get(id)
  if (!customer || customer.state === 'refused') return false
  await customers.put({ ...customer, state: 'waiting' })
  return true
}

type CustomersInTransaction = IDBPObjectStore<
  Schema,
  ['orders', 'customers'],
  'customers',
  'readwrite'
>

async function newest<V>(cursors: AsyncIterable<{ value: V }>, limit: number): Promise<V[]> {
  const values: V[] = []
  for await (const { value } of cursors) {
    values.push(value)
    if (values.length === limit) break
  }
  return values
}
