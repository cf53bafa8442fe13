/**
 * The methods of a ledger for an operator, wherever it is, with the fields of each request besides
 * the database. Behind an address, `raiseFloor` is `POST /operator/<database>/raise-floor` with
 * that as JSON. This is the only list of it.
 */
import { z } from 'zod'
import { LIMITS, RANGE_PREFIX, SERIES_NAME } from '../../../src/core/wire.js'
import type { Ledger } from '../ledger/ledger.js'
import { LEDGER_NAME } from '../ledger/name.js'
import { MOST_LISTED } from '../ledger/series-pages.js'
import { text } from './messages.js'

const nothing = z.strictObject({})
/** The name of a series: a name, or letters. */
export const isSeriesName = (text: string): boolean =>
  SERIES_NAME.test(text) || /^[A-Za-z]{1,12}$/.test(text)

export const isPrefix = (text: string): boolean => RANGE_PREFIX.test(text)

const series = { collection: z.string().min(1), letter: z.string().min(1) }

/** Who closes a series, and why. Both are stored, and listed in a line. */
export const signed = {
  by: text(LIMITS.nameBytes).min(1),
  reason: text(LIMITS.reasonBytes).min(1),
}

export const handOver = {
  to: text(LIMITS.nameBytes).min(1),
  last: z.int().min(1),
  period: text(LIMITS.periodBytes).optional(),
  newPeriod: z.boolean().optional(),
  otherPeriods: z
    .array(z.strictObject({ period: text(LIMITS.periodBytes), last: z.int().min(1) }))
    .max(LIMITS.periods)
    .optional(),
  dryRun: z.boolean().optional(),
  ...signed,
}

/** The argument of a method, besides the database and the time. */
type Told<Method extends keyof Ledger> = Omit<
  Extract<Parameters<NonNullable<Ledger[Method]>>[0], object>,
  'database' | 'at'
>

/** Checked against the ledger's port. The package's types need not say how. */
const checksOf = <Method extends keyof Ledger>(
  checks: {
    [Each in Method]: z.ZodObject & z.ZodType<Told<Each>>
  },
): Record<Method, z.ZodObject> => checks

export const OPERATED = checksOf({
  status: nothing,
  readName: nothing,
  restored: nothing,
  names: nothing,
  renewSecret: nothing,
  series: nothing,
  seriesPage: z.strictObject({
    after: z.strictObject({ collection: z.string(), place: z.int().min(0) }).optional(),
    limit: z.int().min(1).max(MOST_LISTED).optional(),
  }),
  explain: z.strictObject({
    collection: z.string().min(1),
    number: z.int().min(1),
    series: text(LIMITS.nameBytes).optional(),
    period: text(LIMITS.periodBytes).optional(),
  }),
  raiseFloor: z.strictObject({ collection: z.string().min(1), floor: z.int().min(1) }),
  raiseFloors: z.strictObject({ by: z.int().min(1) }),
  follow: z.strictObject({ name: z.string().regex(LEDGER_NAME), above: z.int().min(1) }),
  drop: z.strictObject({ collection: z.string().min(1).optional() }),
  closeSeries: z.strictObject({ ...series, ...signed }),
  renameDevice: z.strictObject({ ...series, device: text(LIMITS.nameBytes).min(1) }),
  handOverSeries: z.strictObject({ ...series, ...handOver }),
  giveRange: z.strictObject({
    ...series,
    range: z
      .strictObject({
        from: z.int().min(1),
        to: z.int().min(1),
        prefix: z.string().regex(RANGE_PREFIX).optional(),
        validUntil: z.iso.date().optional(),
        data: text(LIMITS.nameBytes).optional(),
      })
      .refine(({ from, to }) => from <= to),
    again: z.boolean().optional(),
    dryRun: z.boolean().optional(),
  }),
  noteSeries: z.strictObject({ ...series, letter: z.string().refine(isSeriesName) }),
  reopenSeries: nothing,
  unlisted: nothing,
})

export type OperatedMethod = keyof typeof OPERATED
export type OperatedLedger = Pick<Ledger, OperatedMethod>

export const OPERATED_METHODS = Object.keys(OPERATED) as OperatedMethod[]

/** Its name in a URL: `raise-floor`. */
export const pathOfMethod = (method: OperatedMethod): string =>
  method.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
