/**
 * `offline-hilo/format`: other forms of an id than `orders/33-A`, each with its inverse and its validator.
 * Guarantees that two numbers never get the same text: a number that its form cannot hold is
 * refused instead.
 */
import { FF1 } from '@noble/ciphers/ff1.js'
import { damm as cdigitDamm, gtin as cdigitGtin, luhn as cdigitLuhn } from 'cdigit'
import { HiloError } from './core/errors.js'
import type { IdParts } from './core/names.js'

export interface FormOptions {
  /**
   * Stands before the digits: a till, a store. One that ends in a digit needs a `width`. Default
   * none.
   */
  prefix?: string
  /** Digits of the number, 1 to 15, filled up with zeros. Default: as many as the number has. */
  width?: number
  /** Ends the id, and covers all digits before it, those of the prefix included. Default none. */
  checkDigit?: CheckDigit
  /** Puts the numbers of this `width` into another order. Default: as they are. */
  permutation?: Permutation
  /**
   * The node whose numbers this form is for, `''` for a source without any. Default `'A'`, as
   * servers have it. Two nodes may grant the same number, and the text does not say which did.
   */
  serverTag?: string
}

export interface IdForm {
  /**
   * To be passed to `createHilo`.
   * @throws HiloError `invalid-argument` when the number has more digits than `width`, or another
   * node granted it: the number is a gap then
   */
  formatId(number: number, parts: Pick<IdParts, 'serverTag'>): string
  /**
   * The number that {@link formatId} made this id of.
   * @throws HiloError `invalid-argument` when it made none: mistyped, or of another form
   */
  numberOf(id: string): number
  /** Does {@link formatId} make this id? */
  isValid(id: string): boolean
}

/** One digit for a string of them. */
export interface CheckDigit {
  compute(digits: string): string
}

/**
 * A one-to-one map of the numbers of `width` digits onto themselves, another one for each `tweak`.
 */
export type Permutation = (
  width: number,
  tweak: string,
) => { apply(number: number): number; undo(number: number): number }

/**
 * Finds every single wrong digit, and most neighbours that changed places: what bank cards have
 * (ISO/IEC 7812-1).
 */
export const luhn: CheckDigit = cdigitLuhn

/**
 * Finds every single wrong digit and every two neighbours that changed places (H. M. Damm, 2004).
 */
export const damm: CheckDigit = cdigitDamm

const MAX_WIDTH = 15
/**
 * NIST SP 800-38G Rev. 1 asks for at least a million texts: with fewer, a key can be found out from
 * pairs.
 */
const MIN_PERMUTED_WIDTH = 6
const EAN13_DIGITS = 12

/**
 * @example
 * const tickets = idForm({ prefix: 'K7-', width: 6, checkDigit: damm })
 * const hilo = createHilo({ formatId: tickets.formatId })
 * await hilo.nextId('tickets') // 'K7-0000338'
 * tickets.numberOf('K7-0000338') // 33
 *
 * @throws HiloError `invalid-argument` when an option is wrong
 */
export function idForm({
  prefix = '',
  width,
  checkDigit,
  permutation,
  serverTag = 'A',
}: FormOptions = {}): IdForm {
  if (width !== undefined && !(Number.isInteger(width) && width >= 1 && width <= MAX_WIDTH))
    throw invalid(`\`width\` is a whole number from 1 to ${MAX_WIDTH}; this is ${width}.`)
  if (width === undefined && /\d$/.test(prefix))
    throw invalid(
      `the prefix "${prefix}" ends in a digit: "${prefix}1" with number 2 would be "${prefix}" with number 12. Give a \`width\`.`,
    )
  if (width === undefined && permutation)
    throw invalid('a `permutation` needs a `width`: it works on a fixed set of numbers.')
  const order = width === undefined ? undefined : permutation?.(width, prefix)

  function textOf(number: number): string {
    if (!Number.isSafeInteger(number) || number < 0)
      throw invalid(`a number is whole and from 0 to 2^53−1; this is ${number}.`)
    if (width !== undefined && number >= 10 ** width)
      throw invalid(
        `the number ${number} has more than ${width} digits. Go on in a form with a larger \`width\`; numbers stay unique.`,
      )
    const digits = prefix + String(order ? order.apply(number) : number).padStart(width ?? 0, '0')
    return digits + (checkDigit ? checkDigit.compute(digits.replace(/[^0-9]/g, '')) : '')
  }

  function numberOf(id: string): number {
    const end = id.length - (checkDigit ? 1 : 0)
    const digits = id.startsWith(prefix) ? id.slice(prefix.length, end) : ''
    if (!/^[0-9]{1,16}$/.test(digits) || (width !== undefined && digits.length !== width))
      throw invalid(`"${id}" is no id of this form: ${describe(prefix, width, checkDigit)}.`)
    const number = order ? order.undo(Number(digits)) : Number(digits)
    if (textOf(number) !== id)
      throw invalid(`"${id}" was mistyped: its check digit or a leading zero is wrong.`)
    return number
  }

  return {
    formatId(number, parts) {
      if (parts.serverTag !== serverTag)
        throw invalid(
          `the number ${number} was granted by node "${parts.serverTag}", and this form is for "${serverTag}". ` +
            "Two nodes may grant the same number: pass `serverTag`, or give each node's ids a form of their own.",
        )
      return textOf(number)
    },
    numberOf,
    isValid(id) {
      try {
        numberOf(id)
        return true
      } catch {
        return false
      }
    },
  }
}

/**
 * Ids that any scanner reads: 13 digits with the check digit of an EAN (GS1 General Specifications,
 * GTIN-13).
 * @param prefix 1 to 11 digits that begin each; `'20'` to `'29'` are for use inside a company
 */
export function ean13({
  prefix,
  ...options
}: Omit<FormOptions, 'prefix' | 'width' | 'checkDigit'> & { prefix: string }): IdForm {
  if (!/^[0-9]{1,11}$/.test(prefix))
    throw invalid(`\`prefix\` has 1 to 11 digits; this is "${prefix}".`)
  return idForm({ ...options, prefix, width: EAN13_DIGITS - prefix.length, checkDigit: cdigitGtin })
}

/**
 * Ids that tell neither how many there are nor which come next, without growing: FF1, the
 * format-preserving cipher of NIST SP 800-38G. It needs a `width` of at least 6. Whoever has the
 * key can undo it, and an app's code is in the hands of its users: it keeps ids from guests, not
 * from them.
 * @param key 16, 24 or 32 random bytes (AES), for ever the same: another key makes ids that exist
 * already
 * @throws HiloError `invalid-argument`
 */
export function keyedPermutation(key: Uint8Array): Permutation {
  if (!(key instanceof Uint8Array) || ![16, 24, 32].includes(key.length))
    throw invalid('a key is a Uint8Array of 16, 24 or 32 random bytes.')
  // The cipher reads the key for each id. An app that wipes its own would get ids that exist
  // already.
  const kept = new Uint8Array(key)
  return (width, tweak) => {
    if (width < MIN_PERMUTED_WIDTH)
      throw invalid(
        `a keyed permutation needs a \`width\` of at least ${MIN_PERMUTED_WIDTH}; this is ${width}.`,
      )
    const cipher = FF1(10, kept, new TextEncoder().encode(tweak))
    const through = (crypt: (digits: number[]) => number[]) => (number: number) =>
      Number(crypt(Array.from(String(number).padStart(width, '0'), Number)).join(''))
    return { apply: through(cipher.encrypt), undo: through(cipher.decrypt) }
  }
}

const describe = (
  prefix: string,
  width: number | undefined,
  checkDigit: CheckDigit | undefined,
): string =>
  [
    prefix && `"${prefix}"`,
    width === undefined ? 'digits' : `${width} digits`,
    checkDigit && 'a check digit',
  ]
    .filter(Boolean)
    .join(', ')

const invalid = (why: string): HiloError =>
  new HiloError('invalid-argument', `No id was made or read: ${why}`)
