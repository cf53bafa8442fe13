/**
 * A chain of records as it is stored, each with the link of the one before. Pure. What makes the
 * links is passed in, so that an app without a chain does not load it.
 */
import type { ChainFlag, ChainRecord, Link, LinkMark, NumberRow } from '../core/series-store.js'
import { dataOf } from './ranges.js'

/** What is known of a record before its link is made. */
export interface Draft {
  chain: string
  record: Omit<ChainRecord, 'at' | 'time'>
  key?: string
  /** The last record of the chain. */
  before: Link | undefined
  /** What the last number has stored of its link. */
  expected: LinkMark | undefined
}

/** What makes the links. */
export interface Sealing {
  /** Which chain the records of this series are in. Undefined: there is no series. */
  chainOf(series: string | undefined): string | undefined
  /** Makes the link that follows; later it is taken only if it still does. */
  linkOf(draft: Draft): Promise<Link>
}

export interface Sealed {
  sealing: Sealing
  kind: string
  content: unknown
  /** Of the series. */
  collection: string
}

/** The record of a number, before its link is made. */
export function draftOf(
  row: Pick<NumberRow, 'letter' | 'id' | 'number' | 'period' | 'range'>,
  { sealing, kind, content, collection }: Sealed,
  before: Link | undefined,
  last: { link?: LinkMark } | undefined,
): Draft {
  const { letter: series, id, number, period, range } = row
  const chain = sealing.chainOf(series)!
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
  const expected = last?.link?.chain === chain ? last.link : undefined
  return { chain, record, before, expected }
}

/** The place of the record, above all that are known: one that has gone leaves a hole. */
export const placeOf = ({ before, expected }: Draft): number =>
  Math.max(before?.at ?? 0, expected?.at ?? 0) + 1

/** The record before is still the last one, and the number is the one that was hashed. */
export function follows(link: Link | undefined, draft: Draft): link is Link {
  const { chain, record, before } = draft
  return (
    link !== undefined &&
    link.chain === chain &&
    link.at === placeOf(draft) &&
    (before === undefined || link.previous === before.hash) &&
    link.series === record.series &&
    link.number === record.number &&
    link.period === record.period &&
    link.id === record.id
  )
}

/** What a number stores of its link. */
export const markOf = ({
  chain,
  at,
  hash,
  flags,
}: Link): { link: LinkMark; flags?: ChainFlag[] } => ({
  link: { chain, at, hash },
  ...(flags && { flags }),
})

/** What a check needs of the rule of a chain. */
export interface Rule {
  /** For the head of an export. */
  head: object
  textOf(link: Link): string
  hashOf(text: string): Promise<string>
  initialOf(series: string | undefined): Promise<string>
}
