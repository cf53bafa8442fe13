/** The date of a document in a time zone that has a name. */

export interface LocalDate {
  year: number
  /** 1 to 12. */
  month: number
  day: number
  hour: number
  minute: number
  second: number
}

/**
 * @param timeZone undefined: the device's
 * @throws RangeError for a time zone that there is not
 */
export function localDate(date: Date, timeZone: string | undefined): LocalDate {
  const format = new Intl.DateTimeFormat('en', {
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    timeZone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const parts = format.formatToParts(date).map(({ type, value }) => [type, Number(value)])
  const { year, month, day, hour, minute, second } = Object.fromEntries(parts)
  return { year, month, day, hour, minute, second }
}

export type PeriodName = 'year' | 'month' | 'day'

const LENGTHS = { year: 4, month: 7, day: 10 }

/** `2027`, `2027-03` or `2027-03-31`. */
export const periodNamed = (name: PeriodName, { year, month, day }: LocalDate): string =>
  [year, pad(month), pad(day)].join('-').slice(0, LENGTHS[name])

export const isPeriodName = (name: unknown): name is PeriodName =>
  typeof name === 'string' && Object.hasOwn(LENGTHS, name)

/** Is this a period as it is written? A function of the app may make any text. */
export function isWritten(period: string, kind: PeriodName | object | undefined): boolean {
  if (typeof kind !== 'string') return kind !== undefined
  const date = new Date(`${`${period}-01-01`.slice(0, 10)}T00:00Z`)
  const isDate = period.length === LENGTHS[kind] && !Number.isNaN(date.getTime())
  return isDate && date.toISOString().startsWith(period)
}

export const pad = (number: number): string => String(number).padStart(2, '0')
