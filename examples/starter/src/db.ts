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
    await db.outbox.add({ order })
  })
  return id
}

/** All orders, the oldest first, and whether the API has them. */
export async function listOrders() {
  const orders = await db.orders.orderBy('madeAt').toArray()
  const waiting = await db.outbox.orderBy('order.id').keys()
  return orders.map((order) => ({ ...order, isSent: !waiting.includes(order.id) }))
}
