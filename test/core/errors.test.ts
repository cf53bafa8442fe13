/**
 * Errors that cross from the worker: nothing of them is lost, and what may succeed later is told
 * from what will not.
 */
import { describe, expect, test } from 'vitest'
import { fromFailure, HiloError, type HiloErrorCode, toFailure } from '../../src/core/errors.js'

const cross = (error: HiloError): HiloError =>
  fromFailure(structuredClone(toFailure(error, 'storage-failed')))

describe('an error that crosses from the worker to the page', () => {
  test('keeps that what answered was no HiLo server', () => {
    const error = new HiloError('invalid-response', 'A sign-in page.', { noAnswer: true })
    expect(cross(error).noAnswer).toBe(true)
  })

  test('keeps code, message, status and retryAfter', () => {
    const error = cross(
      new HiloError('server-refused', 'It said no.', { status: 429, retryAfter: 3000 }),
    )
    expect(error).toBeInstanceOf(HiloError)
    expect(error).toMatchObject({
      name: 'HiloError',
      code: 'server-refused',
      message: 'It said no. See docs/reference.md#server-refused.',
      status: 429,
      retryAfter: 3000,
    })
  })

  test('keeps its causes, each with its code', () => {
    const root = new HiloError('server-unreachable', 'No network.', {
      cause: new TypeError('fetch failed'),
    })
    const error = cross(new HiloError('exhausted', 'No id is left.', { cause: root }))
    expect(error.cause).toBeInstanceOf(HiloError)
    expect(error.cause).toMatchObject({
      code: 'server-unreachable',
      message: 'No network. See docs/reference.md#server-unreachable.',
      cause: 'TypeError: fetch failed',
    })
  })

  test('has no cause, status or retryAfter that it did not have', () => {
    const failure = toFailure(new HiloError('closed', 'Closed.'), 'storage-failed')
    expect(failure).toEqual({
      code: 'closed',
      message: 'Closed. See docs/reference.md#closed.',
    })
    expect('cause' in fromFailure(failure)).toBe(false)
  })

  test('is cloned without loss of anything', () => {
    const failure = toFailure(
      new HiloError('timeout', 'Late.', { cause: Symbol('why') }),
      'storage-failed',
    )
    expect(structuredClone(failure)).toEqual(failure)
  })
})

test.each([
  [new RangeError('odd'), 'odd'],
  ['a text', 'a text'],
  [undefined, 'undefined'],
  [null, 'null'],
  [7, '7'],
])('anything else that was thrown becomes the fallback: %s', (thrown, message) => {
  expect(toFailure(thrown, 'storage-failed')).toEqual({ code: 'storage-failed', message })
})

describe('no id is there now', () => {
  test.each<[code: HiloErrorCode, isOut: boolean]>([
    ['exhausted', true],
    ['no-hilo-server', true],
    ['server-unreachable', false],
    ['not-leased', false],
    ['invalid-argument', false],
  ])('with %s: %s', (code, isOut) => {
    const error = new HiloError(code, 'For developers.')
    expect(HiloError.isOutOfIds(error)).toBe(isOut)
    expect(HiloError.isOutOfIds(cross(error))).toBe(isOut)
    const { name } = error
    expect(HiloError.isOutOfIds(structuredClone({ name, code }))).toBe(isOut)
    expect(HiloError.forUser(error).includes('number is left')).toBe(isOut)
    expect(HiloError.forUser(error)).not.toContain('developers')
  })

  test('a user hears that the network is needed where the server did not answer', () => {
    const said = HiloError.forUser(cross(new HiloError('server-unreachable', 'For developers.')))
    expect(said).toBe('That did not work. Connect to the internet, then try again.')
  })

  test.each([undefined, null, 'exhausted', { code: 'exhausted' }, new Error('exhausted')])(
    'but not with %j',
    (error) => {
      expect(HiloError.isOutOfIds(error)).toBe(false)
      expect(HiloError.forUser(error)).toContain('try again')
    },
  )
})
