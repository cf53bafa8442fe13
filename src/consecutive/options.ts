/** The options of `consecutive`, and their check. */
import { HiloError } from '../core/errors.js'
import { checkKeys } from '../core/options.js'
import { utf8Length } from '../core/utf8.js'

export interface ConsecutiveOptions {
  /** Another database than the `database` option's of the `Hilo`. */
  database?: string
  /**
   * The name of this device in the server's list of series: `'Till 3'`. Up to 128 bytes of
   * UTF-8. Default: nothing.
   */
  device?: string
  /**
   * How many milliseconds the server has to hear of a number before it is handed out. If it does
   * not answer in time, the number is handed out with `heard: false`, and so are the next ones
   * until it answers. 0: at once, the server hears of it later; only for devices whose storage is
   * never copied. Up to 60,000. Default: 1,000.
   */
  wait?: number
  /**
   * Makes the id of a number. Each number of each series must get its own text. It may be called
   * for a number that is then not made, and again for the same number: what it returned when the
   * number was made is stored. Default: `'B-000124'`, with at least six digits.
   */
  formatId?: (number: number, series: string) => string
}

export interface Checked {
  device: string | undefined
  wait: number
  formatId(number: number, series: string): string
}

const MAX_KEY_BYTES = 256
const MAX_REASON_BYTES = 1024
const MAX_DEVICE_BYTES = 128
const DIGITS = 6
const WAIT_MS = 1_000
const MAX_WAIT_MS = 60_000

/** @throws HiloError `invalid-argument` */
export function checkSeriesOptions(options: ConsecutiveOptions = {}): Checked {
  checkKeys('options', options, ['database', 'device', 'formatId', 'wait'])
  const {
    device,
    wait = WAIT_MS,
    formatId = (number: number, series: string) =>
      `${series}-${String(number).padStart(DIGITS, '0')}`,
  } = options
  if (device !== undefined) checkDevice(device)
  if (typeof wait !== 'number' || !(wait >= 0 && wait <= MAX_WAIT_MS))
    throw badOption(`wait is a number of milliseconds from 0 to ${MAX_WAIT_MS}`, wait)
  if (typeof formatId !== 'function') throw badOption('formatId is a function', formatId)
  return { device, wait, formatId: (...args) => checkId(formatId, ...args) }
}

/** The server refuses a name of two lines for ever. */
function checkDevice(device: string): void {
  checkText('device', device, MAX_DEVICE_BYTES)
  if (/[\p{Cc}\p{Cs}]/u.test(device))
    throw badOption('device is well-formed Unicode without control characters', device)
}

/** An id goes onto a receipt and into the storage, so it has to be a text. */
function checkId(formatId: Checked['formatId'], number: number, series: string): string {
  try {
    return checkText(`what formatId makes of ${number} of ${series}`, formatId(number, series))
  } catch (cause) {
    if (cause instanceof HiloError) throw cause
    const why = (cause as Error)?.message ?? cause
    throw new HiloError('invalid-argument', `No number was made: formatId failed: ${why}`, {
      cause,
    })
  }
}

/** @throws HiloError `invalid-argument` */
export const checkKey = (key: unknown): string => checkText('a key', key, MAX_KEY_BYTES)

/** @throws HiloError `invalid-argument` */
export const checkReason = (reason: unknown): string =>
  checkText('a reason', reason, MAX_REASON_BYTES)

/** @throws HiloError `invalid-argument` */
export function checkSignal(signal: unknown): void {
  if (typeof (signal as AbortSignal)?.aborted !== 'boolean')
    throw badOption('`signal` is an AbortSignal', signal)
}

function checkText(what: string, text: unknown, maxBytes = Number.POSITIVE_INFINITY): string {
  if (typeof text !== 'string' || text === '')
    throw badOption(`${what} is a text that is not empty`, text)
  // As an encoder does, which puts U+FFFD in the place of half a surrogate pair.
  const bytes = utf8Length(text.replace(/\p{Cs}/gu, '\ufffd'))
  if (bytes > maxBytes)
    throw badOption(`${what} has at most ${maxBytes} bytes of UTF-8`, `a text of ${bytes} bytes`)
  return text
}

const badOption = (rule: string, value: unknown): HiloError =>
  new HiloError(
    'invalid-argument',
    `No number was made or changed: ${rule}; this is ${
      typeof value === 'string' ? value || 'empty' : typeof value
    }.`,
  )
