/**
 * The form for a new order. Nothing typed is lost: the form is cleared only when the order exists,
 * and a reload restores a draft.
 */
import { type Hilo, HiloError } from '../../src/index.js'
import { CATALOGUE, SAMPLE_CUSTOMERS } from '../catalogue.js'
import type { Connection } from '../connection.js'
import { type Desk, NoIds } from '../desk.js'
import type { Order } from '../records.js'
import { el, money, must, plural, setText } from './dom.js'

const DRAFT_KEY = 'order-desk:draft'
const SAMPLES = 10
const STORM = 200

export class OrderForm {
  readonly #form = must<HTMLFormElement>('#new-order')
  readonly #customer = must<HTMLInputElement>('#customer')
  readonly #item = must<HTMLSelectElement>('#item')
  readonly #quantity = must<HTMLInputElement>('#quantity')
  readonly #problem = must('#problem')
  readonly #announce = must('#announce')
  readonly #desk: Desk
  readonly #connection: Connection
  readonly #hilo: Hilo
  readonly #made: () => void
  /** The ids that the last attempt needed and did not get. */
  #lacked: NoIds | undefined
  /** Id of the order that the next one repeats. */
  #follows: string | undefined

  constructor(desk: Desk, hilo: Hilo, connection: Connection, made: () => void) {
    this.#desk = desk
    this.#hilo = hilo
    this.#connection = connection
    this.#made = made
    this.#item.replaceChildren(
      ...CATALOGUE.map(({ item, cents }) =>
        el('option', { value: item }, `${item} · ${money(cents)}`),
      ),
    )
    this.#restore()
    this.#form.addEventListener('input', () => this.#saveDraft())
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault()
      this.attempt(() => this.#one())
    })
    must('#ten').addEventListener('click', () => this.attempt(() => this.#samples(SAMPLES)))
    must('#repeat-clear').addEventListener('click', () => this.#setFollows(undefined))
    for (const button of this.#form.querySelectorAll('button')) button.disabled = false
    must('#problem-online').addEventListener('click', () => this.#connection.switch(true))
  }

  /** Removes the message about missing ids once there are enough. */
  recheck(): void {
    if (!this.#lacked || this.#hilo.status(this.#lacked.collection).available < this.#lacked.wanted)
      return
    this.#lacked = undefined
    this.#problem.hidden = true
    setText(this.#announce, 'There are ids again. Try again now.')
  }

  suggest(names: Iterable<string>): void {
    const all = [...new Set([...names, ...SAMPLE_CUSTOMERS])].sort()
    const list = must('#customers')
    if (list.children.length !== all.length)
      list.replaceChildren(...all.map((value) => el('option', { value })))
  }

  async #one(): Promise<string> {
    const customer = this.#customer.value.trim()
    const product = CATALOGUE.find(({ item }) => item === this.#item.value)!
    const quantity = this.#quantity.valueAsNumber
    const id = await this.#desk.order({
      customer,
      line: { ...product, quantity },
      follows: this.#follows,
    })
    // Unless the user typed something else meanwhile.
    if (this.#customer.value.trim() === customer) {
      this.#customer.value = ''
      this.#quantity.value = '1'
      this.#setFollows(undefined)
      if (this.#form.contains(document.activeElement)) this.#customer.focus()
    }
    this.#saveDraft()
    return `Created ${id}.`
  }

  /** Two hundred orders at once. */
  storm(): Promise<void> {
    return this.attempt(() => this.#samples(STORM))
  }

  /** Fills the form with an order to repeat. */
  repeat({ id, lines }: Order, customer: string): void {
    const [line] = lines
    this.#customer.value = customer
    this.#item.value = line!.item
    this.#quantity.value = String(line!.quantity)
    this.#setFollows(id)
    this.#saveDraft()
    this.#customer.focus()
  }

  async #samples(count: number): Promise<string> {
    const ids = await this.#desk.orders(count)
    return `Created ${ids.length} orders, ${ids[0]} to ${ids.at(-1)}.`
  }

  /** @param work resolves with what to announce */
  async attempt(work: () => Promise<string>): Promise<void> {
    // Pressing Enter twice makes one order.
    if (this.#form.getAttribute('aria-busy') === 'true') return
    this.#form.setAttribute('aria-busy', 'true')
    try {
      setText(this.#announce, await work())
      this.#lacked = undefined
      this.#problem.hidden = true
    } catch (error) {
      this.#explain(error)
    } finally {
      this.#form.setAttribute('aria-busy', 'false')
      this.#made()
    }
  }

  #explain(error: unknown): void {
    console.error(error)
    this.#lacked = error instanceof NoIds ? error : undefined
    const canSwitch = this.#lacked !== undefined && !this.#connection.isSwitchedOn
    setText(
      must('#problem-title'),
      this.#lacked ? lack(this.#lacked, this.#hilo) : 'No order was created',
    )
    setText(must('#problem-text'), this.#lacked ? remedy(canSwitch) : HiloError.forUser(error))
    must('#problem-online').hidden = !canSwitch
    this.#problem.hidden = false
    // The storm is started far below.
    this.#problem.scrollIntoView({ block: 'nearest' })
  }

  #setFollows(id: string | undefined): void {
    this.#follows = id
    must('#repeat').hidden = id === undefined
    setText(must('#repeat-id'), id ?? '')
  }

  #saveDraft(): void {
    const draft = {
      customer: this.#customer.value,
      item: this.#item.value,
      quantity: this.#quantity.value,
      follows: this.#follows,
    }
    sessionStorage.setItem(DRAFT_KEY, JSON.stringify(draft))
  }

  #restore(): void {
    const draft = sessionStorage.getItem(DRAFT_KEY)
    // The user has typed something while the page was loading: it stays.
    if (!draft || this.#customer.value !== '') return
    const { customer, item, quantity, follows } = JSON.parse(draft)
    this.#customer.value = customer
    this.#item.value = item
    this.#quantity.value = quantity
    this.#setFollows(follows)
  }
}

function lack({ collection, wanted }: NoIds, hilo: Hilo): string {
  const { available } = hilo.status(collection)
  return available === 0
    ? `No ids for ${collection} are left on this device`
    : `Only ${plural(available, 'id')} for ${collection} ${available === 1 ? 'is' : 'are'} ` +
        `left on this device, ${wanted} are needed`
}

function remedy(canSwitch: boolean): string {
  const how = canSwitch
    ? 'Go online to get more ids.'
    : 'This device gets more ids as soon as the server answers.'
  return `Nothing that you typed is lost. ${how} Then try again.`
}
