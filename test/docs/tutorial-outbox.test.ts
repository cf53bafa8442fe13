/** The outbox of the tutorial: one order that the API does not take never holds up the others. */
import 'fake-indexeddb/auto'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { db, listOrders } from '../../examples/starter/src/db.js'
import { sendAgain, trySending } from '../../examples/starter/src/outbox.js'

/** Sending needs no ids. */
vi.mock('../../examples/starter/src/hilo.js', () => ({ hilo: undefined }))

const CUSTOMERS = ['Ada', 'Grace', 'Linus']

beforeEach(async () => {
  vi.stubGlobal('navigator', {
    locks: { request: (_: string, work: () => Promise<void>) => work() },
  })
  await Promise.all([db.orders.clear(), db.outbox.clear()])
  for (const [i, customer] of CUSTOMERS.entries()) {
    const order = { id: `orders/${i + 1}-A`, customer, madeAt: `2026-11-27T10:0${i}:00Z` }
    await db.orders.add(order)
    await db.outbox.add({ order, failures: 0 })
  }
})

/** An API with these answers; resolves with the customers of the orders that it got. */
function answering(answerTo: (customer: string) => Response | undefined): string[] {
  const asked: string[] = []
  vi.stubGlobal('fetch', async (_: string, { body }: { body: string }) => {
    const { customer } = JSON.parse(body)
    asked.push(customer)
    return answerTo(customer) ?? new Response('{}', { status: 201 })
  })
  onTestFinished(() => void vi.unstubAllGlobals())
  return asked
}

const states = async () => (await listOrders()).map(({ customer, state }) => [customer, state])

test('a refused order is set aside with its reason, the others are sent', async () => {
  const refused = 'Another order has this id.'
  const asked = answering((customer) =>
    customer === 'Ada' ? Response.json({ refused }, { status: 409 }) : undefined,
  )
  await trySending()
  expect(await states()).toEqual([
    ['Ada', `refused: ${refused}`],
    ['Grace', 'sent'],
    ['Linus', 'sent'],
  ])
  await trySending()
  expect(asked).toEqual(CUSTOMERS)
})

test.each([
  ['a sign-in page', () => new Response('<html>', { status: 403 })],
  ['a sign-in page that says OK', () => new Response('<html>')],
  ['a proxy without its API', () => Response.json({ error: 'bad gateway' }, { status: 502 })],
])('%s on the way refuses nothing: all orders wait', async (_, answer) => {
  answering(answer)
  await trySending()
  expect(await states()).toEqual(CUSTOMERS.map((customer) => [customer, 'waits']))
  answering(() => undefined)
  await trySending()
  expect(await states()).toEqual(CUSTOMERS.map((customer) => [customer, 'sent']))
})

test('an order that makes the API fail lets the others pass, and can be sent again', async () => {
  let isMended = false
  const asked = answering((customer) =>
    customer === 'Ada' && !isMended ? new Response('oops', { status: 500 }) : undefined,
  )
  for (let rounds = 0; rounds < 3; rounds++) await trySending()
  expect(asked).toEqual(['Ada', 'Grace', 'Linus', 'Ada', 'Ada'])
  expect(await states()).toEqual([
    ['Ada', 'not sent: the shop has a problem with it'],
    ['Grace', 'sent'],
    ['Linus', 'sent'],
  ])
  isMended = true
  await sendAgain('orders/1-A')
  expect((await states())[0]).toEqual(['Ada', 'sent'])
})

test('an API that is down is asked once a round, and gets all orders when it is back', async () => {
  const down = answering(() => new Response('', { status: 500 }))
  for (let rounds = 0; rounds < 9; rounds++) await trySending()
  expect(down).toHaveLength(9)
  const up = answering(() => undefined)
  await trySending()
  expect(up).toEqual(CUSTOMERS)
})

test('a refused order is sent again when somebody asks for it', async () => {
  answering(() => Response.json({ refused: 'Closed.' }, { status: 409 }))
  await trySending()
  expect((await listOrders()).map(({ isStuck }) => isStuck)).toEqual([true, true, true])
  const asked = answering(() => undefined)
  await sendAgain('orders/2-A')
  expect(asked).toEqual(['Grace'])
})

test('by plain http, where there are no locks, orders are sent, too', async () => {
  vi.stubGlobal('navigator', {})
  answering(() => undefined)
  await trySending()
  expect(await states()).toEqual(CUSTOMERS.map((customer) => [customer, 'sent']))
})
