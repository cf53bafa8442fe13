/** UUIDs from random bytes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { uuid } from '../../src/core/uuid.js'

test('any 16 random bytes make a version 4 UUID', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      expect(uuid(bytes)).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      )
    }),
  )
})

test('all random bits but those of version and variant are kept, and the input too', () => {
  const bytes = Uint8Array.from({ length: 16 }, (_, i) => i * 16 + i)
  expect(uuid(bytes)).toBe('00112233-4455-4677-8899-aabbccddeeff')
  expect(bytes[6]).toBe(0x66)
})
