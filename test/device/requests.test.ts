/** The addresses of the wire: every value arrives as it is. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Target } from '../../src/device/contract.js'
import { checkInUrl, nextUrl, returnRequest } from '../../src/device/requests.js'
import { range } from '../support/ranges.js'

const target: Target = { database: 'Shop', collection: 'orders', separator: '/', reserve: 32 }
const marked = { tag: 'oRDers', count: 64 }

test('a claim sends no time, so that a RavenDB grants exactly that many', () => {
  const url = new URL(nextUrl('https://api.example.com/hilo', target, marked, 96, 'c1'))
  expect(url.pathname).toBe('/hilo/databases/Shop/hilo/next')
  expect(Object.fromEntries(url.searchParams)).toEqual({
    tag: 'oRDers',
    lastBatchSize: '64',
    identityPartsSeparator: '/',
    lastMax: '96',
    claim: 'c1',
  })
})

test('a return names the end of the range and the number before its first', () => {
  const request = returnRequest('https://x', target, range(17, 32))
  expect(request).toMatchObject({ method: 'PUT', url: expect.any(String) })
  expect(request.body).toBeUndefined()
  const url = new URL(request.url)
  expect(url.pathname).toBe('/databases/Shop/hilo/return')
  expect(Object.fromEntries(url.searchParams)).toEqual({ tag: 'orders', end: '32', last: '16' })
})

test('a return of a grant shows its token in the body, which no proxy logs', () => {
  expect(returnRequest('https://x', target, range(17, 32, { token: 'a+/=' }))).toEqual({
    method: 'POST',
    url: 'https://x/databases/Shop/hilo/return',
    body: { tag: 'orders', end: 32, last: 16, token: 'a+/=' },
  })
})

test('hostile names reach the server as they are, and nothing else of the address changes', () => {
  const name = fc
    .string({ unit: 'grapheme', minLength: 1 })
    .filter((text) => text !== '.' && text !== '..')
  fc.assert(
    fc.property(name, name, name, (database, collection, separator) => {
      const hostile = { ...target, database, collection, separator }
      for (const [address, action] of [
        [nextUrl('https://x/base', hostile, { tag: collection, count: 32 }, 0), 'next'],
        [returnRequest('https://x/base', hostile, range(1, 2)).url, 'return'],
      ] as const) {
        const url = new URL(address)
        expect(url.host).toBe('x')
        expect(url.hash).toBe('')
        expect(url.pathname.split('/').map(decodeURIComponent)).toEqual([
          '',
          'base',
          'databases',
          database,
          'hilo',
          action,
        ])
        expect(url.searchParams.getAll('tag')).toEqual([collection])
      }
      expect(
        decodeURIComponent(new URL(checkInUrl('https://x', database)).pathname.split('/')[2]!),
      ).toBe(database)
    }),
  )
})
