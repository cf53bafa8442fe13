/** Dexie: each object has its final id before the transaction begins. */
import Dexie, { type Table } from 'dexie'
import { hilo } from './hilo'

interface Order {
  id: string
  customer: string
}

interface Line {
  id: string
  orderId: string
  product: string
}

const db = new Dexie('dexie-shop') as Dexie & {
  orders: Table<Order, string>
  lines: Table<Line, string>
}
db.version(1).stores({ orders: 'id', lines: 'id, orderId' })

/** Works offline. What it returns is the order's id for ever. */
export async function addOrder(customer: string, products: string[]): Promise<string> {
  // Before the transaction: IndexedDB ends one that waits for anything but IndexedDB.
  const id = await hilo.nextId('orders')
  const lines = await hilo.take('lines', products.length)
  const added = products.map((product) => ({ id: lines.next(), orderId: id, product }))
  await db.transaction('rw', db.orders, db.lines, async () => {
    await db.orders.add({ id, customer })
    await db.lines.bulkAdd(added)
  })
  return id
}

export const linesOf = (orderId: string): Promise<Line[]> => db.lines.where({ orderId }).toArray()
