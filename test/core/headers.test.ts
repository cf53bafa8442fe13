/** The headers that an app gives, as they go to a worker. */
import { expect, test } from 'vitest'
import { plainHeaders } from '../../src/core/headers.js'

test.each<[string, HeadersInit]>([
  [
    'pairs',
    [
      ['Accept', 'text/a'],
      ['accept', 'text/b'],
    ],
  ],
  ['an object', { Accept: 'text/a, text/b' }],
  ['a Headers', new Headers({ Accept: 'text/a, text/b' })],
])('%s become what fetch makes of them', (_, headers) => {
  expect(plainHeaders(headers)).toEqual({ accept: 'text/a, text/b' })
})

test('what fetch refuses is refused', () => {
  expect(() => plainHeaders({ 'X-Name': 'Ω' })).toThrow(
    expect.objectContaining({
      code: 'invalid-argument',
      message: expect.stringMatching(/`headers`.*encodeURIComponent/),
    }),
  )
})

test.each([
  ['a token that is not there yet', { Authorization: undefined }, 'Authorization is undefined'],
  ['a promise', Promise.resolve({ Accept: 'text/a' }), '(a promise)'],
])('%s is refused: fetch would send something else', (_, headers, why) => {
  expect(() => plainHeaders(headers as unknown as HeadersInit)).toThrow(why)
})

test('a text is no header: the message shows what is', () => {
  const text = 'Bearer 1' as unknown as HeadersInit
  expect(() => plainHeaders(text)).toThrow('Pass { name: value }.')
})
