/** Which names a collection may have, and how a class or an entity names one. */
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { findCollectionName } from '../../src/addons/raven.js'
import { HiloError } from '../../src/core/errors.js'
import { checkTag, classOf, collectionOf, idSuffix, sourceNameOf } from '../../src/core/names.js'

class Order {}
const orders = () => 'orders'

const refusal = (act: () => unknown): HiloError => {
  try {
    act()
  } catch (error) {
    return error as HiloError
  }
  throw new Error('nothing was refused')
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

const throwing = (property: string): object =>
  Object.defineProperty({}, property, {
    get() {
      throw new Error('not today')
    },
  })

const throwingName = () =>
  class Order {
    static get name(): string {
      throw new Error('not today')
    }
  }

describe('checkTag', () => {
  test.each([
    'orders',
    'Orders',
    'order lines',
    'Aufträge',
    '注文',
    '🧾',
    'a/b',
    '..',
    '?&=#%',
    '__proto__',
  ])('accepts %j', (tag) => {
    expect(checkTag(tag, '/')).toBe(tag)
  })

  test.each([
    ['', 'non-empty'],
    [undefined, 'non-empty string'],
    [' ', 'non-empty string'],
    [null, 'non-empty string'],
    [7, 'non-empty string'],
    [{}, 'non-empty string'],
    ['a|b', "may not contain '|'"],
    ['orders|', "may not contain '|'"],
    ['orders/', "end in the separator '/'"],
    ['\ud800', 'well-formed Unicode'],
    ['\ufffd', 'well-formed Unicode'],
    ['a\nb', 'without control characters'],
    ['a\0b', 'without control characters'],
    ['\x7f', 'without control characters'],
    ['cafe\u0301', "`name.normalize('NFC')`"],
    ['orders ', 'blank'],
    ['\u00a0orders', 'blank'],
    ['order\u00a0lines', 'blank'],
    ['order\u2028lines', 'blank'],
    ['or\u200bders', 'U+200B'],
    ['orders\u200d', 'U+200D'],
    ['\ufefforders', 'U+FEFF'],
    ['or\u00adders', 'U+00AD'],
    ['orders\ufe0f', 'U+FE0F'],
    ['or\u034fders', 'U+034F'],
    ['orders\u3164', 'U+3164'],
    ['\u202eorders', 'U+202E'],
    ['or\u{e0041}ders', 'U+E0041'],
    ['x'.repeat(502), 'at most 501 bytes'],
    ['ä'.repeat(251), 'at most 501 bytes'],
    ['🧾'.repeat(126), 'at most 501 bytes'],
  ])('refuses %j and says why', (tag, why) => {
    const error = refusal(() => checkTag(tag, '/'))
    expect(error).toBeInstanceOf(HiloError)
    expect(error.code).toBe('invalid-collection')
    expect(error.message).toContain(why)
    expect(error.message.length).toBeLessThan(300)
  })

  test('counts bytes of UTF-8, and accepts exactly 501', () => {
    for (const tag of ['x'.repeat(501), `${'ä'.repeat(250)}x`, `${'🧾'.repeat(125)}x`])
      expect(checkTag(tag, '/')).toBe(tag)
  })

  test('refuses a separator of two characters at the end, and accepts a part of it', () => {
    expect(refusal(() => checkTag('orders::', '::')).message).toContain("separator '::'")
    expect(checkTag('orders:', '::')).toBe('orders:')
  })

  test('either returns a tag that fits into a URL or throws a HiloError, for any value', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.string({ unit: 'binary' })), (value) => {
        try {
          expect(encodeURIComponent(checkTag(value, '/'))).not.toBe('')
        } catch (error) {
          expect(error).toBeInstanceOf(HiloError)
        }
      }),
    )
  })
})

describe('the name of a class', () => {
  const conventions = {
    findCollectionName: sourceNameOf,
    transformCollectionName: (name: string) => name.toLowerCase(),
    identityPartsSeparator: '/',
  }

  test('is its static collection, as it stands there, also by a class derived from it', () => {
    class t {
      static collection = 'Orders'
    }
    class e extends t {}
    expect(collectionOf(t, conventions)).toBe('Orders')
    expect(collectionOf(new e(), conventions)).toBe('Orders')
  })

  test('is refused where a minifier seems to have made it', () => {
    class ms {}
    for (const ref of [ms, new ms()]) {
      const error = refusal(() => collectionOf(ref, conventions))
      expect(error.code).toBe('invalid-collection')
      expect(error.message).toContain('the class ms')
      expect(error.message).toContain("static collection = 'orders'")
    }
    expect(refusal(() => findCollectionName(ms)).code).toBe('invalid-collection')
  })

  test('may be anything where the app names collections itself', () => {
    class t {}
    const names = new Map<unknown, string>([[t, 'orders']])
    const findCollectionName = (entityClass: unknown) => names.get(entityClass)!
    expect(collectionOf(t, { ...conventions, findCollectionName })).toBe('orders')
  })
})

describe('classOf', () => {
  test('takes a class, or the class of an entity', () => {
    expect(classOf(Order)).toBe(Order)
    expect(classOf(new Order())).toBe(Order)
    class Special extends Order {}
    expect(classOf(new Special())).toBe(Special)
    class Basket extends Array {}
    expect(classOf(new Basket())).toBe(Basket)
    function Invoice() {}
    expect(classOf(Invoice)).toBe(Invoice)
  })

  test.each<[string, unknown]>([
    ['Array', ['orders']],
    ['Map', new Map()],
    ['Set', new Set()],
    ['Date', new Date()],
    ['RegExp', /orders/],
    ['Error', new Error('orders')],
    ['Uint8Array', new Uint8Array(1)],
    ['Promise', Promise],
    ['Number', new Number(7)],
    ['Date', runInNewContext('new Date()')],
    // Node writes these in JavaScript, so that their source text is not native code.
    ['URL', new URL('https://shop.example.com/orders')],
    ['URL', URL],
    ['Blob', new Blob(['orders'])],
    ['Blob', Blob],
    ['Buffer', Buffer.from('orders')],
    ['Buffer', Buffer],
  ])('refuses the built-in %s by name: %o', (name, ref) => {
    const error = refusal(() => classOf(ref as object))
    expect(error.code).toBe('invalid-collection')
    expect(error.message).toContain(`the built-in ${name}`)
  })

  test.each<[string, object]>([
    ['a promise', Promise.resolve('orders')],
    ['a promise of a library', new (class Later extends Promise<string> {})(() => {})],
  ])('refuses %s, and asks whether an await is missing', (_, ref) => {
    const error = refusal(() => classOf(ref))
    expect(error.code).toBe('invalid-collection')
    expect(error.message).toContain('a promise (is an `await` missing?)')
  })

  test('takes a class behind a proxy, which looks like native code', () => {
    const proxied = new Proxy(Order, {})
    expect(classOf(proxied)).toBe(proxied)
  })

  test('takes a class that a script has put into the global scope', () => {
    vi.stubGlobal('Order', Order)
    onTestFinished(() => void vi.unstubAllGlobals())
    expect(classOf(new Order())).toBe(Order)
  })

  test.each<[string, object]>([
    ['a revoked proxy of an entity', revoked(new Order())],
    ['a revoked proxy of a class', revoked(Order)],
    ['an object whose `then` throws', throwing('then')],
    ['an object whose `constructor` throws', throwing('constructor')],
    ['an entity of a class whose `name` throws', new (throwingName())()],
  ])('refuses %s, and says that it is unreadable', (_, ref) => {
    const error = refusal(() => classOf(ref))
    expect(error).toBeInstanceOf(HiloError)
    expect(error.code).toBe('invalid-collection')
    expect(error.message).toContain('unreadable')
  })

  test.each<[string, unknown]>([
    ['a generator function', function* orders() {}],
    ['an async function', async function orders() {}],
    ['an async generator function', async function* orders() {}],
    ['what a generator function returns', (function* orders() {})()],
    ['an anonymous class', class {}],
    ['an entity of an anonymous class', new (class {})()],
    ['a plain object', { id: 1 }],
    ['an object without a prototype', Object.create(null)],
    ['null', null],
    ['undefined', undefined],
    ['a number', 7],
    ['a boolean', true],
    ['a symbol', Symbol('orders')],
    ['an arrow function', () => 'orders'],
    ['an arrow function with a name', orders],
    ['a bound function', Order.bind(null)],
  ])('refuses %s', (_, ref) => {
    expect(refusal(() => classOf(ref as object)).code).toBe('invalid-collection')
  })
})

test('an id ends in a dash and the node that granted it, or in nothing without a node', () => {
  expect(idSuffix({ serverTag: 'A' })).toBe('-A')
  expect(idSuffix({ serverTag: '' })).toBe('')
})
