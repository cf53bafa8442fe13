/**
 * TanStack DB: the id is the key from the optimistic insert on, so nothing is renamed when the
 * server answers.
 */
import { createCollection, localOnlyCollectionOptions } from '@tanstack/db'
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

const orders = createCollection(
  localOnlyCollectionOptions({ id: 'orders', getKey: (order: Order) => order.id }),
)
const lines = createCollection(
  localOnlyCollectionOptions({ id: 'lines', getKey: (line: Line) => line.id }),
)

export async function addOrder(customer: string, products: string[]): Promise<string> {
  const [orderId, lineIds] = await Promise.all([
    hilo.nextId('orders'),
    hilo.nextIds('lines', products.length),
  ])
  orders.insert({ id: orderId, customer })
  lines.insert(products.map((product, i) => ({ id: lineIds[i]!, orderId, product })))
  return orderId
}

export const linesOf = async (orderId: string): Promise<Line[]> =>
  lines.toArray.filter((line) => line.orderId === orderId)
