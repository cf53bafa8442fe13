import { DatabaseSync } from '@photostructure/sqlite'

// The id says whether an order is here already: one that comes twice is stored once.
const db = new DatabaseSync('shop.db')
db.exec('CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT, madeAt TEXT)')
const store = db.prepare('INSERT INTO orders VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING')
const same = db.prepare('SELECT 1 FROM orders WHERE id = ? AND customer = ? AND madeAt = ?')

export async function POST(request: Request) {
  const { id, customer, madeAt } = await request.json()
  if (![id, customer, madeAt].every((each) => typeof each === 'string'))
    return Response.json({ refused: 'It needs an id, a customer and a time.' }, { status: 400 })
  store.run(id, customer, madeAt)
  if (!same.get(id, customer, madeAt))
    return Response.json({ refused: 'Another order has this id.' }, { status: 409 })
  return Response.json({ id }, { status: 201 })
}

export async function GET() {
  return Response.json(db.prepare('SELECT * FROM orders ORDER BY madeAt').all())
}
