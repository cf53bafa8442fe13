/** PowerSync: the number that the back end wants as its key is there at the insert. */
import { column, PowerSyncDatabase, Schema, Table } from '@powersync/web'
import { hilo } from './hilo'

const schema = new Schema({
  orders: new Table({ customer: column.text }),
  lines: new Table({ order_id: column.text, product: column.text }),
})

const db = new PowerSyncDatabase({
  schema,
  database: { dbFilename: 'shop.db' },
})

export async function addOrder(customer, products) {
  // PowerSync's `id` is a text. The bare number goes into an integer key of the back end.
  const orderId = String(await hilo.nextNumber('orders'))
  const lineIds = await Promise.all(products.map(() => hilo.nextNumber('lines')))
  await db.writeTransaction(async (tx) => {
    await tx.execute('INSERT INTO orders (id, customer) VALUES (?, ?)', [orderId, customer])
    for (const [i, product] of products.entries())
      await tx.execute('INSERT INTO lines (id, order_id, product) VALUES (?, ?, ?)', [
        String(lineIds[i]),
        orderId,
        product,
      ])
  })
  return orderId
}

export const linesOf = (orderId) =>
  db.getAll('SELECT id, order_id AS orderId, product FROM lines WHERE order_id = ?', [orderId])
