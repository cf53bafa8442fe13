/** Names that JavaScript objects have of their own are names like others, or are refused. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openLedger } from '../src/index.js'
import { readConfig } from '../src/settings.js'
import { newFolder } from './folders.js'
import { json, newHandler } from './handlers.js'
import { grantOf, newId } from './ledger-bench.js'

const NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']

test.each(NAMES)('%s names a collection and a database on the wire', async (name) => {
  const { ask } = await newHandler()
  const lows: number[] = []
  for (let i = 0; i < 2; i++) {
    const collections = [{ tag: name, count: 5 }]
    const { body } = await ask(
      `/databases/${name}/hilo/next`,
      json({ claim: newId(), collections }),
    )
    lows.push(body.collections[0].Low)
  }
  expect(lows).toEqual([1, 6])
  expect(
    (await ask(`/databases/${name}/identity/next?name=${name}`, { method: 'POST' })).status,
  ).toBe(200)
})

describe('a counter of', () => {
  let hi = 1_000
  const hook = { nextHi: async () => hi++, isFree: false, blockSize: 10 }
  const open = (counters: unknown) =>
    openLedger({ create: true, dataDir: newFolder(), counters: counters as never })
  const under = (database: string, collection: string) =>
    Object.defineProperty({}, database, {
      enumerable: true,
      value: Object.defineProperty({}, collection, { enumerable: true, value: hook }),
    })

  test.each(NAMES.slice(1))('%s is asked', async (name) => {
    const ledger = await open(under(name, name))
    onTestFinished(() => ledger.close())
    const wish = { database: name, collection: name, count: 5, lastMax: 0, serverTag: 'A', at: 0 }
    const [claimed] = await ledger.claim([{ ...wish, id: newId() }])
    expect(grantOf(claimed!).low).toBeGreaterThanOrEqual(10_000)
  })

  // The server would count by itself, beside the counter.
  test.each([
    ['a database', under('__proto__', 'orders'), 'counters: has the name __proto__'],
    ['a collection', under('Shop', '__proto__'), 'counters.Shop: has the name __proto__'],
    ['an object literal', { __proto__: { orders: hook } }, 'counters: has the name orders'],
    ['a literal within', { Shop: { __proto__: { orders: hook } } }, 'counters.Shop: has the name'],
  ])('__proto__ is refused, and not left out: %s', async (_, counters, message) => {
    await expect(open(counters)).rejects.toThrow(message)
  })

  test('__proto__ is no setting, either', () => {
    const config = join(newFolder(), 'hilo.json')
    writeFileSync(config, '{"__proto__": {"open": true}}')
    expect(() => readConfig({ config })).toThrow('Unrecognized key: "__proto__"')
  })

  test('__proto__ in a file is refused, too', async () => {
    const collections = JSON.parse('{"Shop": {"__proto__": {"upstream": {"url": "http://r"}}}}')
    await expect(openLedger({ dataDir: newFolder(), collections })).rejects.toThrow(
      'collections.Shop: has the name __proto__',
    )
  })
})
