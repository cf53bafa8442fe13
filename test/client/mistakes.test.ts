/**
 * The messages of mistakes, as an app gets them: with their causes, and what others said, in at
 * most forty words, and with the place at the end where the code is explained.
 */
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { consecutive } from '../../src/addons/consecutive/index.js'
import type { HiloError } from '../../src/core/errors.js'
import type { HiloOptions } from '../../src/device/hilo-options.js'
import { newName } from '../support/idb.js'
import { errorOf, newShop, quiet, type Shop } from '../support/shop.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

const MOST_WORDS = 40
const REFERENCE = readFileSync(new URL('../../docs/reference.md', import.meta.url), 'utf8')

function expectBrief({ code, message }: HiloError): void {
  const [address] = /(?<= See docs\/reference\.md#)[\w-]+(?=\.$)/.exec(message) ?? []
  expect(address, message).toBe(code)
  expect(REFERENCE).toContain(`<a id="${code}"></a>\`${code}\``)
  expect(message.match(/See docs/g), message).toHaveLength(1)
  expect(message.split(/\s+/).length, message).toBeLessThanOrEqual(MOST_WORDS)
}

const LONG = 'The owner of this place has decided something else, and says why. '.repeat(9)
const page = (status: number) => new Response('<!doctype html>\n<p>Some page</p>', { status })
const said = (status: number, Message: string) =>
  Response.json({ Url: '/', Type: 'Error', Message, Error: Message }, { status })

async function everyCall(name: string, options: Omit<HiloOptions, 'worker'> = {}) {
  const { hilo } = shop.open({ name, timeout: 200, ...options })
  const soon = () => ({ signal: AbortSignal.timeout(2000) })
  const many = { orders: 9000, lines: 700, customers: 50, products: 5000 }
  const errors = [
    await errorOf(hilo.nextIds('orders', 5000)),
    await errorOf(hilo.take('orders', 5000)),
    await errorOf(hilo.reserve('orders', 9000)),
    await errorOf(hilo.reserve(many)),
    ...(options.source
      ? []
      : [
          await errorOf(hilo.nextIdentity('orders', soon())),
          await errorOf(consecutive(hilo, 'receipts').next({ key: 'sale' })),
        ]),
  ]
  await quiet()
  for (const { lastError } of Object.values(hilo.status().collections))
    if (lastError) errors.push(lastError)
  await hilo.close()
  return errors
}

test.each<[string, () => Response | Promise<Response>]>([
  ['HTML instead of an answer', () => page(200)],
  ['a page with 404', () => page(404)],
  ['a page with 502', () => page(502)],
  ['no text', () => new Response('')],
  ['another JSON', () => Response.json({ isFine: true })],
  ['a refusal with a long reason', () => said(403, LONG)],
  ['a long reason why nothing goes on now', () => said(503, LONG)],
  ['a missing database', () => said(404, "Database 'Shpo' does not exist.")],
  ['nothing', () => new Promise(() => {})],
  ['no connection', () => Promise.reject(new TypeError('fetch failed'))],
])('a server that gives %s', async (_, answer) => {
  shop.answer = answer
  const before = await everyCall(newName())
  shop.answer = undefined
  const name = newName()
  const { hilo } = shop.open({ name })
  await hilo.nextId('orders')
  shop.answer = answer
  for (const error of [...before, ...(await everyCall(name))]) expectBrief(error)
})

test.each<[string, HiloOptions]>([
  ['headers that fail', { headers: () => Promise.reject(new Error(LONG)) }],
  ['a header beyond U+00FF', { headers: () => ({ 'X-Name': 'Ω' }) }],
  ['headers of another kind', { headers: (() => 'Bearer 1') as never }],
  ['a source that fails', { source: { key: 'own', claim: () => Promise.reject(Error(LONG)) } }],
  ['a source that grants nothing', { source: { key: 'own', claim: async () => ({}) as never } }],
])('an app with %s', async (_, options) => {
  for (const error of await everyCall(newName(), options)) expectBrief(error)
})

test('the whole reason is the cause', async () => {
  shop.answer = () => said(403, LONG)
  expect((await errorOf(shop.open().hilo.nextId('orders'))).cause).toBe(LONG)
})

test('a value of many words, and one of many lines', async () => {
  const { hilo } = shop.open()
  const long = 'a\n'.repeat(99)
  const calls: (() => Promise<unknown>)[] = [
    () => hilo.nextId('orders', { database: long }),
    () => hilo.nextId('orders', { timeout: (() => long) as never }),
    async () => hilo.status(long.repeat(9)),
    async () => hilo.take('orders', 5n as never),
    async () => consecutive(hilo, 'receipts', { series: long }),
  ]
  for (const call of calls) {
    const error = await errorOf(call())
    expectBrief(error)
    expect(error.message).not.toContain('\n')
  }
  expect((await errorOf(hilo.take('orders', 5n as never))).message).toContain('this is 5n.')
})
