/** The options of createHilo: their defaults, and an error that names each wrong one. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HiloError } from '../../src/core/errors.js'
import { checkCount, checkOptions, type HiloOptions } from '../../src/device/hilo-options.js'

const check = (options: unknown, base?: string) => checkOptions(options as HiloOptions, base)
const url = 'https://api.example.com'

const refusal = (options: unknown, base?: string): HiloError => {
  try {
    check(options, base)
  } catch (error) {
    return error as HiloError
  }
  throw new Error('nothing was refused')
}

test('without options everything has a default, and the server is the page’s origin', () => {
  expect(check({}, 'https://shop.example.com/desk/index.html?x=1#y')).toMatchObject({
    url: 'https://shop.example.com',
    database: 'default',
    collections: {},
    reserve: 32,
    name: 'offline-hilo',
    timeout: 10_000,
    identityPartsSeparator: '/',
  })
})

test('a collection without options of its own may have undefined', () => {
  expect(check({ url, collections: { orders: undefined } }).collections).toHaveProperty('orders')
})

test('an option that is undefined counts as left out', () => {
  expect(check({ url, reserve: undefined, database: undefined })).toMatchObject({
    reserve: 32,
    database: 'default',
  })
})

describe('url', () => {
  test.each([
    ['https://api.example.com/', 'https://api.example.com'],
    ['https://api.example.com/hilo///', 'https://api.example.com/hilo'],
    ['https://api.example.com/hilo?x=1#y', 'https://api.example.com/hilo'],
    ['/hilo', 'https://shop.example.com/hilo'],
    ['hilo', 'https://shop.example.com/desk/hilo'],
    ['', 'https://shop.example.com'],
    ['https://user:secret@api.example.com:8080/', 'https://api.example.com:8080'],
  ])('%j becomes %s', (given, result) => {
    expect(check({ url: given }, 'https://shop.example.com/desk/').url).toBe(result)
    expect(check({ url: given }, 'https://user:secret@shop.example.com/desk/').url).toBe(result)
  })

  test.each(['ftp://x', 'data:text/plain,x', 'javascript:alert(1)', 'http://', 'https://a b'])(
    '%j is refused',
    (bad) => {
      expect(refusal({ url: bad }).message).toContain('`url`')
    },
  )

  test.each([
    ['https://api.example.com/databases/Shop', 'https://api.example.com'],
    ['https://api.example.com/ids/databases/Shop/', 'https://api.example.com/ids'],
    ['https://api.example.com/databases', 'https://api.example.com'],
    ['/databases/Shop', 'https://shop.example.com'],
  ])('that ends in a database is refused with the right one: %s', (given, right) => {
    const { message } = refusal({ url: given }, 'https://shop.example.com/desk/')
    expect(message).toContain(`\`url\` has to be ${right} alone: \`database\` is an option; this`)
    expect(check({ url: right }).url).toBe(right)
  })

  test.each(['https://api.example.com/databases/eu/ids', 'https://api.example.com/my-databases'])(
    'may have a path with that word elsewhere: %s',
    (given) => {
      expect(check({ url: given }).url).toBe(given)
    },
  )

  test.each(['about:srcdoc', 'file:///index.html'])(
    'is missed by name in a page without an address of its own: %s',
    (page) => {
      const { message } = refusal({}, page)
      expect(message).toMatch(/`url` has to be given, .*no http\(s\) address/)
      expect(message).toContain(page)
    },
  )

  test('where there is no page, a path and no url are no address', () => {
    expect(check({ url: '/hilo' }).url).toBe('')
    expect(check({}).url).toBe('')
  })
})

describe('with a source, no url is needed or checked', () => {
  const source = { key: 'counter', claim: async () => ({}) }

  test.each([
    ['in an extension', 'chrome-extension://abcdefgh/page.html'],
    ['in Capacitor', 'capacitor://localhost/'],
    ['in a file', 'file:///home/me/index.html'],
    ['in a srcdoc frame', 'about:srcdoc'],
    ['in Node', undefined],
  ])('%s', (_, base) => {
    expect(check({ source }, base).source).toBe(source)
    expect(check({ source, url: '/ids' }, base).source).toBe(source)
    if (base) expect(refusal({}, base).message).toContain('`url`')
  })
})

describe('a wrong option is named in the error', () => {
  test.each<[string, Record<string, unknown>]>([
    ['url', { url: 7 }],
    ['database', { database: '' }],
    ['database', { database: 7 }],
    ['collections', { collections: 'orders' }],
    ['collections', { collections: null }],
    ['collections', { collections: ['orders'] }],
    ['collections', { collections: new Map([['orders', {}]]) }],
    ['collections.orders', { collections: { orders: [] } }],
    ['collections.orders', { collections: { orders: 200 } }],
    ['collections.orders', { collections: { orders: null } }],
    ['collections.orders.reserve', { collections: { orders: { reserve: -1 } } }],
    ['collections.orders.reserve', { collections: { orders: { reserve: 1.5 } } }],
    ['collections.orders.size', { collections: { orders: { size: 5 } } }],
    ['reserve', { reserve: -1 }],
    ['reserve', { reserve: 0.5 }],
    ['reserve', { reserve: '32' }],
    ['reserve', { reserve: Number.NaN }],
    ['reserve', { reserve: 10_000_001 }],
    ['reserve', { reserve: 2 ** 53 }],
    ['name', { name: '' }],
    ['headers', { headers: 'Bearer' }],
    ['device', { device: 'Till\n3' }],
    ['device', { device: '\ud800' }],
    ['device', { device: 'é'.repeat(65) }],
    ['headers', { headers: null }],
    ['headers', { headers: { 'X-Name': 'Zoë Ω' } }],
    ['headers', { headers: [['X-Name']] }],
    ['credentials', { credentials: 'always' }],
    ['database', { database: '..' }],
    ['timeout', { timeout: '5' }],
    ['timeout', { timeout: Number.POSITIVE_INFINITY }],
    ['reserve', { reserve: Object.create(null) }],
    ['timeout', { timeout: 0 }],
    ['timeout', { timeout: -5 }],
    ['timeout', { timeout: Number.NaN }],
    ['worker', { worker: './worker.js' }],
    ['source', { source: {} }],
    ['source', { source: { key: 'a' } }],
    ['source', { source: { claim() {} } }],
    ['source', { source: { key: '', claim() {} } }],
    ['identityPartsSeparator', { identityPartsSeparator: '|' }],
    ['identityPartsSeparator', { identityPartsSeparator: '' }],
    ['identityPartsSeparator', { identityPartsSeparator: '--' }],
    ['identityPartsSeparator', { identityPartsSeparator: ' ' }],
    ['identityPartsSeparator', { identityPartsSeparator: '🎈' }],
    ['identityPartsSeparator', { identityPartsSeparator: '1' }],
    ['identityPartsSeparator', { identityPartsSeparator: '٣' }],
    ['identityPartsSeparator', { identityPartsSeparator: 'x' }],
    ['identityPartsSeparator', { identityPartsSeparator: 'ä' }],
    ['identityPartsSeparator', { identityPartsSeparator: '\u0301' }],
    ['identityPartsSeparator', { identityPartsSeparator: '\n' }],
    ['identityPartsSeparator', { identityPartsSeparator: '\ud800' }],
    ['identityPartsSeparator', { identityPartsSeparator: '\u200b' }],
    ['identityPartsSeparator', { identityPartsSeparator: '\u00ad' }],
    ['identityPartsSeparator', { identityPartsSeparator: '\u2028' }],
    ['identityPartsSeparator', { identityPartsSeparator: '\u2029' }],
    ['findCollectionName', { findCollectionName: 'Orders' }],
    ['transformCollectionName', { transformCollectionName: true }],
    ['formatId', { formatId: '{prefix}{number}' }],
  ])('%s: %j', (name, options) => {
    const error = refusal({ url, ...options })
    expect(error).toBeInstanceOf(HiloError)
    expect(error.code).toBe('invalid-argument')
    expect(error.message).toContain(`${name}\``)
  })
})

describe('an unknown option', () => {
  test('is refused, with the known ones', () => {
    const { code, message } = refusal({ url, colections: {} })
    expect(code).toBe('invalid-argument')
    expect(message).toBe(
      'offline-hilo did nothing: there is no `options.colections`. Did you mean `collections`? ' +
        'See docs/reference.md#invalid-argument.',
    )
    expect(refusal({ url, server: url }).message).toMatch(
      /there is no `options\.server`\. Known: url, database, .*, formatId\. See \S+$/,
    )
  })

  test.each([[['orders']], ['orders'], [new Set(['orders'])]])(
    'of collections is missed where these are %o: they are its names',
    (collections) => {
      expect(refusal({ url, collections }).message).toContain(
        'has to be a plain object, as in { orders: {} }',
      )
    },
  )

  test.each(['toString', 'constructor', 'hasOwnProperty'])('%s is unknown too', (name) => {
    expect(refusal({ url, [name]: 1 }).message).toContain(name)
  })

  test.each([null, 'https://x', 7])('options that are %j are refused', (options) => {
    expect(refusal(options).message).toContain('`options`')
  })
})

test('any options are accepted as a whole or refused with a HiloError', () => {
  const some = fc.record(
    {
      url: fc.oneof(fc.webUrl(), fc.string()),
      reserve: fc.oneof(fc.nat(), fc.double()),
      timeout: fc.oneof(fc.nat(), fc.double()),
      collections: fc.dictionary(
        fc.string(),
        fc.record({ reserve: fc.oneof(fc.nat(), fc.double()) }),
      ),
      identityPartsSeparator: fc.string(),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(some, (options) => {
      try {
        const { reserve, url: checked } = check(options, 'https://shop.example.com')
        expect(Number.isSafeInteger(reserve) && reserve >= 0).toBe(true)
        expect(checked).toMatch(/^https?:\/\/[^?#]*[^/?#]$/)
      } catch (error) {
        expect(error).toBeInstanceOf(HiloError)
      }
    }),
  )
})

test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 10_000_001, 2 ** 53, '3', null])(
  'a count of %j is refused',
  (count) => {
    expect(() => checkCount('count', count as number)).toThrow(
      /`count` has to be a whole number from 0 to 10000000/,
    )
  },
)
