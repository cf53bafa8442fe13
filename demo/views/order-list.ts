/**
 * The list of orders, newest first. Rows stay where they are and only change their state; new rows
 * appear at the top.
 */
import { type Line, type Order, totalOf } from '../records.js'
import type { Kept, Snapshot, State } from '../store.js'
import { el, icon, idText, money, must, plural, setText } from './dom.js'
import { flyNumber } from './flight.js'

const LABELS: Record<State, [icon: string, label: string]> = {
  waiting: ['clock', 'Waiting'],
  sent: ['check', 'Sent'],
  refused: ['cross', 'Refused'],
  conflict: ['alert', 'Conflict'],
}
const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })

/** How many numbers fly to their orders at once, at most. */
const FLIGHTS = 3

export interface OrderActions {
  showMore(): void
  edit(order: Order): void
  repeat(order: Order): void
  /** Gives the order a new id. */
  reissue(order: Order): void
  resolve(order: Order, whose: 'mine' | 'theirs'): void
}

export class OrderList {
  readonly #list = must('#orders')
  readonly #empty = must('#orders-empty')
  readonly #summary = must('#orders-summary')
  readonly #more = must<HTMLButtonElement>('#orders-more')
  readonly #rows = new Map<string, { row: HTMLLIElement; stamp: string }>()
  #orders: readonly Order[] = []
  #isFirst = true

  constructor(actions: OrderActions) {
    const act: Record<string, (order: Order) => void> = {
      edit: actions.edit,
      repeat: actions.repeat,
      reissue: actions.reissue,
      mine: (order) => actions.resolve(order, 'mine'),
      theirs: (order) => actions.resolve(order, 'theirs'),
    }
    this.#more.addEventListener('click', actions.showMore)
    this.#list.addEventListener('click', ({ target }) => {
      const button = (target as Element).closest('button')
      const order = button && this.#orders.find(({ key }) => key === button.value)
      if (order) act[button.name]?.(order)
    })
  }

  render({ orders, customers, total, waiting, stuck }: Snapshot): void {
    this.#orders = orders
    // The grey rows of the page that was loading.
    if (this.#isFirst) this.#list.replaceChildren()
    const rows = orders.map((order) => this.#row(order, customers.get(order.customer)?.name ?? ''))
    const shown = new Set(orders.map(({ key }) => key))
    for (const [key, { row }] of this.#rows) {
      if (shown.has(key)) continue
      row.remove()
      this.#rows.delete(key)
    }
    rows.forEach((row, i) => {
      if (this.#list.children[i] !== row)
        this.#list.insertBefore(row, this.#list.children[i] ?? null)
    })
    const fresh = rows
      .filter((row) => row.classList.contains('is-new') && !row.dataset.hasArrived)
      .slice(0, FLIGHTS)
    for (const row of rows) row.dataset.hasArrived = 'true'
    for (const row of fresh) flyNumber(must('.id', row))
    this.#list.setAttribute('aria-busy', 'false')
    this.#list.hidden = total === 0
    this.#empty.hidden = total > 0
    this.#more.hidden = total <= orders.length
    setText(this.#more, `Show ${plural(Math.min(total - orders.length, 100), 'older order')}`)
    const parts = [
      plural(total, 'order'),
      waiting > 0 && `${waiting} waiting`,
      stuck > 0 && `${plural(stuck, 'needs', 'need')} a decision`,
    ]
    setText(this.#summary, total === 0 ? '' : parts.filter(Boolean).join(' · '))
    this.#isFirst = false
  }

  /**
   * Focuses a button of this order. If the row has no such button any more, it focuses another one.
   */
  focus(key: string, name: string): void {
    const row = this.#rows.get(key)?.row
    const button =
      row?.querySelector<HTMLButtonElement>(`[name="${name}"]`) ?? row?.querySelector('button')
    button?.focus()
  }

  #row(order: Kept<Order>, customer: string): HTMLLIElement {
    const known = this.#rows.get(order.key)
    const stamp = JSON.stringify([order, customer])
    if (known?.stamp === stamp) return known.row
    const row = draw(order, customer)
    if (known) row.dataset.hasArrived = 'true'
    else if (!this.#isFirst) row.classList.add('is-new')
    // A button that had the focus keeps it.
    const focused = known?.row.contains(document.activeElement)
      ? (document.activeElement as HTMLButtonElement).name
      : ''
    known?.row.replaceWith(row)
    this.#rows.set(order.key, { row, stamp })
    if (focused) this.focus(order.key, focused)
    return row
  }
}

function draw(order: Kept<Order>, customer: string): HTMLLIElement {
  const { id, customer: customerId, follows, lines, createdAt, tab, state, version } = order
  const [symbol, label] = LABELS[state]
  const made = ` · tab ${tab}${version > 1 ? ' · edited' : ''}`
  return el(
    'li',
    { class: 'order', 'data-state': state, 'data-id': id },
    idText(id),
    el(
      'span',
      { class: 'order-customer' },
      el('span', {}, customer),
      el('code', { class: 'ref' }, customerId),
    ),
    el(
      'span',
      { class: 'order-lines' },
      words(lines),
      follows ? el('span', {}, ' · repeats ', el('code', { class: 'ref' }, follows)) : undefined,
    ),
    el('span', { class: 'order-total' }, money(totalOf(lines))),
    el('span', { class: 'state' }, icon(symbol), label),
    el(
      'span',
      { class: 'order-made' },
      el('time', { datetime: createdAt }, time.format(new Date(createdAt))),
      made,
    ),
    problem(order) ??
      el(
        'span',
        { class: 'order-actions' },
        action(order, 'edit', 'Edit'),
        action(order, 'repeat', 'Order again'),
      ),
  )
}

function problem(order: Kept<Order>): HTMLElement | undefined {
  const { state, reason, current } = order
  if (state === 'refused')
    return el(
      'div',
      { class: 'order-reason' },
      el('p', {}, reason ?? ''),
      action(order, 'reissue', 'Give it a new id'),
    )
  if (state !== 'conflict' || !current) return undefined
  return el(
    'div',
    { class: 'order-reason' },
    el('p', {}, `Meanwhile, somebody else changed it to “${words(current.lines)}”.`),
    el(
      'span',
      { class: 'order-choices' },
      action(order, 'mine', 'Keep mine'),
      action(order, 'theirs', 'Take theirs'),
    ),
  )
}

const words = (lines: readonly Line[]): string =>
  lines.map(({ quantity, item }) => `${quantity} × ${item}`).join(', ')

/** For screen readers, each button names its order. */
const action = ({ key, id }: Order, name: string, label: string): HTMLButtonElement =>
  el(
    'button',
    { type: 'button', class: 'quiet', name, value: key },
    label,
    el('span', { class: 'unseen' }, ` ${id}`),
  )
