/** Dexie: a creating hook gives each object its final id, inside the transaction. */
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
  orders: Table<Order, string, Omit<Order, 'id'>>
  lines: Table<Line, string, Omit<Line, 'id'>>
}
db.version(1).stores({ orders: 'id', lines: 'id, orderId' })
for (const name of ['orders', 'lines'] as const)
  db[name].hook('creating', (id: string | undefined) => id ?? hilo.nextIdSync(name))

/** Works offline. What it returns is the order's id for ever. */
export async function addOrder(customer: string, products: string[]): Promise<string> {
  // Before the transaction: IndexedDB ends one that waits for anything but IndexedDB.
  await Promise.all([hilo.warm('orders', 1), hilo.warm('lines', products.length)])
  return db.transaction('rw', db.orders, db.lines, async () => {
    const orderId = await db.orders.add({ customer })
    await db.lines.bulkAdd(products.map((product) => ({ orderId, product })))
    return orderId
  })
}

export const linesOf = (orderId: string): Promise<Line[]> => db.lines.where({ orderId }).toArray()
