/** WatermelonDB: records with final ids, which its sync sends as they are. */
import { appSchema, Database, Model, Q, tableSchema } from '@nozbe/watermelondb'
import LokiJSAdapter from '@nozbe/watermelondb/adapters/lokijs'
import { hilo } from './hilo'

// WatermelonDB allows letters, digits, '.' and '_' in ids: orders.33.A
const idOf = (id) => id.replace(/[/-]/g, '.')

class Order extends Model {
  static table = 'orders'
}
class Line extends Model {
  static table = 'lines'
}

const text = (name) => ({ name, type: 'string' })
const schema = appSchema({
  version: 1,
  tables: [
    tableSchema({ name: 'orders', columns: [text('customer')] }),
    tableSchema({ name: 'lines', columns: [text('order_id'), text('product')] }),
  ],
})
const adapter = new LokiJSAdapter({
  schema,
  useWebWorker: false,
  useIncrementalIndexedDB: true,
})
const db = new Database({ adapter, modelClasses: [Order, Line] })

const prepare = (table, id, values) =>
  db.get(table).prepareCreate((record) => {
    record._raw.id = id
    for (const [column, value] of Object.entries(values)) record._setRaw(column, value)
  })

export async function addOrder(customer, products) {
  // Before `write`, which keeps all other writers waiting.
  const [made, lines] = await Promise.all([
    hilo.nextId('orders'),
    hilo.nextIds('lines', products.length),
  ])
  const orderId = idOf(made)
  await db.write(() =>
    db.batch(
      prepare('orders', orderId, { customer }),
      ...products.map((product, i) =>
        prepare('lines', idOf(lines[i]), { order_id: orderId, product }),
      ),
    ),
  )
  return orderId
}

export async function linesOf(orderId) {
  const lines = await db.get('lines').query(Q.where('order_id', orderId)).fetch()
  return lines.map(({ id, _raw }) => ({ id, orderId: _raw.order_id, product: _raw.product }))
}
