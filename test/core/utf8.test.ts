/** How many bytes a text has, without an encoder. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utf8Length } from '../../src/core/utf8.js'

test('as many as an encoder makes of the text', () => {
  const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }))
  fc.assert(
    fc.property(texts, (text) => {
      expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length)
    }),
  )
  expect(utf8Length('100 %, größer, 漢字, 🧾')).toBe(29)
})
