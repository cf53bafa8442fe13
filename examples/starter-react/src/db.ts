import Dexie, { type Table } from 'dexie'
import { hilo } from './hilo'

export interface Order {
  id: string
  customer: string
  madeAt: string
}

/** An order that the API does not have yet. */
interface Waiting {
  /** In the queue of this browser. It never leaves it, so it may count from 1. */
  place?: number
  order: Order
  /** How often the API failed to take it, for example with a 500. */
  failures: number
  /** Why the API will never take it. */
  refused?: string | undefined
}

export const db = new Dexie('my-shop') as Dexie & {
  orders: Table<Order, string>
  outbox: Table<Waiting, number>
}
db.version(1).stores({ orders: 'id, madeAt', outbox: '++place, order.id' })

/** Works offline. What it resolves with is the order's id for ever. */
export async function addOrder(customer: string): Promise<string> {
  // Before the transaction: IndexedDB ends one that waits for anything but IndexedDB.
  const id = await hilo.nextId('orders')
  const order = { id, customer, madeAt: new Date().toISOString() }
  await db.transaction('rw', db.orders, db.outbox, async () => {
    await db.orders.add(order)
    await db.outbox.add({ order, failures: 0 })
  })
  return id
}

/** For a customer whose browser lets the page store nothing, as some do in private windows. */
export const NOT_STORED = 'This browser stores nothing for this site. Allow it, and reload.'

/** All orders, the oldest first, and what has become of them. */
export async function listOrders() {
  const orders = await db.orders.orderBy('madeAt').toArray()
  const outbox = new Map((await db.outbox.toArray()).map((each) => [each.order.id, each]))
  return orders.map((order) => ({ ...order, ...stateOf(outbox.get(order.id)) }))
}

/** What is stuck, somebody may send again. */
function stateOf(waiting: Waiting | undefined): { state: string; isStuck: boolean } {
  if (!waiting) return { state: 'sent', isStuck: false }
  const { refused, failures } = waiting
  if (refused) return { state: `refused: ${refused}`, isStuck: true }
  if (failures < 3) return { state: 'waits', isStuck: false }
  return { state: 'not sent: the shop has a problem with it', isStuck: true }
}
