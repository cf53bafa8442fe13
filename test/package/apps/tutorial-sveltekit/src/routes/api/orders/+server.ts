import { DatabaseSync } from '@photostructure/sqlite'
import { json, type RequestHandler } from '@sveltejs/kit'

// The id says whether an order is here already: one that comes twice is stored once.
const db = new DatabaseSync('shop.db')
db.exec('CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT, madeAt TEXT)')
const store = db.prepare('INSERT INTO orders VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING')
const same = db.prepare('SELECT 1 FROM orders WHERE id = ? AND customer = ? AND madeAt = ?')

export const POST: RequestHandler = async ({ request }) => {
  const { id, customer, madeAt } = await request.json()
  if (![id, customer, madeAt].every((each) => typeof each === 'string'))
    return json({ refused: 'It needs an id, a customer and a time.' }, { status: 400 })
  store.run(id, customer, madeAt)
  if (!same.get(id, customer, madeAt))
    return json({ refused: 'Another order has this id.' }, { status: 409 })
  return json({ id }, { status: 201 })
}

export const GET: RequestHandler = () =>
  json(db.prepare('SELECT * FROM orders ORDER BY madeAt').all())
