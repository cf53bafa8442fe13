/** The options of `consecutive`, and their check. */
import { shown } from '../../core/brief.js'
import { checkKeys } from '../../core/check-keys.js'
import { MAX_NAME_BYTES, MAX_PERIOD_BYTES, RANGE_PREFIX, SERIES_NAME } from '../../core/wire.js'
import type { NumberRange } from '../../device/series-store.js'
import type { Chain } from './chain.js'
import { badOption, called, checkLine, checkText, frozen, isCount, must } from './checks.js'
import type { Sealed } from './links.js'
import { dayIn, isPeriodName, type LocalDate, localDate, periodNamed } from './moment.js'
import type { Holder } from './online.js'
import { present } from './present.js'
import { type DayAt, isDay, isPrefix, type Ranges } from './ranges.js'
import type { FormatNumber, Make } from './rows.js'

export interface ConsecutiveOptions {
  /**
   * The name of this device in the server's list of series: `'Till 3'`. Up to 128 bytes of
   * UTF-8. Default: nothing.
   */
  device?: string
  /**
   * A name for the series: `'T3'`. Up to 20 letters, digits, `-`, `.`, `_` and `/`, with a digit.
   * The server refuses a name that another device of this collection has or had. A device that has
   * another series makes no number until that one is closed at the server. Default: the next
   * letter.
   */
  series?: string
  /**
   * The period of a document: `year`, `month`, `day`, or a function of its date, which gets the
   * parts of the date in the time zone, too: `(date, { year, month }) => …`. Each period counts
   * from 1. Up to 64 bytes of UTF-8. Default: the series has no periods.
   */
  period?: 'year' | 'month' | 'day' | ((date: Date, local: LocalDate) => string)
  /**
   * The time zone of the shop, for periods, for the last day of a range and for the records of a
   * chain: `'America/Sao_Paulo'`. Default: the one that the device is set to.
   */
  timeZone?: string
  /**
   * The ranges of numbers that an authority gave for this series, of each prefix the lowest first.
   * They are in the place of periods, and need `series`: the server gives a name once, so no other
   * device begins them again. `'server'`: those that a person gives to the series at the server.
   * Default: the numbers have no end.
   */
  ranges?: readonly NumberRange[] | 'server'
  /**
   * The bounds of numbers and the form of ids: `{ from, to, length, characters }`. The id of the
   * highest number is checked, too, before the first number is made, and not at number 100,000.
   * Default: from 1, without an end.
   */
  limits?: {
    /**
     * The first number of the series, in its first period: `39` where 38 exist. It needs `series`:
     * the server gives a name once, so no other device begins there. Default: 1.
     */
    from?: number
    /** The highest number of a period. */
    to?: number
    /** The most characters of an id. */
    length?: number
    /** Which characters an id is made of: `/^[A-Z0-9-]+$/`. */
    characters?: RegExp
  }
  /**
   * Each record holds the hash of the one before: `chain()` of `offline-hilo/consecutive/chain`.
   * Default: no chain.
   */
  chain?: Chain
  /**
   * How many milliseconds the server has to hear of a number before it is handed out. If it does
   * not answer in time, the number is handed out with `heard: false`, and so are the next ones
   * until it answers. 0: at once, the server hears of it later; only for devices whose storage is
   * never copied. Up to 60,000. Default: 1,000.
   */
  wait?: number
  /**
   * Makes the id of a number. Each number of each series must get its own text. Each device has a
   * series of its own, so the series is in the text. It may be called for a number that is then not
   * made, and again for the same number: the text from when the number was made is stored. With
   * ranges it gets the `data` of the range, and as the period its prefix. Default: `'B-000124'`,
   * with at least six digits, and `'B-2027-000124'` with periods.
   */
  formatId?: (number: number, series: string, period: string | undefined, data?: unknown) => string
}

export interface ClosePeriodOptions {
  /** The app's sums of the day, as JSON has it. */
  sums?: unknown
  /** The person that does it. Up to 256 bytes of UTF-8. */
  by?: string
  /** The period was closed by mistake: it gets numbers again. Default: false */
  reopen?: boolean
  /** Why it is opened again. Up to 1024 bytes of UTF-8. */
  reason?: string
}

export interface Checked {
  collection: string
  holder: Holder
  wait: number
  chain: Chain | undefined
  ranges: Ranges | undefined
  period: ConsecutiveOptions['period']
  dayAt: DayAt
  /** @throws HiloError `invalid-argument` */
  makeOf(key: string, date?: Date): Omit<Make, 'checkIn'>
  /** @throws HiloError `invalid-argument` without a chain */
  sealedOf(kind: unknown, content: unknown): Sealed
}

const KEYS = [
  'chain',
  'device',
  'formatId',
  'limits',
  'period',
  'ranges',
  'series',
  'timeZone',
  'wait',
]
const MAX_KIND_BYTES = 64
const DIGITS = 6
const WAIT_MS = 1_000
const MAX_WAIT_MS = 60_000

/** @throws HiloError `invalid-argument` */
export function checkSeriesOptions(collection: string, given: ConsecutiveOptions = {}): Checked {
  const options = checkKeys('options', given, KEYS)
  const { device, series, period, timeZone, limits = {} } = options
  mustBeZone(timeZone)
  const { wait = WAIT_MS, formatId = defaultId, chain } = options
  if (device !== undefined) checkLine('device', device, MAX_NAME_BYTES)
  must(
    series === undefined || (typeof series === 'string' && SERIES_NAME.test(series)),
    'series is 1 to 20 letters, digits, -, ., _ and /, with a digit',
    series,
  )
  must(
    period === undefined || typeof period === 'function' || isPeriodName(period),
    "period is 'year', 'month', 'day' or a function",
    period,
  )
  const periodAt = (date: Date) => (period === undefined ? '' : periodOf(period, date, timeZone))
  must(
    typeof wait === 'number' && wait >= 0 && wait <= MAX_WAIT_MS,
    `wait is a number of milliseconds from 0 to ${MAX_WAIT_MS}`,
    wait,
  )
  must(
    chain === undefined || typeof chain?.linkOf === 'function',
    "chain is made by chain() of 'offline-hilo/consecutive/chain'",
    chain,
  )
  must(typeof formatId === 'function', 'formatId is a function', formatId)
  const format = limited(formatId, limits)
  const { from: start = 1 } = limits
  // One that has lost its storage would begin another letter there.
  // guard: H40 a number to begin with is of one series, whose name the server gives once
  must(start === 1 || series !== undefined, 'limits.from needs the option `series`', `${start}`)
  if (!options.ranges) checkForm(formatId, options, start, periodAt)
  const ranges = checkRanges(options, start)
  const dayAt = dayIn(timeZone)
  const makeOf = (key: string, date?: Date) => ({
    key,
    format,
    series,
    start,
    moment: (now = new Date()) => ({ now, date: date ?? now, period: periodAt(date ?? now) }),
    dayAt,
    ranges,
  })
  if (Array.isArray(ranges))
    for (const { to, prefix, data } of ranges) format(to, series!, prefix, data)
  else if (!ranges && series !== undefined) format(start, series, periodAt(new Date()) || undefined)
  const sealedOf = (kind: unknown, content: unknown) => ({
    links: chainIn(chain),
    kind: checkText('kind', kind, MAX_KIND_BYTES),
    content: frozen(content),
    collection,
    timeZone,
  })
  const of = { chain, ranges, period, dayAt }
  return { collection, holder: { device, series }, wait, ...of, makeOf, sealedOf }
}

/** @throws HiloError `invalid-argument` */
function chainIn(chain: Chain | undefined): Chain {
  if (chain) return chain
  throw badOption('kind and records need the option `chain`', undefined)
}

const defaultId = (number: number, series: string, period: string | undefined): string =>
  [series, ...(period === undefined ? [] : [period]), String(number).padStart(DIGITS, '0')].join(
    '-',
  )

function periodOf(
  period: NonNullable<ConsecutiveOptions['period']>,
  date: Date,
  timeZone: string | undefined,
): string {
  const local = localDate(date, timeZone)
  const given =
    typeof period === 'string'
      ? periodNamed(period, local)
      : called('period', () => period(date, local))
  return checkLine('what period makes of the date', given, MAX_PERIOD_BYTES)
}

/** @returns the ranges from `start` on */
function checkRanges(
  { ranges, series, period }: ConsecutiveOptions,
  start: number,
): Ranges | undefined {
  if (ranges === undefined) return undefined
  must(!period, 'ranges have no period', period)
  if (ranges === 'server') return ranges
  must(Array.isArray(ranges) && ranges.length > 0, 'ranges is a list of at least one range', ranges)
  must(series !== undefined, 'ranges need the option `series`', series)
  const above: Record<string, number> = {}
  const checked = ranges
    .map((range) => {
      const known = ['from', 'to', 'prefix', 'validUntil', 'data']
      const { from, to, prefix = '', validUntil, data } = checkKeys('ranges', range, known)
      must(prefix === '' || isPrefix(prefix), `a prefix is of the form ${RANGE_PREFIX}`, prefix)
      must(
        isCount(from) && isCount(to) && from <= to,
        'a range goes from … to …, whole numbers from 1 on',
        `${shown(from)} to ${shown(to)}`,
      )
      const isAbove = from > (above[prefix] ?? 0)
      must(isAbove, 'each range begins above the one before of its prefix', `${from}`)
      above[prefix] = to
      must(
        validUntil === undefined || isDay(validUntil),
        "validUntil is a day: '2027-12-31'",
        validUntil,
      )
      return {
        from: Math.max(from, start),
        to,
        ...(prefix && { prefix }),
        ...present({ validUntil, data: frozen(data, 'data') }),
      }
    })
    .filter(({ from, to }) => from <= to)
  must(checked.length > 0, 'limits.from is not above all ranges', `${start}`)
  return checked
}

/** With ranges, their authority sees to it that no number comes twice. */
function checkForm(
  formatId: FormatNumber,
  { series }: ConsecutiveOptions,
  start: number,
  periodAt: (date: Date) => string,
): void {
  const other = series?.replace(/\d/, (digit) => `${(Number(digit) + 1) % 10}`) ?? 'B'
  let texts: unknown[]
  try {
    const of = periodAt(new Date()) || undefined
    texts = [series ?? 'A', other].map((each) => formatId(start, each, of))
  } catch {
    // Then no number is made.
    return
  }
  const [text] = texts
  // guard: H38 the numbers of two series have different texts
  must(
    typeof text !== 'string' ||
      text !== texts[1] ||
      text === '' ||
      (series !== undefined && text.includes(series)),
    'formatId has the series in its text, because each device has a series of its own',
    text,
  )
}

/** The id of a number, where it and the id of the highest number keep the limits. */
function limited(
  formatId: FormatNumber,
  limits: NonNullable<ConsecutiveOptions['limits']>,
): FormatNumber {
  const known = ['from', 'to', 'length', 'characters']
  const given = checkKeys('limits', limits, known)
  const { from = 1, to, length = Number.MAX_SAFE_INTEGER, characters = /^/ } = given
  for (const count of [from, to, length])
    must(
      count === undefined || isCount(count),
      'from, to and length of limits are whole numbers from 1 on',
      count,
    )
  must(characters instanceof RegExp, 'limits.characters is a regular expression', characters)
  const check = (...of: Parameters<FormatNumber>): string => {
    const id = checkId(formatId, ...of)
    must([...id].length <= length, `an id has at most ${length} characters`, id)
    // `test` would go on where it stopped in the id before, if the expression has the flag `g`.
    must(id.search(characters) >= 0, `an id is of the form ${characters}`, id)
    return id
  }
  return (number, ...of) => {
    const most = to ?? Number.MAX_SAFE_INTEGER
    must(number <= most, `the highest number is ${most}: this series is full`, `${number}`)
    if (to !== undefined) check(to, ...of)
    return check(number, ...of)
  }
}

function mustBeZone(timeZone: string | undefined): void {
  let isZone = timeZone === undefined
  try {
    localDate(new Date(), timeZone)
    isZone ||= typeof timeZone === 'string'
  } catch {
    // It is none.
  }
  must(isZone, "timeZone is a name such as 'America/Sao_Paulo'", timeZone)
}

/** An id goes onto a receipt and into the storage, so it has to be a text. */
const checkId = (formatId: FormatNumber, ...of: Parameters<FormatNumber>): string =>
  checkText(
    `what formatId makes of ${of[0]} of ${of[1]}`,
    called('formatId', () => formatId(...of)),
  )
