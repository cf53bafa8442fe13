/** The list of orders, newest first. Rows stay where they are and only change their state; new ones come in at the top. */
import { type Order, totalOf } from '../records.js'
import type { Kept, Snapshot, State } from '../store.js'
import { el, icon, idText, money, must, plural, setText } from './dom.js'

const LABELS: Record<State, [icon: string, label: string]> = {
  waiting: ['clock', 'Waiting'],
  sent: ['check', 'Sent'],
  refused: ['cross', 'Refused'],
}
const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })

export class OrderList {
  readonly #list = must('#orders')
  readonly #empty = must('#orders-empty')
  readonly #summary = must('#orders-summary')
  readonly #more = must<HTMLButtonElement>('#orders-more')
  readonly #rows = new Map<string, { row: HTMLLIElement; state: State; customer: string }>()
  #orders: readonly Order[] = []
  #isFirst = true

  constructor(showMore: () => void, reissue: (order: Order) => void) {
    this.#more.addEventListener('click', showMore)
    this.#list.addEventListener('click', ({ target }) => {
      const button = (target as Element).closest('button')
      const order = button && this.#orders.find(({ key }) => key === button.value)
      if (order) reissue(order)
    })
  }

  render({ orders, customers, total, waiting, refused }: Snapshot): void {
    this.#orders = orders
    // The skeleton.
    if (this.#isFirst) this.#list.replaceChildren()
    const rows = orders.map((order) => this.#row(order, customers.get(order.customer)?.name ?? ''))
    const shown = new Set(orders.map(({ key }) => key))
    for (const [key, { row }] of this.#rows) {
      if (shown.has(key)) continue
      row.remove()
      this.#rows.delete(key)
    }
    rows.forEach((row, i) => {
      if (this.#list.children[i] !== row) this.#list.insertBefore(row, this.#list.children[i] ?? null)
    })
    this.#list.setAttribute('aria-busy', 'false')
    this.#list.hidden = total === 0
    this.#empty.hidden = total > 0
    this.#more.hidden = total <= orders.length
    setText(this.#more, `Show ${plural(Math.min(total - orders.length, 100), 'older order')}`)
    const parts = [plural(total, 'order'), waiting > 0 && `${waiting} waiting`, refused > 0 && `${refused} refused`]
    setText(this.#summary, total === 0 ? '' : parts.filter(Boolean).join(' · '))
    this.#isFirst = false
  }

  #row(order: Kept<Order>, customer: string): HTMLLIElement {
    const known = this.#rows.get(order.key)
    if (known?.state === order.state && known.customer === customer) return known.row
    const row = draw(order, customer)
    if (!known && !this.#isFirst) row.classList.add('is-new')
    known?.row.replaceWith(row)
    this.#rows.set(order.key, { row, state: order.state, customer })
    return row
  }
}

function draw({ id, key, customer: customerId, lines, createdAt, tab, state, reason }: Kept<Order>, customer: string): HTMLLIElement {
  const [symbol, label] = LABELS[state]
  const content = lines.map(({ quantity, item }) => `${quantity} × ${item}`).join(', ')
  return el(
    'li',
    { class: 'order', 'data-state': state, 'data-id': id },
    idText(id),
    el('span', { class: 'order-customer' }, el('span', {}, customer), el('code', { class: 'ref' }, customerId)),
    el('span', { class: 'order-lines' }, content),
    el('span', { class: 'order-total' }, money(totalOf(lines))),
    el('span', { class: 'state' }, icon(symbol), label),
    el('span', { class: 'order-made' }, el('time', { datetime: createdAt }, time.format(new Date(createdAt))), ` · tab ${tab}`),
    state === 'refused'
      ? el(
          'div',
          { class: 'order-reason' },
          el('p', {}, reason ?? ''),
          el('button', { type: 'button', class: 'quiet', value: key }, 'Give it a new id'),
        )
      : undefined,
  )
}
