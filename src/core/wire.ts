/**
 * The HiLo wire: the JSON shapes, the capacity table and the time format that client and server
 * share. RavenDB's protocol exactly; the fields of our extension are marked. Pure: no clock, no
 * I/O. Source: https://docs.ravendb.net (HiLo algorithm), reproduced with the official clients.
 */
import type {
  DoneHandOver,
  SeriesLink,
  SeriesMark,
  SeriesPeriod,
  SeriesRange,
  StatedHandOver,
} from './series-marks.js'

export type { SeriesCheckInRequest } from './series-marks.js'

/**
 * Ledgers as a device knows them, by the server tag of their grants: `{ A: 'k3m9…/shop' }` (H34).
 * Each is the public name of a ledger with the name of the database that counts.
 */
export type LedgerNames = Readonly<Record<string, string>>

/** Body of a successful `GET /databases/{db}/hilo/next`. */
export interface NextAnswer {
  /** The text before the number: `orders/`. */
  Prefix: string
  Low: number
  High: number
  /** Capacity of this range; the client sends it as `lastBatchSize` next time. */
  LastSize: number
  /** Node that granted the range: `A`. */
  ServerTag: string
  /** The server's own time string, 7 fraction digits; the client echoes it, never interprets it. */
  LastRangeAt: string
  /** Extension: opaque, unguessable token of the grant. Absent from a real RavenDB. */
  Token?: string
  /** Extension: the id of the claim, if it had one. A cache may send another claim's answer. */
  Claim?: string
  /** Extension: one result for each token that the claim has shown, in their order. */
  grants?: CheckInAnswer['grants']
  /** Extension: the public name of the ledger that the numbers come from, if it has one (H34). */
  Ledger?: string
  /** Extension, with it: the database there, by its name or a hash. Each counts for itself. */
  Database?: string
}

/**
 * Body of `POST /databases/{db}/hilo/next` (extension): claims for several collections in one round
 * trip.
 */
export interface NextManyRequest {
  /** A UUID. If the claim is sent again with it, every collection gets the same grant. */
  claim: string
  /** The device's name, for people. */
  device?: string | undefined
  collections: {
    tag: string
    /** How many numbers are asked for. A range of numbers that came back may have fewer. */
    count: number
    /** Default 0. */
    lastMax?: number
    /** Default `/`. */
    identityPartsSeparator?: string
    /** Tokens that are checked in with the claim, under its id. A refused claim replaces none. */
    grants?: CheckInRequest['grants']
    /**
     * The names of ledgers that the device holds numbers of, by server tag. A server with one of
     * these tags and another name refuses.
     */
    ledgers?: LedgerNames | undefined
  }[]
}

/**
 * Its answer, 201 or (nothing new) 200: one entry per collection of the request, in its order. If
 * one collection is refused, the others get their ranges. If the only one is refused, the refusal
 * is the HTTP answer.
 */
export interface NextManyAnswer {
  collections: (NextAnswer | ErrorAnswer)[]
}

/**
 * Body of `POST /databases/{db}/hilo/return` (extension): `[last + 1, end]` of the grant comes
 * back. The token stands in the body, because proxies write addresses into their logs. A body of
 * plain text needs no preflight, so a page can send it while it closes.
 */
export interface ReturnRequest extends ReturnedRange, Authorized {}

interface Authorized {
  /** As in the header, which a page that closes cannot send to another origin. */
  authorization?: string | undefined
}

/** The same of several grants of one database, in one request. */
export interface ReturnManyRequest extends Authorized {
  /** At most {@link MOST_TOKENS}. Each comes back, or has no effect, apart from the others. */
  returns: ReturnedRange[]
}

interface ReturnedRange {
  tag: string
  end: number
  last: number
  token: string
}

/**
 * Body of `POST /databases/{db}/hilo/checkin` (extension): every grant this device holds numbers
 * of. The same `id` gets the same answer.
 */
export interface CheckInRequest {
  /** A UUID. */
  id: string
  grants: {
    token: string
    /** The lowest number of the grant that is not known to be issued. */
    next: number
  }[]
  /** Tokens of grants whose numbers were all issued. The answer has no entry for them. */
  spent?: string[]
  /** As in a {@link NextManyRequest}. */
  ledgers?: LedgerNames | undefined
}

/** Its answer, 200: one entry per grant of the request, in its order. */
export interface CheckInAnswer {
  /** Of the request. Something in between may repeat the answer to another one. */
  id?: string
  /** The name of the ledger that answers, where the request shows one: another one is refused. */
  ledger?: string | undefined
  /** Its tag. */
  serverTag?: string
  grants: (
    | {
        /** The new token. Returns under the old one are ignored from now on. */
        token: string
        /**
         * Highest number that is still the device's; below the request's `next` when everything was
         * given back.
         */
        high: number
      }
    /**
     * Checked in by another copy of this device before, or gone from the ledger (a server restored
     * from an older backup).
     */
    | { superseded: true }
    /** The collection was dropped at the server, with all its grants. */
    | { dropped: true }
    /** Another server granted it, which may be behind the same address another time. */
    | { unknown: true }
  )[]
}

/** Body of a successful `POST /databases/{db}/identity/next`. */
export interface IdentityAnswer {
  NewIdentityValue: number
  /** Extension: the `claim` of the request, if it had one: its `raft-request-id` once more. */
  Claim?: string
}

/**
 * Body of `POST /databases/{db}/hilo/series` (extension): a device asks for a series of consecutive
 * numbers of its own. The same `claim` gets the same answer.
 */
export interface SeriesRequest {
  /** A UUID. */
  claim: string
  collection: string
  /** The device's name, for people. */
  device?: string | undefined
  /** A name for the series that no other has or had: `T3`. Absent: it gets the next letter. */
  series?: string | undefined
  /**
   * The series that this device has ended, because it is a copy of the device that holds it. The
   * numbers from … to … may exist twice.
   */
  ended?: { series: string; token: string; from: number; to: number } | undefined
  /**
   * The name of the ledger that gave this device its series. Another one refuses: letters have no
   * server tag, so each ledger gives the same ones (H34).
   */
  ledger?: string | undefined
}

/**
 * A name that an app chooses for a series. It has a digit, so it is none of the letters that the
 * server gives.
 */
export const SERIES_NAME = /^(?=.*\d)[A-Za-z0-9._/-]{1,20}$/

/** The prefix of an authority's numbers, as in the name of a range: `SETP:1-1000`. */
export const RANGE_PREFIX = /^[A-Za-z0-9._/-]{1,20}$/

/** Its answer, 201 or 200. */
export interface SeriesAnswer {
  /** Of the request. */
  claim?: string
  /** `B` */
  series: string
  token: string
  /** The public name of the ledger that gives it. */
  ledger: string
  /** The database there, by its name or a hash. */
  database?: string
  /**
   * The series of a lost device, which a person has handed over: it goes on after these numbers.
   */
  after?: SeriesMark
  /** With `after`: as the answer to a check-in has it. */
  mark?: string
  /** Which a person gave to it, the lowest first. */
  ranges?: SeriesRange[]
}

/** A hash of another form stays on the device. */
export const LINK_HASH = /^[\x20-\x7e]{1,512}$/

/** Its answer, 200. */
export type SeriesCheckInAnswer = SeriesCheckInOutcome & {
  /** Of the request. */
  id?: string
  /** The name of the ledger that answers, where the request shows one: another one is refused. */
  ledger?: string | undefined
}

type SeriesCheckInOutcome =
  /**
   * `closed`: no number may be made in this series any more. `ranges`: as when it was given.
   * `mark`: of all that the server knows of the series' periods; absent where it has none. `again`:
   * the server knew something else than it said last, for example because it was restored from a
   * backup.
   */
  | { token: string; closed?: SeriesClosed; ranges?: SeriesRange[]; mark?: string; again?: true }
  /**
   * Another copy of this device has checked in before. It said that it has made up to `last`. Or a
   * person has handed the series over to another device.
   */
  | { superseded: true; last: number; handedOver?: SeriesHandedOver }
  /** Written by another server, or by this one before it was restored from a backup. */
  | { unknown: true }

/** The hand-over of a series: by which person, from which device to which. */
export interface SeriesHandedOver extends SeriesClosed, DoneHandOver {}

interface SeriesClosed {
  at: string
  by: string
  reason: string
}

/** Answer of `GET /databases/{db}/hilo/series`. */
export interface SeriesList {
  series: ListedSeries[]
  /** The next page begins behind it: `?after=`. Absent: this page is the last one. */
  next?: string
}

/** Body of `POST /databases/{db}/hilo/series/close`. Its answer is the {@link ListedSeries}. */
export interface SeriesCloseRequest {
  collection: string
  /** `B` */
  series: string
  /** The person that closes it. */
  by: string
  reason: string
}

/**
 * Body of `POST /databases/{db}/hilo/series/hand-over`: another device goes on with the series. Its
 * answer is the {@link ListedSeries}.
 */
export interface SeriesHandOverRequest extends SeriesCloseRequest, StatedHandOver {}

/** With the numbers that stay with the first device. */
interface ListedHandOver extends SeriesHandedOver {
  taken: boolean
  /** Numbers that it made, as far as was heard or stated. */
  numbers: readonly SeriesPeriod[]
  link?: (SeriesLink & { last: number }) | undefined
  register?: SeriesLink | undefined
  /** The series was closed before, and went on. */
  closed?: SeriesClosed
}

export interface ListedSeries {
  collection: string
  series: string
  device: string
  /** How many of its numbers the server has heard of. */
  last: number
  /** From its first to its last number, where the series has periods or does not begin with 1. */
  periods?: readonly SeriesPeriod[]
  registered: string
  seen: string
  closed?: SeriesClosed
  /** Numbers that two copies of the device may have made. */
  doubtful?: { from: number; to: number } | undefined
  /** The record of the number `last` in its chain, which the server keeps. */
  link?: (SeriesLink & { last: number }) | undefined
  /** The last entry of its device's register that the server was told of. */
  register?: SeriesLink | undefined
  /** The last time that it was. `taken`: the other device has it. */
  handedOver?: SeriesHandedOver & { taken: boolean }
  /** Each time that it was, the newest last. */
  handOvers?: ListedHandOver[]
  /** Of an authority, the lowest first. */
  ranges?: readonly SeriesRange[]
}

/** Answer of `GET /databases/{db}/hilo/explain` (extension): where one number is. */
export interface ExplainAnswer {
  collection: string
  number: number
  /** The same in words, a line for each grant and series. */
  text: string
  /**
   * As the number of an id. Absent: the collection has no ranges, or only a series was asked for.
   */
  id?: {
    /**
     * - `used`: the device that got it has said that it was used there, or lost in a crash.
     * - `held`: the device that got it holds it, or has used it since it was heard of.
     * - `free`: it came back, and will be granted.
     * - `returned`: it came back, and is granted to nobody any more.
     * - `above`: it was never granted, and lies above all granted numbers.
     * - `forgotten`: no grant on record covers it. Grants are forgotten after the horizon, and
     *   some numbers are skipped.
     * - `elsewhere`: no grant on record covers it. The collection is counted by another server or
     *   counter, which may have given it to others.
     */
    state: 'used' | 'held' | 'free' | 'returned' | 'above' | 'forgotten' | 'elsewhere'
    /** How far the collection has gone. */
    max: number
    /** Nothing at or below is granted any more. Absent: the number is above. */
    floor?: number
  }
  grants: {
    low: number
    high: number
    granted: string
    heard: string
    node: string
    device: string
    returned: boolean
    usedTo?: number
  }[]
  series: (Omit<ListedSeries, 'collection' | 'periods' | 'register'> & {
    /** `device` made it. Absent: nobody knows which of those that had the series. */
    heard: readonly (SeriesPeriod & { device?: string | undefined })[]
  })[]
  /** The collection has more series, which were not looked at. */
  more?: true
}

/** Body of every refusal. */
export interface ErrorAnswer {
  Url: string
  Type: string
  Message: string
  Error: string
  /** Status 409: the device holds numbers of another ledger than this one. Nothing was granted. */
  Ledger?: string
  /** With it: its database, by its name or a hash. */
  Database?: string
  /** With it: its tag. */
  ServerTag?: string
  /** With it: this ledger follows that one, which granted nothing above this number. */
  Above?: number
}

/** Collections of a claim. */
export const MOST_CLAIMS = 100
/** Grant tokens of a request: those that it shows or returns, and as many that are spent. */
export const MOST_TOKENS = 100
/** Periods of a series in one check-in. */
export const MOST_PERIODS = 100
/** Bytes of UTF-8 of the name of a device or a person. */
export const MAX_NAME_BYTES = 128
export const MAX_PERIOD_BYTES = 64
export const MAX_REASON_BYTES = 1024

/**
 * The most that the parts of a request may have. A client sends no more, and a server that takes
 * less does not start: otherwise a request could be refused for its size at each repetition. The
 * client imports each constant by itself, and not this object.
 */
export const LIMITS = {
  claims: MOST_CLAIMS,
  tokens: MOST_TOKENS,
  periods: MOST_PERIODS,
  nameBytes: MAX_NAME_BYTES,
  periodBytes: MAX_PERIOD_BYTES,
  reasonBytes: MAX_REASON_BYTES,
  /** A claim whose collections have names of 501 quotes, and show tokens with these names. */
  bodyBytes: 262_144,
  /** Characters. A database and a collection with the longest names, percent-encoded. */
  urlLength: 4_096,
} as const

/** `Type` of a refusal of too many numbers: a claim for fewer may be granted. */
export const TOO_MANY = 'System.ArgumentOutOfRangeException'

/** Smallest capacity the protocol grants. */
export const MIN_CAPACITY = 32
/** The doubling of a capacity stops here (RavenDB). */
export const MAX_DOUBLED_CAPACITY = 1_048_576

/**
 * How many numbers a claim is granted: RavenDB's rule. The server remembers nothing for it: the
 * client echoes size and time.
 * @param lastBatchSize the `LastSize` of the client's previous range, 0 when it has none
 * @param age milliseconds since the client's previous range, `undefined` when it sent none or it
 * did not parse
 */
export const capacity = (lastBatchSize: number, age: number | undefined): number =>
  Math.max(MIN_CAPACITY, grown(lastBatchSize, age))

/** The same without a smallest capacity. */
export function grown(lastBatchSize: number, age: number | undefined): number {
  if (age === undefined) return lastBatchSize
  if (age < 30_000) return Math.min(lastBatchSize * 2, MAX_DOUBLED_CAPACITY)
  return age <= 60_000 ? lastBatchSize : Math.floor(lastBatchSize / 2)
}

/**
 * A time as RavenDB writes it: `2026-11-21T07:09:21.4660000Z`. Its clients read only exactly 7
 * fraction digits.
 */
export function formatServerTime(time: number): string {
  return `${new Date(time).toISOString().slice(0, -1)}0000Z`
}
