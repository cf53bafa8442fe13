/**
 * TanStack DB with offline transactions: `onMutate` is synchronous, so the ids are there before it
 * runs. The order's id is the idempotency key, too.
 */
import { createCollection, localOnlyCollectionOptions } from '@tanstack/db'
import { NonRetriableError, startOfflineExecutor } from '@tanstack/offline-transactions'
import { hilo } from './hilo'

const getKey = (row) => row.id
const orders = createCollection(localOnlyCollectionOptions({ id: 'orders', getKey }))
const lines = createCollection(localOnlyCollectionOptions({ id: 'lines', getKey }))

const executor = startOfflineExecutor({
  collections: { orders, lines },
  mutationFns: {
    // Sent again after a lost answer, with the same ids: the server ignores an order that it has.
    async saveOrder({ transaction: { mutations } }) {
      const { status, ok } = await fetch('/api/orders', {
        method: 'POST',
        headers: { 'Idempotency-Key': mutations[0].key },
        body: JSON.stringify(mutations.map((each) => each.modified)),
      })
      // Tried again later; but one that the API refuses is rolled back, and the others go on.
      if ([400, 409, 422].includes(status)) throw new NonRetriableError('The order was refused.')
      if (!ok) throw new Error('The order was not taken.')
    },
  },
})

const saveOrder = executor.createOfflineAction({
  mutationFnName: 'saveOrder',
  onMutate({ order, added }) {
    orders.insert(order)
    lines.insert(added)
  },
})

export async function addOrder(customer, products) {
  await executor.waitForInit()
  const id = await hilo.nextId('orders')
  const batch = await hilo.take('lines', products.length)
  const added = products.map((product) => ({ id: batch.next(), orderId: id, product }))
  saveOrder({ order: { id, customer }, added })
  return id
}

export const linesOf = async (orderId) => lines.toArray.filter((line) => line.orderId === orderId)
