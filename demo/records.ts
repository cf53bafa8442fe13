/** What the order desk keeps and sends, and what its server answers: the words that page and server share. */

export type Collection = 'orders' | 'customers'
export const COLLECTIONS: readonly Collection[] = ['orders', 'customers']

interface Made {
  /** Final from the first moment: `orders/33-A`. Nothing ever replaces it. */
  id: string
  /** Tells the same record sent twice from two records with one id. */
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
}

export interface Records {
  orders: Order
  customers: Customer
}

/** What became of one record of a batch, with the HTTP status it would have had alone. */
export interface Result {
  key: string
  status: /** Stored now. */
    | 201
    /** Was there already, the very same: an earlier answer got lost. */
    | 200
    /** Another record has this id; the table's constraint refused this one. */
    | 409
    /** It is no valid record. */
    | 422
    /** It refers to a customer that the table does not have. */
    | 424
  reason?: string
}

interface Count {
  /** Rows of the table; each has an id of its own, by its constraint. */
  stored: number
  /** Records that the constraint refused because their id was taken. */
  refused: number
}

export type Counts = Record<Collection, Count>

export const totalOf = (lines: readonly Line[]): number => lines.reduce((sum, { quantity, cents }) => sum + quantity * cents, 0)
