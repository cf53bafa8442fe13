/** What a failure means for the next request. */
import { describe, expect, test } from 'vitest'
import type { HiloErrorCode } from '../../src/core/errors.js'
import { isNoAnswer, isRepeated, nextStep } from '../../src/core/failures.js'

const refused = (status: number) => ({ code: 'server-refused' as const, message: '', status })
const failure = (code: HiloErrorCode) => ({ code, message: '' })

describe('after a refusal', () => {
  test.each([408, 425, 429, 500, 502, 503, 504])('with %i the same is asked later', (status) => {
    expect(nextStep(refused(status))).toBe('same')
    expect(isRepeated(refused(status))).toBe(true)
  })

  test.each([400, 402, 403, 409, 413, 422, 451])('with %i the claim is forgotten', (status) => {
    expect(nextStep(refused(status))).toBe('forget')
    expect(isRepeated(refused(status))).toBe(false)
  })

  test('that says so, a smaller claim is made', () => {
    expect(nextStep({ ...refused(422), isTooMany: true })).toBe('smaller')
    expect(isRepeated({ ...refused(422), isTooMany: true })).toBe(false)
  })

  test.each([401, 404, 405])('with %i nothing helps before somebody acts', (status) => {
    expect(nextStep(refused(status))).toBe('stop')
    expect(isRepeated(refused(status))).toBe(false)
  })

  test('of a claim that was used up already, a new one is made', () => {
    expect(nextStep(refused(410))).toBe('fresh')
    expect(isRepeated(refused(410))).toBe(true)
  })

  test('by a source of the app, without a status, nothing is sent by itself', () => {
    expect(nextStep(failure('server-refused'))).toBe('stop')
  })
})

describe('without a HiLo answer', () => {
  test.each([
    ['no answer at all', failure('server-unreachable')],
    ['a page of HTML', { ...failure('no-hilo-server'), noAnswer: true as const }],
  ])('(%s) the same is asked later, and the device counts as offline', (_, nothing) => {
    expect(nextStep(nothing)).toBe('same')
    expect(isRepeated(nothing)).toBe(true)
    expect(isNoAnswer(nothing)).toBe(true)
  })

  test('a refusal is an answer', () => {
    expect(isNoAnswer(refused(500))).toBe(false)
    expect(isNoAnswer({ ...failure('invalid-response'), status: 200 })).toBe(false)
  })
})

test('a counter that contradicts itself is asked anew by whoever asks, with a new claim', () => {
  expect(nextStep(failure('invalid-response'))).toBe('forget')
  expect(isRepeated(failure('invalid-response'))).toBe(false)
})

test('numbers that JavaScript cannot count: a smaller claim may end below', () => {
  expect(nextStep(failure('unsafe-range'))).toBe('smaller')
})

test.each(['storage-failed', 'outdated', 'closed', 'invalid-argument'] as const)(
  'what is no answer of a server (%s) is repeated by nobody',
  (code) => {
    expect(nextStep(failure(code))).toBe('stop')
  },
)
