/**
 * A chain of records as it is stored, each with the link of the one before. Pure. What makes the
 * links is passed in, so that an app without a chain does not load it.
 */

/** What a chain is made of. */
export interface ChainRecord<Content = unknown> {
  /** 1, 2, 3 …: its place in the chain. */
  at: number
  /** What the app calls it: `number` unless it says so. */
  kind: string
  /** The device's clock when it was made, with its offset: `2027-01-01T09:00:00+01:00`. */
  time: string
  /** What the app gave, as JSON has it. */
  content: Content
  /** Absent: the record has no number, and the chain is the device's. */
  series?: string
  /** `B-000124`. Absent: the record has no number. */
  id?: string
  number?: number
  period?: string
}

/**
 * What does not fit where a record was made.
 *
 * - `broken`: the record before it was changed, or has gone.
 * - `clock`: the device's clock says that the record before it is younger.
 */
export type ChainFlag = 'broken' | 'clock'

/** A record as it is stored. */
export interface Link extends ChainRecord {
  /** The series, or empty: the chain is the device's. */
  chain: string
  /** What a record without a number is for. */
  key?: string
  /** What was hashed. */
  text: string
  /** The hash of the record before, or the initial value. */
  previous: string
  hash: string
  flags?: ChainFlag[]
}

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

export interface LinkMark {
  /** As of the record. */
  chain: string
  at: number
  hash: string
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
}

/** The record of a number, before its link is made. */
export function draftOf(
  row: { letter: string; id: string; number: number; period: string },
  { sealing, kind, content }: Sealed,
  before: Link | undefined,
  last: { link?: LinkMark } | undefined,
): Draft {
  const { letter: series, id, number, period } = row
  const record = { kind, content, series, id, number, ...(period && { period }) }
  const chain = sealing.chainOf(series)!
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
