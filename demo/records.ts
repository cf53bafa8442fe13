/**
 * The records that the order desk stores and sends, and its server's answers. Page and server share
 * these types.
 */

export type Collection = 'orders' | 'customers'
export const COLLECTIONS: readonly Collection[] = ['orders', 'customers']

/** Who made a record with the id of another one on purpose, in place of a tab. */
export const FORGER = 'forger'

interface Made {
  /** Final from the first moment: `orders/33-A`. Nothing ever replaces it. */
  id: string
  /** Shows whether two records with one id are the same record, sent twice. */
  key: string
  /** ISO time. */
  createdAt: string
  /** The tab that made it. */
  tab: string
}

export interface Customer extends Made {
  name: string
}

export interface Line {
  item: string
  quantity: number
  /** Price of one, in cents. */
  cents: number
}

export interface Order extends Made {
  /** The customer's id, just as final: an order made offline refers to a customer made offline. */
  customer: string
  lines: Line[]
  /** Id of the order that this one repeats. */
  follows?: string
  /** 1 when it is made, one more with each edit. */
  version: number
  /** New with each edit. It shows whose edit the server has. */
  edit: string
}

export interface Records {
  orders: Order
  customers: Customer
}

/** A record on its way to the server. */
export type Sent<R> = R & {
  /** The version in the table, as far as the sender knows; 0 when it knows none. */
  base: number
}

/** The result for one record of a batch, with the HTTP status that it would have alone. */
export interface Result {
  key: string
  status: /** Stored now. */
    | 201
    /** The table had this very record already: an earlier answer was lost. */
    | 200
    /** Another record has this id; the table's constraint refused this one. */
    | 409
    /** Somebody else edited it first. */
    | 412
    /** It is no valid record. */
    | 422
    /** It refers to a record that the table does not have. */
    | 424
  reason?: string
  /** For 412: what the table has. */
  current?: Order
}

interface Count {
  /** Rows of the table. Its constraint gives each a different id. */
  stored: number
  /** Records that the constraint refused because their id was taken. */
  refused: number
  /** Those of them that somebody had made on purpose. */
  forged: number
  /** The highest number in an id of the table. */
  highest: number
}

export type Counts = Record<Collection, Count>

/** What the server says of a batch. */
export interface Answer {
  results: Result[]
  counts: Counts
}

/** What changed in the tables since somebody last asked. */
export interface Changes {
  customers: Customer[]
  orders: Order[]
  /** Send it with the next question. */
  since: number
  isAll: boolean
  counts: Counts
}

export const totalOf = (lines: readonly Line[]): number =>
  lines.reduce((sum, { quantity, cents }) => sum + quantity * cents, 0)

/** A random UUID; `crypto.randomUUID` is missing on plain-http pages. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
