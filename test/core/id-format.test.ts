/** What an app's `formatId` may make, and when that is found. */
import { describe, expect, test, vi } from 'vitest'
import { idForm } from '../../src/addons/format.js'
import { HiloError } from '../../src/core/errors.js'
import { type FormatId, idFormat } from '../../src/core/id-format.js'
import type { IdParts } from '../../src/core/names.js'
import { checkOptions } from '../../src/device/hilo-options.js'

const ORDERS = { prefix: 'orders/', serverTag: 'A' }
const plain: FormatId = (number, { prefix }) => prefix + number

const ofNodeA: FormatId = (number, { serverTag }) => {
  if (serverTag !== 'A') throw new Error('not mine')
  return `${number}`
}

const start = (formatId: unknown, ...listed: string[]) =>
  checkOptions(
    {
      url: 'https://shop.example.com',
      collections: Object.fromEntries(listed.map((name) => [name, {}])),
      formatId: formatId as FormatId,
    },
    undefined,
  )

const refusal = (message: RegExp) =>
  expect.objectContaining({
    code: 'invalid-argument',
    message: expect.stringMatching(message),
  })

describe('at the start, a form', () => {
  test.each<[string, unknown, RegExp]>([
    ['without a `return`', () => {}, /`formatId` .* made nothing: is a `return` missing\?/],
    ['that makes an empty text', () => '', /made an empty one\./],
    ['that makes a number', (number: number) => number, /made this: number\./],
    ['that makes null', () => null, /made this: object\./],
    ['that makes a text in an object', () => new String('orders/1'), /made this: object\./],
    [
      'that is async',
      async (number: number) => `${number}`,
      /made a promise: it may not be async\./,
    ],
    ['that is async, and fails', () => Promise.reject(new Error('no')), /made a promise/],
    [
      'that makes a constant',
      () => 'orders/1',
      /number 1 of 'orders' .*made "orders\/1", as for another number/,
    ],
    [
      'that leaves the number out',
      (_: number, { prefix }: IdParts) => prefix,
      /"orders\/", as for another/,
    ],
    [
      'that leaves all but the node out',
      (_: number, { prefix, serverTag }: IdParts) => prefix + serverTag,
      /"orders\/A", as for another/,
    ],
  ])('%s is refused, with a listed collection and without one', (_, formatId, message) => {
    expect(() => start(formatId)).toThrow(refusal(message))
    expect(() => start(formatId, 'orders')).toThrow(refusal(message))
  })

  test('is tried on each collection that is listed', () => {
    const form: FormatId = (number, { collection }) =>
      collection === 'lines' ? 'a line' : `${collection} ${number}`
    expect(() => start(form, 'orders', 'lines')).toThrow(refusal(/'lines'.*another number/))
    expect(() => start(form, 'orders', 'customers')).not.toThrow()
  })

  test('gets the parts that a server would give', () => {
    const form = vi.fn(plain)
    checkOptions(
      {
        url: 'https://x',
        collections: { orders: {} },
        identityPartsSeparator: '-',
        formatId: form,
      },
      undefined,
    )
    for (const [, parts] of form.mock.calls)
      expect(parts).toEqual({ collection: 'orders', prefix: 'orders-', serverTag: 'A' })
    expect(new Set(form.mock.calls.map(([number]) => number))).toEqual(new Set([1, 2]))
  })

  test.each<[string, FormatId]>([
    ['a form of another node', idForm({ serverTag: 'B' }).formatId],
    ['a form for a source without nodes', idForm({ serverTag: '' }).formatId],
    [
      'a form that refuses low numbers',
      (number) => {
        if (number < 1000) throw new RangeError('too low')
        return `${number}`
      },
    ],
  ])('may refuse what it is tried with: %s', (_, formatId) => {
    expect(() => start(formatId)).not.toThrow()
    expect(() => start(formatId, 'orders')).not.toThrow()
  })

  test('that knows only its own collections is tried on no other', () => {
    const form = (number: number, { collection }: IdParts) => {
      switch (collection) {
        case 'bills':
          return `B${number}`
      }
    }
    expect(() => start(form)).not.toThrow()
    expect(() => start(form, 'bills')).not.toThrow()
    expect(() => start(form, 'orders')).toThrow(refusal(/'orders'.*made nothing/))
  })
})

describe('an id', () => {
  test('gets the number, and what was granted with it', () => {
    const form = vi.fn(plain)
    const idOf = idFormat(form, 'orders')
    expect(idOf(33, ORDERS)).toBe('orders/33')
    expect(form).toHaveBeenCalledWith(33, { collection: 'orders', ...ORDERS })
  })

  test.each<[number, number]>([
    [1, 2],
    [33, 32],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1],
  ])('of %i is the first: it has to be another one than that of %i', (number, neighbour) => {
    const form = vi.fn((_: number) => 'K7')
    expect(() => idFormat(form, 'orders')(number, ORDERS)).toThrow(
      refusal(/"K7", as for another number/),
    )
    expect(form.mock.calls.map(([asked]) => asked)).toEqual([number, neighbour])
    const lonely: FormatId = (asked) => {
      if (asked !== number) throw new Error('not this one')
      return 'K7'
    }
    expect(idFormat(lonely, 'orders')(number, ORDERS)).toBe('K7')
  })

  test('has to be another one than the id before', () => {
    const form = vi.fn((number: number) => `K${Math.min(number, 5)}`)
    const idOf = idFormat(form, 'orders')
    const made = [3, 4, 5].map((number) => idOf(number, ORDERS))
    expect(made).toEqual(['K3', 'K4', 'K5'])
    // Only before the first id is the form asked for a number that nobody gets.
    expect(form.mock.calls.map(([asked]) => asked)).toEqual([3, 2, 4, 5])
    for (const number of [6, 7])
      expect(() => idOf(number, ORDERS)).toThrow(refusal(/"K5", as for another number/))
  })

  test('of another node, or with another prefix, is tried like a first one', () => {
    const isBad = ({ prefix, serverTag }: IdParts) => serverTag === 'B' || prefix === 'o/'
    const form: FormatId = (number, parts) => (isBad(parts) ? 'K7' : `K${number}`)
    for (const other of [
      { ...ORDERS, serverTag: 'B' },
      { ...ORDERS, prefix: 'o/' },
    ]) {
      const idOf = idFormat(form, 'orders')
      expect(idOf(1, ORDERS)).toBe('K1')
      for (const number of [11, 12])
        expect(() => idOf(number, other)).toThrow(refusal(/another number/))
      expect(idOf(2, ORDERS)).toBe('K2')
    }
  })

  test.each<[string, FormatId, string[] | undefined, boolean]>([
    ['the number alone, of one node', (number) => `${number}`, undefined, true],
    ['the number alone', (number) => `${number}`, ['orders/…-A', 'orders/…-B'], false],
    ['the node', (number, { serverTag }) => number + serverTag, ['orders/…-A', 'orders/…-B'], true],
    ['the prefix', plain, ['orders/…', 'orders/north/…'], true],
    ['the prefix alone, of nodes with tags', plain, ['orders/…-A', 'orders/…-B'], false],
    ['one node, and refuses others', ofNodeA, ['orders/…-A', 'orders/…-B'], true],
  ])('that shows %s: once two nodes have granted, it has to show which', (_, form, nodes, is) => {
    const idOf = idFormat(form, 'orders', () => nodes)
    if (is) expect(idOf(7, ORDERS)).toContain('7')
    else expect(() => idOf(7, ORDERS)).toThrow(refusal(/for another node.*`serverTag`/))
  })

  test.each<[string, () => unknown, RegExp]>([
    ['nothing', () => {}, /^No id was made: for number 9 of 'orders' .*made nothing/],
    ['an empty text', () => '', /an empty one/],
    ['a promise', () => Promise.reject(new Error('late')), /a promise/],
  ])('that turns out as %s is refused', (_, made, message) => {
    const form = (number: number) => (number === 9 ? made() : `${number}`)
    const idOf = idFormat(form as FormatId, 'orders')
    expect(idOf(8, ORDERS)).toBe('8')
    expect(() => idOf(9, ORDERS)).toThrow(refusal(message))
    expect(idOf(10, ORDERS)).toBe('10')
  })

  test('whose form throws is refused with the cause; the form’s own refusal stays as it is', () => {
    const cause = new RangeError('no more letters')
    const failing = idFormat(() => {
      throw cause
    }, 'orders')
    expect(() => failing(1, ORDERS)).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message: expect.stringMatching(/number 1 of 'orders'.*no more letters\. See \S+$/),
        cause,
      }),
    )
    const narrow = idFormat(idForm({ width: 1 }).formatId, 'orders')
    expect(narrow(9, ORDERS)).toBe('9')
    expect(() => narrow(10, ORDERS)).toThrow(HiloError)
    expect(() => narrow(10, ORDERS)).toThrow('more than 1 digits')
  })
})
