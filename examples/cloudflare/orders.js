// The app's own table, in an object of its own. The id says whether an order is here already: one
// that comes twice is stored once, and another one with its id is refused.
import { DurableObject } from 'cloudflare:workers'

const refuse = (refused, status) => Response.json({ refused }, { status })

export class Orders extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env)
    this.sql = ctx.storage.sql
    this.sql.exec(
      'CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT, madeAt TEXT)',
    )
  }

  async fetch(request) {
    if (request.method === 'GET')
      return Response.json(this.sql.exec('SELECT * FROM orders ORDER BY madeAt').toArray())
    if (request.method !== 'POST') return new Response(null, { status: 405 })
    // A page of another site cannot send JSON: its browser asks first, and gets no yes.
    if (request.headers.get('Content-Type') !== 'application/json')
      return new Response('Send JSON.', { status: 415 })
    const { id, customer, madeAt } = (await request.json().catch(() => null)) ?? {}
    if (![id, customer, madeAt].every((each) => typeof each === 'string'))
      return refuse('It needs an id, a customer and a time.', 400)
    return this.store({ id, customer, madeAt })
  }

  store({ id, customer, madeAt }) {
    this.sql.exec(
      'INSERT INTO orders VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING',
      id,
      customer,
      madeAt,
    )
    const stored = this.sql.exec('SELECT * FROM orders WHERE id = ?', id).one()
    const isThis = stored.customer === customer && stored.madeAt === madeAt
    return isThis
      ? Response.json({ id }, { status: 201 })
      : refuse('Another order has this id.', 409)
  }
}
