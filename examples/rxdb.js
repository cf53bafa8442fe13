/** RxDB: a plugin that gives each document its final id when it is inserted. */
import { addRxPlugin, createRxDatabase } from 'rxdb'
import { getRxStorageDexie } from 'rxdb/plugins/storage-dexie'
import { hilo } from './hilo'

/** For collections with `options: { hilo: 'orders' }`. A document that has an id keeps it. */
const hiloPlugin = (hilo) => ({
  name: 'hilo',
  rxdb: true,
  hooks: {
    createRxCollection: {
      after({ collection, creator: { options } }) {
        if (!options?.hilo) return
        collection.preInsert(async (document) => {
          document[collection.schema.primaryPath] ||= await hilo.nextId(options.hilo)
        }, false)
      },
    },
  },
})

addRxPlugin(hiloPlugin(hilo))

const schemaOf = (...fields) => ({
  version: 0,
  primaryKey: 'id',
  type: 'object',
  properties: {
    id: { type: 'string', maxLength: 100 },
    ...Object.fromEntries(fields.map((field) => [field, { type: 'string' }])),
  },
})

const opening = createRxDatabase({ name: 'rxdb-shop', storage: getRxStorageDexie() }).then((db) =>
  db.addCollections({
    orders: { schema: schemaOf('customer'), options: { hilo: 'orders' } },
    lines: { schema: schemaOf('orderId', 'product'), options: { hilo: 'lines' } },
  }),
)

export async function addOrder(customer, products) {
  const db = await opening
  const order = await db.orders.insert({ customer })
  await Promise.all(products.map((product) => db.lines.insert({ orderId: order.id, product })))
  return order.id
}

export async function linesOf(orderId) {
  const db = await opening
  const lines = await db.lines.find({ selector: { orderId } }).exec()
  return lines.map((line) => line.toJSON())
}
