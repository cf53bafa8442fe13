/** idb, and IndexedDB itself: first the ids, then one transaction that uses them all. */
import { openDB } from 'idb'
import { hilo } from './hilo'

interface Line {
  id: string
  orderId: string
  product: string
}

const opening = openDB('idb-shop', 1, {
  upgrade(db) {
    db.createObjectStore('orders', { keyPath: 'id' })
    db.createObjectStore('lines', { keyPath: 'id' }).createIndex('orderId', 'orderId')
  },
})

export async function addOrder(customer: string, products: string[]): Promise<string> {
  const db = await opening
  const [orderId, lineIds] = await Promise.all([
    hilo.nextId('orders'),
    hilo.nextIds('lines', products.length),
  ])
  const tx = db.transaction(['orders', 'lines'], 'readwrite')
  await Promise.all([
    tx.objectStore('orders').add({ id: orderId, customer }),
    ...products.map((product, i) =>
      tx.objectStore('lines').add({ id: lineIds[i], orderId, product }),
    ),
    tx.done,
  ])
  return orderId
}

export const linesOf = async (orderId: string): Promise<Line[]> =>
  (await opening).getAllFromIndex('lines', 'orderId', orderId)
