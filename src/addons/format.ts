/**
 * `offline-hilo/format`: other forms of an id than `orders/33-A`, such as `K7-0000334`. Each form
 * also reads and checks its ids. Guarantees that two numbers never get the same text: a number that
 * the form cannot hold is refused.
 */
import { FF1 } from '@noble/ciphers/ff1.js'
import { damm as cdigitDamm, gtin as cdigitGtin, luhn as cdigitLuhn } from 'cdigit'
import { shown } from '../core/brief.js'
import { checkKeys } from '../core/check-keys.js'
import { HiloError } from '../core/errors.js'
import type { IdParts } from '../core/names.js'

export interface FormOptions {
  /**
   * Before the digits: the name of a till, say. One that ends in a digit needs a `width`. Default:
   * none.
   */
  prefix?: string
  /** Digits of the number, 1 to 15; zeros fill it up. Default: as many as the number has. */
  width?: number
  /** The last digit, made from all digits before it, the prefix's included. Default: none. */
  checkDigit?: CheckDigit
  /** Puts the numbers of this `width` into another order. Default: none. */
  permutation?: Permutation
  /**
   * The node whose numbers this form takes; `''` for a source that names none. Default `'A'`, as of
   * servers. Two nodes may grant the same number, and the text would not tell them apart.
   */
  serverTag?: string
}

export interface IdForm {
  /**
   * Pass it to `createHilo`.
   * @throws HiloError `invalid-argument` when the number has more digits than `width`, or when
   * another node granted it. The number is a gap then.
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

/** Makes one digit of a string of digits. */
export interface CheckDigit {
  compute(digits: string): string
}

/** Maps the numbers of `width` digits one-to-one onto themselves, for each `tweak` differently. */
export type Permutation = (
  width: number,
  tweak: string,
) => { apply(number: number): number; undo(number: number): number }

/**
 * The check digit of bank cards (ISO/IEC 7812-1). It finds every single wrong digit, and most pairs
 * of neighbours that changed places.
 */
export const luhn: CheckDigit = cdigitLuhn

/**
 * H. M. Damm's check digit (2004). It finds every single wrong digit, and every pair of neighbours
 * that changed places.
 */
export const damm: CheckDigit = cdigitDamm

const MAX_WIDTH = 15
/**
 * NIST SP 800-38G Rev. 1 asks for at least a million texts. With fewer, a reader of ids and their
 * numbers can find out the key.
 */
const MIN_PERMUTED_WIDTH = 6
const EAN13_DIGITS = 12

/**
 * @example
 * const tickets = idForm({ prefix: 'K7-', width: 6, checkDigit: damm })
 * const hilo = createHilo({ formatId: tickets.formatId })
 * await hilo.nextId('tickets') // 'K7-0000334'
 * tickets.numberOf('K7-0000334') // 33
 *
 * @throws HiloError `invalid-argument` when an option is wrong
 */
export function idForm(options: FormOptions = {}): IdForm {
  const known = ['prefix', 'width', 'checkDigit', 'permutation', 'serverTag']
  const given = checkKeys('options', options, known)
  const { prefix = '', width, checkDigit, permutation, serverTag = 'A' } = given
  for (const [name, text] of Object.entries({ prefix, serverTag }))
    if (typeof text !== 'string') throw invalid(`\`${name}\` is a text; this is ${shown(text)}.`)
  if (checkDigit !== undefined && typeof checkDigit?.compute !== 'function')
    throw invalid(`\`checkDigit\` is luhn, damm or one like them; this is ${shown(checkDigit)}.`)
  if (permutation !== undefined && typeof permutation !== 'function')
    throw invalid(`\`permutation\` is a keyedPermutation; this is ${shown(permutation)}.`)
  if (width !== undefined && !(Number.isInteger(width) && width >= 1 && width <= MAX_WIDTH))
    throw invalid(`\`width\` is a whole number from 1 to ${MAX_WIDTH}; this is ${shown(width)}.`)
  if (width === undefined && /\d$/.test(prefix))
    throw invalid(
      `the prefix "${prefix}" ends in a digit, so that "${prefix}1" with number 2 would be the ` +
        `same as "${prefix}" with number 12. Give a \`width\`.`,
    )
  if (width === undefined && permutation) throw invalid('a `permutation` needs a `width`.')
  const order = width === undefined ? undefined : permutation?.(width, prefix)

  function textOf(number: number): string {
    if (!Number.isSafeInteger(number) || number < 0)
      throw invalid(`a number is whole and from 0 to 2^53−1; this is ${shown(number)}.`)
    if (width !== undefined && number >= 10 ** width)
      throw invalid(
        `the number ${number} has more than ${width} digits. Go on with a form of a larger ` +
          '`width`; ids stay unique.',
      )
    const digits = prefix + String(order ? order.apply(number) : number).padStart(width ?? 0, '0')
    return digits + (checkDigit ? checkDigit.compute(digits.replace(/[^0-9]/g, '')) : '')
  }

  function read(id: string): number {
    const end = id.length - (checkDigit ? 1 : 0)
    const digits = id.startsWith(prefix) ? id.slice(prefix.length, end) : ''
    if (!/^[0-9]{1,16}$/.test(digits) || (width !== undefined && digits.length !== width))
      throw invalid(`${shown(id)} is no id of this form: ${describe(prefix, width, checkDigit)}.`)
    return order ? order.undo(Number(digits)) : Number(digits)
  }

  function numberOf(id: string): number {
    if (typeof id !== 'string') throw invalid(`an id is a text; this is ${typeof id}.`)
    const number = read(id)
    if (textOf(number) !== id)
      throw invalid(`${shown(id)} was mistyped: its check digit or a leading zero is wrong.`)
    return number
  }

  return {
    formatId(number, parts) {
      if (parts?.serverTag !== serverTag)
        throw invalid(
          `the number ${number} was granted by node "${parts?.serverTag}", and this form is for ` +
            `"${serverTag}". Two nodes may grant the same number: pass \`serverTag\`, or make a ` +
            'form for each node.',
        )
      const id = textOf(number)
      // guard: H38 an id of a form is read back
      if (read(id) !== number)
        throw invalid(`${shown(id)} is another number, too: see checkDigit and permutation.`)
      return id
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
 * Ids that any scanner reads: 13 digits, of which the last is the check digit of an EAN (GS1
 * General Specifications, GTIN-13).
 * @param options of which `prefix` is the first 1 to 11 digits; `'20'` to `'29'` are for use inside
 * a company
 */
export function ean13(
  options: Omit<FormOptions, 'prefix' | 'width' | 'checkDigit'> & { prefix: string },
): IdForm {
  const given = checkKeys('options', options, ['prefix', 'permutation', 'serverTag'])
  const { prefix } = given
  if (typeof prefix !== 'string' || !/^[0-9]{1,11}$/.test(prefix))
    throw invalid(`\`prefix\` has 1 to 11 digits; this is ${shown(prefix)}.`)
  return idForm({ ...given, prefix, width: EAN13_DIGITS - prefix.length, checkDigit: cdigitGtin })
}

/**
 * Hides from readers of an id how many there are, and which come next; the id does not grow. It is
 * FF1, the format-preserving cipher of NIST SP 800-38G, and needs a `width` of at least 6. An app's
 * users have its code, and so the key, which undoes it: it hides numbers from guests only.
 * @param key 16, 24 or 32 random bytes (AES). Keep it for ever: another key makes ids that exist
 * already.
 * @throws HiloError `invalid-argument`
 */
export function keyedPermutation(key: Uint8Array): Permutation {
  if (!(key instanceof Uint8Array) || ![16, 24, 32].includes(key.length))
    throw invalid('a key is a Uint8Array of 16, 24 or 32 random bytes.')
  // The cipher reads the key for each id. Without a copy, an app that wipes its array would get
  // ids that exist already.
  const kept = new Uint8Array(key)
  return (width, tweak) => {
    if (width < MIN_PERMUTED_WIDTH)
      throw invalid(
        `a keyed permutation needs a \`width\` of at least ${MIN_PERMUTED_WIDTH}; this is ` +
          `${width}.`,
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
