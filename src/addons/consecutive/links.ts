/**
 * A chain of records as it is stored, each with the link of the one before. Pure. The functions
 * that make the links, and this file, come with the option `chain`: an app without a chain loads
 * neither.
 */
import type {
  ChainRecord,
  Link,
  LinkMark,
  NumberRow,
  SeriesTransaction,
} from '../../device/series-store.js'
import { present } from './present.js'
import { dataOf } from './ranges.js'

/** A record of a series before its link in the chain is made. */
export interface Draft {
  chain: string
  record: Omit<ChainRecord, 'at' | 'time'>
  key?: string
  /** The last record of the chain. */
  before: Link | undefined
  /** That record is the one which this page has just made, and was not read from the storage. */
  isSeen?: true
  /** The link of the last number, as that number stores it. */
  expected: LinkMark | undefined
  /** When it is made, and the date of the document. */
  now: Date
  date: Date
  timeZone: string | undefined
}

/** A record whose link has to be made first. */
export interface Drafted {
  draft: Draft
}

/** The functions that make the links. */
export interface LinkMaker {
  /** Which chain the records of this series are in. Undefined: there is no series. */
  chainOf(series: string | undefined): string | undefined
  /** Makes the link that follows; later it is taken only if it still does. */
  linkOf(draft: Draft): Promise<Link>
  numberWith: typeof numberWith
  addRecord: typeof addRecord
  rule: Rule
}

export interface Sealed {
  links: LinkMaker
  kind: string
  content: unknown
  /** Of the series. */
  collection: string
  /** Undefined: the device's. */
  timeZone: string | undefined
}

/**
 * A number with its link.
 * @param before the last record of the chain
 * @param last the number before
 * @returns a draft where this link does not follow
 */
export function numberWith(
  link: Link | undefined,
  row: NumberRow,
  sealed: Sealed,
  before: Link | undefined,
  last: NumberRow | undefined,
): { row: NumberRow } | Drafted {
  const draft = draftOf(row, sealed, before, last)
  // guard: H28 a link is taken only while the record before it is the last one
  if (!follows(link, draft)) return { draft }
  const { chain, at, hash, flags, rule } = link
  return { row: { ...row, link: { chain, at, hash }, ...present({ rule, flags }) } }
}

/**
 * Adds a record without a number, unless its key has one.
 * @param letter of the series
 * @param last the last number of the series
 * @returns a draft where this link does not follow. Undefined: there is no chain
 */
export async function addRecord(
  link: Link | undefined,
  tx: SeriesTransaction,
  key: string,
  { links, kind, content, collection, timeZone }: Sealed,
  letter: string | undefined,
  last: NumberRow | undefined,
): Promise<Link | Drafted | undefined> {
  const chain = links.chainOf(letter)
  const known = await tx.linkOf(key, chain)
  if (known || chain === undefined) return known
  const before = await tx.lastLink(chain)
  const record = { kind, content, ...(chain === '' && { collection }) }
  const now = new Date()
  const at = { now, date: now, timeZone }
  const draft = { chain, record, key, before, expected: linkIn(chain, last), ...at }
  if (!follows(link, draft)) return { draft }
  tx.addLink(link)
  return link
}

/** The record of a number, before its link is made. */
function draftOf(
  row: NumberRow,
  { links, kind, content, collection, timeZone }: Sealed,
  before: Link | undefined,
  last: NumberRow | undefined,
): Draft {
  const { letter: series, id, number, period, range } = row
  const chain = links.chainOf(series)!
  const record = {
    kind,
    content,
    ...(chain === '' && { collection }),
    series,
    id,
    number,
    ...(period && { period }),
    ...dataOf(range),
  }
  const { takenAt, date = takenAt } = row
  const at = { now: new Date(takenAt), date: new Date(date), timeZone }
  return { chain, record, before, expected: linkIn(chain, last), ...at }
}

const linkIn = (chain: string, last: NumberRow | undefined): LinkMark | undefined =>
  last?.link?.chain === chain ? last.link : undefined

/**
 * The place of the record, above all that are known: one that has gone leaves a hole. A place that
 * was changed into something else is not known.
 */
export const placeOf = ({ before, expected }: Draft): number =>
  Math.max(Number(before?.at) || 0, Number(expected?.at) || 0) + 1

/** The record before is still the last one, and the number is the one that was hashed. */
function follows(link: Link | undefined, draft: Draft): link is Link {
  const { chain, record, before } = draft
  return (
    link !== undefined &&
    link.chain === chain &&
    link.at === placeOf(draft) &&
    (before === undefined || link.previous === before.hash) &&
    link.series === record.series &&
    link.number === record.number &&
    link.period === record.period
  )
}

/** The parts of a chain's rule that a check needs. */
export interface Rule {
  /** Another one has another id. */
  id: string
  /** For the head of an export. */
  head: object
  textOf(link: Link): string
  hashOf(text: string): Promise<string>
  initialOf(series: string | undefined): Promise<string>
}
