/** Makes orders: takes final ids, writes the records, and keeps what a half-made order already has. */
import { type Hilo, HiloError } from '../src/index.js'
import { CATALOGUE, SAMPLE_CUSTOMERS } from './catalogue.js'
import type { Collection, Customer, Line, Order } from './records.js'
import type { DeskStore } from './store.js'

/** There are not as many ids as were needed; what was typed has to be kept. */
export class NoIds extends Error {
  readonly collection: Collection
  readonly wanted: number

  constructor(collection: Collection, wanted: number, cause: unknown) {
    super(`There are no ${wanted} ids for ${collection}.`, { cause })
    this.collection = collection
    this.wanted = wanted
  }
}

export interface Draft {
  customer: string
  line: Line
}

export class Desk {
  readonly #hilo: Hilo
  readonly #store: DeskStore
  readonly #tab: string

  constructor(hilo: Hilo, store: DeskStore, tab: string) {
    this.#hilo = hilo
    this.#store = store
    this.#tab = tab
  }

  /** @throws NoIds, HiloError. Nothing was made then but perhaps the customer, which the next attempt finds. */
  async order({ customer, line }: Draft): Promise<string> {
    const customerId = await this.#customer(customer)
    const [id] = await this.#ids('orders', 1)
    await this.#store.add('orders', [this.#made(id!, { customer: customerId, lines: [line] })])
    return id!
  }

  /** Sample orders, all or none. */
  async orders(count: number): Promise<string[]> {
    const customers: string[] = []
    for (const name of SAMPLE_CUSTOMERS) customers.push(await this.#customer(name))
    const ids = await this.#ids('orders', count)
    const orders = ids.map((id, i) => {
      const product = CATALOGUE[i % CATALOGUE.length]!
      const line = { item: product.item, cents: product.cents, quantity: 1 + (i % 4) }
      return this.#made(id, { customer: customers[i % customers.length]!, lines: [line] }, i)
    })
    await this.#store.add('orders', orders)
    return ids
  }

  /** A second order under an id that another one has, for the server's table to refuse. */
  async forge({ id, customer, lines }: Order): Promise<void> {
    await this.#store.add('orders', [this.#made(id, { customer, lines })])
  }

  /** The same order under an id of its own. Errors as {@link order}. */
  async reissue(refused: Order): Promise<string> {
    const [id] = await this.#ids('orders', 1)
    const { customer, lines } = refused
    await this.#store.replace(refused, this.#made(id!, { customer, lines }))
    return id!
  }

  async #customer(name: string): Promise<string> {
    const known = await this.#store.customerNamed(name)
    if (known) return known.id
    const [id] = await this.#ids('customers', 1)
    await this.#store.add('customers', [this.#made<Customer>(id!, { name })])
    return id!
  }

  async #ids(collection: Collection, count: number): Promise<string[]> {
    try {
      return await this.#hilo.nextIds(collection, count)
    } catch (error) {
      throw error instanceof HiloError && error.code === 'exhausted' ? new NoIds(collection, count, error) : error
    }
  }

  /** @param place within its batch, so that the batch keeps its order */
  #made<R extends Customer | Order = Order>(id: string, content: Omit<R, keyof Customer & keyof Order>, place = 0): R {
    const createdAt = new Date(Date.now() + place).toISOString()
    return { id, key: newKey(), createdAt, tab: this.#tab, ...content } as R
  }
}

/** A random UUID; `crypto.randomUUID` is missing on plain-http pages. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
