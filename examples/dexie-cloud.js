/** Dexie Cloud: final ids of your own in synced tables, instead of its `@id`. */
import Dexie from 'dexie'
import dexieCloud from 'dexie-cloud-addon'
import { hilo } from './hilo'

const db = new Dexie('cloud-shop', { addons: [dexieCloud] })
// No `@` before `id`: the key is yours. The server keeps it as it is.
db.version(1).stores({ orders: 'id', lines: 'id, orderId' })

export async function addOrder(customer, products) {
  const [orderId, lineIds] = await Promise.all([
    hilo.nextId('orders'),
    hilo.nextIds('lines', products.length),
  ])
  await db.transaction('rw', db.orders, db.lines, async () => {
    await db.orders.add({ id: orderId, customer })
    await db.lines.bulkAdd(products.map((product, i) => ({ id: lineIds[i], orderId, product })))
  })
  return orderId
}

export const linesOf = (orderId) => db.lines.where({ orderId }).toArray()
