/** Other forms of an id: published examples, and no two numbers with one text in any form. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type CheckDigit,
  damm,
  ean13,
  type FormOptions,
  type IdForm,
  idForm,
  keyedPermutation,
  luhn,
  type Permutation,
} from '../../src/addons/format.js'

const SOURCE = readFileSync(new URL('../../src/addons/format.ts', import.meta.url), 'utf8')
const NODE = { serverTag: 'A' }
const KEY = Uint8Array.from({ length: 16 }, (_, i) => i)

test('a form has a prefix, a fixed width and a check digit', () => {
  expect(idForm().formatId(33, NODE)).toBe('33')
  expect(idForm({ prefix: 'K7-' }).formatId(33, NODE)).toBe('K7-33')
  expect(idForm({ prefix: 'K7-', width: 6 }).formatId(33, NODE)).toBe('K7-000033')
  const [, example] = SOURCE.match(/nextId\('tickets'\) \/\/ '(.+)'/)!
  expect(idForm({ prefix: 'K7-', width: 6, checkDigit: damm }).formatId(33, NODE)).toBe(example)
})

test('check digits are those that their authors publish', () => {
  expect(idForm({ checkDigit: luhn }).formatId(7992739871, NODE)).toBe('79927398713')
  expect(idForm({ checkDigit: damm }).formatId(572, NODE)).toBe('5724')
  expect(ean13({ prefix: '400' }).formatId(638133393, NODE)).toBe('4006381333931')
})

test('the keyed permutation is FF1, by the samples of NIST SP 800-38G', () => {
  const key = Uint8Array.from(Buffer.from('2B7E151628AED2A6ABF7158809CF4F3C', 'hex'))
  expect(keyedPermutation(key)(10, '').apply(123456789)).toBe(2433477484)
  expect(keyedPermutation(key)(10, '9876543210').apply(123456789)).toBe(6124200773)
})

const checkDigits = fc.constantFrom<CheckDigit | undefined>(undefined, luhn, damm)
const permutations = fc.option(
  fc.uint8Array({ minLength: 16, maxLength: 16 }).map(keyedPermutation),
  { nil: undefined },
)
const widths = fc.integer({ min: 6, max: 15 })
const prefixes = fc.stringMatching(/^[A-Z0-9/ -]{0,6}$/)
const given = (options: { [K in keyof FormOptions]: FormOptions[K] | undefined }) =>
  idForm(Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)))

const forms: Record<string, fc.Arbitrary<[IdForm, max: number]>> = {
  'of any width': fc
    .record({ prefix: prefixes.filter((prefix) => !/\d$/.test(prefix)), checkDigit: checkDigits })
    .map((options) => [given(options), Number.MAX_SAFE_INTEGER]),
  'of a fixed width': fc
    .record({ prefix: prefixes, width: widths, checkDigit: checkDigits, permutation: permutations })
    .map((options) => [given(options), 10 ** options.width - 1]),
  'of an EAN': fc
    .record({ prefix: fc.stringMatching(/^2[0-9]{0,5}$/), permutation: permutations })
    .map(({ prefix, permutation }) => [
      ean13({ prefix, ...(permutation && { permutation }) }),
      10 ** (12 - prefix.length) - 1,
    ]),
}

describe.each(Object.entries(forms))('a form %s', (_, form) => {
  const some = form.chain(([made, max]) =>
    fc.tuple(
      fc.constant(made),
      fc.uniqueArray(
        fc.maxSafeNat().map((n) => n % (max + 1)),
        { minLength: 2 },
      ),
    ),
  )

  test('gives every number its own text, finds it again, and calls it valid', () => {
    fc.assert(
      fc.property(some, ([{ formatId, numberOf, isValid }, numbers]) => {
        const ids = numbers.map((number) => formatId(number, NODE))
        expect(new Set(ids).size).toBe(numbers.length)
        expect(ids.map(numberOf)).toEqual(numbers)
        expect(ids.every(isValid)).toBe(true)
      }),
    )
  })

  test('calls no text valid that it would not make', () => {
    fc.assert(
      fc.property(
        form,
        fc.oneof(fc.string(), fc.stringMatching(/^[A-Z]{0,2}-?\d{1,16}$/)),
        ([{ formatId, numberOf, isValid }], text) => {
          if (isValid(text)) expect(formatId(numberOf(text), NODE)).toBe(text)
          else
            expect(() => numberOf(text)).toThrow(
              expect.objectContaining({ code: 'invalid-argument' }),
            )
        },
      ),
    )
  })
})

const order = (apply: (number: number) => unknown, undo = (number: number) => number) => ({
  width: 6,
  permutation: () => ({ apply, undo }) as ReturnType<Permutation>,
})
const sum = (compute: (digits: string) => unknown) => ({ checkDigit: { compute } as CheckDigit })

test.each<[what: string, options: FormOptions]>([
  ['whose check digit has two digits', sum(() => '12')],
  ['whose check digit is empty', sum(() => '')],
  ['whose check digit has no return', sum(() => undefined)],
  ['whose check digit is a promise', sum(async () => '1')],
  ['whose check digit is two characters to JavaScript', sum(() => '😀')],
  ['whose permutation makes one number of all', order(() => 5)],
  ['whose permutation leaves the width', order((number) => number + 1e6)],
  [
    'whose permutation makes fractions',
    order(
      (n) => n / 2,
      (n) => n * 2,
    ),
  ],
  ['whose permutation makes no number', order(() => Number.NaN)],
])('a form %s makes no id: two numbers might get it', (_, options) => {
  const { formatId } = idForm(options)
  expect(() => formatId(7, NODE)).toThrow(/^No id was made or read: /)
})

test('a message shows the beginning of a long text, in one line', () => {
  const { numberOf } = idForm({ prefix: 'K7-' })
  expect(() => numberOf(`K8-\n${'0'.repeat(100_000)}`)).toThrow(/^No id.{1,200}$/)
})

test('a small keyed permutation maps its first 20,000 numbers to different ones', () => {
  const { apply } = keyedPermutation(KEY)(6, '')
  expect(new Set(Array.from({ length: 20_000 }, (_, number) => apply(number))).size).toBe(20_000)
})

test('Luhn and Damm find one wrong digit, Damm also two neighbours that changed places', () => {
  const slips = fc.tuple(fc.nat(999_999), fc.nat(5), fc.integer({ min: 1, max: 9 }))
  fc.assert(
    fc.property(fc.constantFrom(luhn, damm), slips, (checkDigit, [number, place, by]) => {
      const { formatId, isValid } = idForm({ width: 6, checkDigit })
      const digits = [...formatId(number, NODE)]
      digits[place] = String((Number(digits[place]) + by) % 10)
      expect(isValid(digits.join(''))).toBe(false)
    }),
  )
  fc.assert(
    fc.property(slips, ([number, place]) => {
      const { formatId, isValid } = idForm({ width: 6, checkDigit: damm })
      const digits = [...formatId(number, NODE)]
      fc.pre(digits[place] !== digits[place + 1])
      ;[digits[place], digits[place + 1]] = [digits[place + 1]!, digits[place]!]
      expect(isValid(digits.join(''))).toBe(false)
    }),
  )
})

test('one key orders the numbers of two prefixes differently', () => {
  const [first, second] = ['A-', 'B-'].map((prefix) =>
    idForm({ prefix, width: 8, permutation: keyedPermutation(KEY) }),
  )
  expect(first!.formatId(1, NODE).slice(2)).not.toBe(second!.formatId(1, NODE).slice(2))
})

test.each([
  ['array', Uint8Array.from(KEY)],
  ['buffer', Buffer.from(KEY)],
])('a key whose %s the app wipes makes the same ids afterwards', (_, key) => {
  const { formatId } = idForm({ width: 8, permutation: keyedPermutation(key) })
  const before = formatId(1, NODE)
  key.fill(0)
  expect(formatId(1, NODE)).toBe(before)
})

test.each<[what: string, run: () => unknown, complaint: RegExp]>([
  [
    'a number that does not fit',
    () => idForm({ width: 3 }).formatId(1000, NODE),
    /more than 3 digits/,
  ],
  [
    'a number of another node',
    () => idForm().formatId(1, { serverTag: 'B' }),
    /granted by node "B"/,
  ],
  ['a number that is not whole', () => idForm().formatId(1.5, NODE), /whole/],
  ['a number without its node', () => idForm().formatId(1, undefined as never), /node "undefined"/],
  ['a prefix that ends in a digit', () => idForm({ prefix: 'T1' }), /ends in a digit/],
  ['a width beyond safe numbers', () => idForm({ width: 16 }), /from 1 to 15/],
  [
    'a permutation without a width',
    () => idForm({ permutation: keyedPermutation(KEY) }),
    /needs a `width`/,
  ],
  [
    'a permutation of fewer than 6 digits',
    () => idForm({ width: 5, permutation: keyedPermutation(KEY) }),
    /at least 6/,
  ],
  ['a short key', () => keyedPermutation(new Uint8Array(8)), /16, 24 or 32/],
  ['an EAN with letters', () => ean13({ prefix: 'K7' }), /1 to 11 digits/],
  [
    'an id of another form',
    () => idForm({ prefix: 'K7-', width: 6 }).numberOf('K8-000033'),
    /no id of this form: "K7-", 6 digits/,
  ],
  ['what is no text', () => idForm().numberOf(undefined as never), /an id is a text/],
  ['a mistyped option', () => idForm({ prefx: 'K7-' } as never), /`options\.prefx`.*`prefix`/],
  ['a text in the place of options', () => idForm('K7-' as never), /`options`.*"K7-"/],
  ['null in the place of options', () => idForm(null as never), /`options`.*null/],
  ['a prefix that is no text', () => idForm({ prefix: {} as never }), /`prefix`.*object Object/],
  ['a node that is no text', () => idForm({ serverTag: 5 as never }), /`serverTag`.*5/],
  ['the name of a check digit', () => idForm({ checkDigit: 'luhn' as never }), /"luhn"/],
  [
    'a permutation that is none',
    () => idForm({ width: 6, permutation: {} as never }),
    /keyedPermutation/,
  ],
  ['an EAN without options', () => ean13(undefined as never), /`options`/],
  ['an EAN whose prefix is a number', () => ean13({ prefix: 20 as never }), /digits; this is 20/],
  ['a width of an EAN', () => ean13({ prefix: '20', width: 3 } as never), /`options\.width`/],
  ['a wrong check digit', () => idForm({ checkDigit: damm }).numberOf('5725'), /mistyped/],
])('refuses %s', (_, run, complaint) => {
  expect(run).toThrow(complaint)
  expect(run).toThrow(expect.objectContaining({ code: 'invalid-argument' }))
})
