/** UUIDs from random bytes and a time. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { uuid } from '../../src/core/uuid.js'

test('16 random bytes and a time make a version 7 UUID, whatever the clock says', () => {
  const date = fc.integer({ min: -8.64e15, max: 8.64e15 })
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), date, (bytes, time) => {
      expect(uuid(bytes, time)).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      )
    }),
  )
})

test.each([1_772_352_032_256.4, -0.5, Number.NaN, Number.POSITIVE_INFINITY])(
  'a clock that an app has replaced, and that says %d, makes one too',
  (time) => {
    expect(uuid(new Uint8Array(16), time)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7000-8000-0{12}$/)
  },
)

test('all random bits but those of time, version and variant are kept, and the input too', () => {
  const bytes = Uint8Array.from({ length: 16 }, (_, i) => i * 16 + i)
  expect(uuid(bytes, 0)).toBe('00000000-0000-7677-8899-aabbccddeeff')
  expect(bytes[6]).toBe(0x66)
})

test('the example of RFC 9562', () => {
  const random = Uint8Array.from([
    0, 0, 0, 0, 0, 0, 0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f,
  ])
  expect(uuid(random, 0x017f22e279b0)).toBe('017f22e2-79b0-7cc3-98c4-dc0c0c07398f')
})

test('ids of later milliseconds come after those of earlier ones', () => {
  const time = Date.UTC(2026, 10, 22)
  const [first, last] = [new Uint8Array(16), new Uint8Array(16).fill(255)]
  expect(uuid(first, time + 1) > uuid(last, time)).toBe(true)
})
