/** A source of the app's own, which may answer anything: what is no grant never becomes an id. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { HiloError } from '../../src/core/errors.js'
import type { HiloSource } from '../../src/device/contract.js'
import { newShop, type Shop } from '../support/shop.js'

let shop: Shop
beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

const refusal = (work: Promise<unknown>): Promise<unknown> => work.catch((error) => error)
const range = { from: 1, to: 32, prefix: 'orders/', serverTag: '' }

describe.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['no grant', {}],
  ['a grant that is null', { grant: null }],
  ['no range', { grant: {} }],
  ['a failure that is a text', { failure: 'no network' }],
  ['a failure without a code', { failure: new Error('no network') }],
  ['a failure without a message', { failure: { code: 'server-unreachable' } }],
  ['a range of text', { grant: { range: { ...range, from: '1', to: '32' } } }],
  ['a range of fractions', { grant: { range: { ...range, from: 1.5, to: 32.5 } } }],
  ['a range below 0', { grant: { range: { ...range, from: -1 } } }],
  ['a range that ends before it begins', { grant: { range: { ...range, from: 33 } } }],
  ['a range above 2^53−1', { grant: { range: { ...range, to: 2 ** 53 } } }],
  ['a range without a prefix', { grant: { range: { from: 1, to: 32 } } }],
  ['ids of another collection', { grant: { range: { ...range, prefix: 'customers/' } } }],
  [
    'a token, which its numbers could come again under',
    { grant: { range: { ...range, token: 't' } } },
  ],
  ['a ledger whose name is no text', { grant: { range, ledger: 7 } }],
  ['a mark that is no mark', { grant: { range, isPlain: 1 } }],
])('a source that answers with %s', (_, answer) => {
  test('is refused, and makes no id', async () => {
    const claim = vi.fn(async () => answer as never)
    const { hilo } = shop.open({ source: { key: 'own', claim } })
    const refused = { code: 'invalid-response', message: expect.stringMatching(/^The `source` /) }
    expect(await refusal(hilo.nextId('orders'))).toMatchObject(refused)
    expect(await refusal(hilo.reserve('orders', 100))).toMatchObject({ code: 'invalid-response' })
    expect(claim).toHaveBeenCalledTimes(2)
  })
})

test('a source may change what it is asked with', async () => {
  const claim: HiloSource['claim'] = async (target, { lastMax }) => {
    const prefix = target.collection + target.separator
    Object.assign(target, { collection: 'customers', database: 'other' })
    return { grant: { range: { from: lastMax + 1, to: lastMax + 32, prefix, serverTag: '' } } }
  }
  const { hilo } = shop.open({ source: { key: 'own', claim } })
  expect(await hilo.nextId('orders')).toBe('orders/1')
  expect(await hilo.nextIds('orders', 40)).toHaveLength(40)
})

describe('a source that fails', () => {
  const boom = () => {
    throw new Error('the token has expired')
  }
  test.each<[string, () => never | Promise<never>]>([
    ['throws', boom],
    ['rejects', async () => boom()],
  ])('because it %s is asked again later, and is quoted', async (_, fail) => {
    const claim = vi.fn<HiloSource['claim']>(fail)
    const { hilo } = shop.open({ source: { key: 'own', claim } })
    expect(await refusal(hilo.nextId('orders'))).toMatchObject({
      code: 'exhausted',
      message: expect.stringContaining('the token has expired'),
      cause: { code: 'server-unreachable' },
    })
    claim.mockImplementation(async () => ({ grant: { range } }))
    hilo.goOnline()
    expect(await hilo.nextId('orders')).toBe('orders/1')
  })

  test('because it never answers is not waited for, by no reserve and no release', async () => {
    const claim = vi.fn(() => new Promise<never>(() => {}))
    const { hilo } = shop.open({ timeout: 30, source: { key: 'own', claim } })
    expect(await refusal(hilo.reserve('orders', 100))).toMatchObject({
      code: 'server-unreachable',
      message: expect.stringMatching(/^The `source` did not answer within 30 ms\./),
    })
    await hilo.release()
  })

  test('with a HiloError keeps its code', async () => {
    const refused = new HiloError('server-refused', 'This shop is closed.', { status: 403 })
    for (const claim of [
      async () => ({
        failure: { code: 'server-refused' as const, message: 'This shop is closed.' },
      }),
      async () => Promise.reject(refused),
    ]) {
      const { hilo } = shop.open({ source: { key: 'own', claim } })
      expect(await refusal(hilo.nextId('orders'))).toMatchObject({
        code: 'server-refused',
        message: expect.stringMatching(/^This shop is closed\. See \S+$/),
      })
    }
  })
})
