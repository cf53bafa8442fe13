/**
 * Replicache: ids go into a mutation's arguments, never into the mutator. It runs again when
 * Replicache rebases, and on the server, and each time it has to make the same rows.
 */
import { Replicache } from 'replicache'
import { hilo } from './hilo'

const replicache = new Replicache({
  name: 'shop',
  pushURL: '/push',
  pullURL: '/pull',
  mutators: {
    async addOrder(tx, { order, lines }) {
      await tx.set(`order/${order.id}`, order)
      for (const line of lines) await tx.set(`line/${order.id}/${line.id}`, line)
    },
  },
})

export async function addOrder(customer, products) {
  const [id, lineIds] = await Promise.all([
    hilo.nextId('orders'),
    hilo.nextIds('lines', products.length),
  ])
  await replicache.mutate.addOrder({
    order: { id, customer },
    lines: products.map((product, i) => ({ id: lineIds[i], orderId: id, product })),
  })
  return id
}

export const linesOf = (orderId) =>
  replicache.query((tx) => tx.scan({ prefix: `line/${orderId}/` }).toArray())
