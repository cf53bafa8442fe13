import { DatabaseSync } from '@photostructure/sqlite'

// The id says whether an order is here already: one that comes twice is stored once.
const db = new DatabaseSync('shop.db')
db.exec('CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT, madeAt TEXT)')
const store = db.prepare('INSERT INTO orders VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING')
const same = db.prepare('SELECT 1 FROM orders WHERE id = ? AND customer = ? AND madeAt = ?')

export default defineEventHandler(async (event) => {
  if (event.method === 'GET') return db.prepare('SELECT * FROM orders ORDER BY madeAt').all()
  const { id, customer, madeAt } = await readBody(event)
  setResponseStatus(event, 400)
  if (![id, customer, madeAt].every((each) => typeof each === 'string'))
    return { refused: 'It needs an id, a customer and a time.' }
  store.run(id, customer, madeAt)
  setResponseStatus(event, 409)
  if (!same.get(id, customer, madeAt)) return { refused: 'Another order has this id.' }
  setResponseStatus(event, 201)
  return { id }
})
