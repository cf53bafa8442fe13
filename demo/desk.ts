/**
 * Makes orders: takes final ids and writes the records. After a failed attempt, the next one uses
 * what the first already made.
 */
import { type Hilo, HiloError } from '../src/index.js'
import { CATALOGUE, SAMPLE_CUSTOMERS } from './catalogue.js'
import { type Collection, type Customer, FORGER, type Line, newKey, type Order } from './records.js'
import type { DeskStore } from './store.js'

/** There were too few ids. What the user typed has to be kept. */
export class NoIds extends Error {
  override readonly name = 'NoIds'
  readonly collection: Collection
  readonly wanted: number

  constructor(collection: Collection, wanted: number, cause: unknown) {
    super(`The device has fewer than ${wanted} ids for ${collection}.`, { cause })
    this.collection = collection
    this.wanted = wanted
  }
}

export interface Draft {
  customer: string
  line: Line
  /** Id of the order that this one repeats. */
  follows?: string | undefined
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

  /**
   * @throws NoIds, HiloError. Then no order was made. The customer may exist already; the next
   * attempt uses it.
   */
  async order({ customer, line, follows }: Draft): Promise<string> {
    const customerId = await this.#customer(customer)
    const id = await this.#id('orders')
    await this.#store.add('orders', [
      this.#order(id, { customer: customerId, lines: [line], ...(follows && { follows }) }),
    ])
    return id
  }

  /** Sample orders, all or none. */
  async orders(count: number): Promise<string[]> {
    const customers = await this.#customers(SAMPLE_CUSTOMERS)
    const ids = await this.#hilo.nextIds('orders', count).catch(lacking('orders', count))
    const orders = ids.map((id, i) => {
      const product = CATALOGUE[i % CATALOGUE.length]!
      const line = { item: product.item, cents: product.cents, quantity: 1 + (i % 4) }
      const customer = customers[i % customers.length]!
      return this.#order(id, { customer, lines: [line] }, i)
    })
    await this.#store.add('orders', orders)
    return ids
  }

  /** Makes a second order with the id of another one. The server's table will refuse it. */
  async forge({ id, customer, lines }: Order): Promise<void> {
    await this.#store.add('orders', [{ ...this.#order(id, { customer, lines }), tab: FORGER }])
  }

  async edit(key: string, lines: Line[]): Promise<void> {
    await this.#store.edit(key, lines)
  }

  /** Gives a refused order a new id. Errors as {@link order}. */
  async reissue(refused: Order): Promise<string> {
    const id = await this.#id('orders')
    const { customer, lines } = refused
    await this.#store.replace(refused, this.#order(id, { customer, lines }))
    return id
  }

  async #customer(name: string): Promise<string> {
    const known = await this.#store.customerNamed(name)
    if (known) return known.id
    const id = await this.#id('customers')
    await this.#store.add('customers', [{ ...this.#made(id), name } satisfies Customer])
    return id
  }

  /** The ids of customers. Those that are new take theirs from a batch. */
  async #customers(names: readonly string[]): Promise<string[]> {
    const known = await Promise.all(names.map((name) => this.#store.customerNamed(name)))
    const added = names.filter((_, i) => !known[i])
    const { length } = added
    const batch = await this.#hilo.take('customers', length).catch(lacking('customers', length))
    const made = added.map((name, i): Customer => ({ ...this.#made(batch.next(), i), name }))
    batch.end()
    await this.#store.add('customers', made)
    return names.map((name, i) => (known[i] ?? made.find((each) => each.name === name)!).id)
  }

  #id(collection: Collection): Promise<string> {
    return this.#hilo.nextId(collection).catch(lacking(collection, 1))
  }

  #order(id: string, content: Pick<Order, 'customer' | 'lines' | 'follows'>, place = 0): Order {
    return { ...this.#made(id, place), ...content, version: 1, edit: newKey() }
  }

  /** @param place within its batch, so that the batch keeps its order */
  #made(id: string, place = 0) {
    return {
      id,
      key: newKey(),
      createdAt: new Date(Date.now() + place).toISOString(),
      tab: this.#tab,
    }
  }
}

const lacking =
  (collection: Collection, count: number) =>
  (error: unknown): never => {
    throw HiloError.isOutOfIds(error) ? new NoIds(collection, count, error) : error
  }
