/** Checks options and arguments: the first one that is wrong ends the call, with its rule. */
import { brief, reasonOf, shown } from '../../core/brief.js'
import { checkKeys } from '../../core/check-keys.js'
import { HiloError } from '../../core/errors.js'
import { utf8Length } from '../../core/utf8.js'
import { MAX_REASON_BYTES } from '../../core/wire.js'
import type { SettledState } from '../../device/series-store.js'
import { present } from './present.js'
import { FROM, type Why } from './rows.js'

const MAX_KEY_BYTES = 256

/**
 * The options of a call.
 * @param known the options that it has
 * @throws HiloError `invalid-argument`
 */
export function checkCall<T extends object>(
  options: T | undefined,
  ...known: (keyof T & string)[]
): Partial<T> {
  return options === undefined || options === null ? {} : checkKeys('options', options, known)
}

/** @throws HiloError `invalid-argument` */
export function checkText(
  what: string,
  text: unknown,
  maxBytes = Number.POSITIVE_INFINITY,
): string {
  must(typeof text === 'string' && text !== '', `${what} is a text that is not empty`, text)
  // A database may store another text than this one, and two keys would have one number.
  must(!/[\0\p{Cs}]/u.test(text), `${what} is well-formed Unicode without U+0000`, text)
  const bytes = utf8Length(text)
  must(
    bytes <= maxBytes,
    `${what} has at most ${maxBytes} bytes of UTF-8`,
    `a text of ${bytes} bytes`,
  )
  return text
}

export const isCount = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 1

/** @throws HiloError `invalid-argument` */
export function must(holds: boolean, rule: string, value: unknown): asserts holds {
  if (!holds) throw badOption(rule, value)
}

export const badOption = (rule: string, value: unknown): HiloError =>
  new HiloError(
    'invalid-argument',
    `No number was made or changed: ${rule}; this is ${
      typeof value === 'string' ? brief(value, 12) || 'empty' : shown(value)
    }.`,
  )

/** A copy is hashed and stored, so later changes by the app have no effect. */
export function frozen(content: unknown, what = 'content'): unknown {
  try {
    // JSON has `{}` of it: an `await` is missing.
    if (content instanceof Promise) throw content
    return content === undefined ? undefined : JSON.parse(JSON.stringify(content))
  } catch {
    throw badOption(`${what} is what JSON can write`, content)
  }
}

/** @throws HiloError `invalid-argument` for any error of the app's function */
export function called<T>(what: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    const why = `No number was made: ${what} failed: ${reasonOf(cause)}.`
    throw new HiloError('invalid-argument', why, { cause })
  }
}

/**
 * The server refuses a name of two lines for ever.
 * @throws HiloError `invalid-argument`
 */
export function checkLine(what: string, given: unknown, maxBytes: number): string {
  const text = checkText(what, given, maxBytes)
  must(!/\p{Cc}/u.test(text), `${what} is well-formed Unicode without control characters`, text)
  return text
}

/** @throws HiloError `invalid-argument` */
export const checkKey = (key: unknown): string => checkText('a key', key, MAX_KEY_BYTES)

/** @throws HiloError `invalid-argument` */
export function checkWhy(state: SettledState, options: Why | undefined): Why {
  const isState = typeof state === 'string' && Object.hasOwn(FROM, state)
  must(isState, `a number is settled as ${Object.keys(FROM).join(', ')}`, state)
  const { reason, by, ref } = checkCall(options, 'reason', 'by', 'ref')
  const isGiven = state !== 'confirmed' || reason !== undefined
  return present({
    reason: isGiven ? checkText('a reason', reason, MAX_REASON_BYTES) : undefined,
    by: checkName('`by`', by),
    ref: checkName('`ref`', ref),
  })
}

/**
 * @returns a copy, which stays the same whatever the app does with its own
 * @throws HiloError `invalid-argument`
 */
export function checkDate(date: unknown): Date {
  const year = date instanceof Date ? date.getUTCFullYear() : Number.NaN
  // A year of two digits is a mistake, and would be a period of its own.
  const isYear = year >= 1000 && year <= 9999
  must(isYear, '`date` is a Date, and its year has four digits', year > 0 ? `${date}` : date)
  return new Date((date as Date).getTime())
}

/** @throws HiloError `invalid-argument` */
export const checkName = (what: string, name: string | undefined): string | undefined =>
  name === undefined ? undefined : checkText(what, name, MAX_KEY_BYTES)
