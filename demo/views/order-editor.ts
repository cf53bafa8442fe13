/** The dialog that changes an order's lines. The order's id stays, and so do references to it. */
import { CATALOGUE } from '../catalogue.js'
import type { Line, Order } from '../records.js'
import { el, idText, money, must } from './dom.js'

export interface EditorActions {
  save(key: string, lines: Line[]): Promise<void>
  /**
   * The dialog was closed. The button that opened it may be gone, because its row was drawn again.
   */
  closed(key: string): void
}

export class OrderEditor {
  readonly #dialog = must<HTMLDialogElement>('#editor')
  readonly #form = must<HTMLFormElement>('form', this.#dialog)
  readonly #lines = must('#editor-lines')
  #order: Order | undefined

  constructor({ save, closed }: EditorActions) {
    must('#editor-add').addEventListener('click', () => {
      this.#addLine({ ...CATALOGUE[0]!, quantity: 1 })
        .querySelector('select')!
        .focus()
    })
    must('#editor-cancel').addEventListener('click', () => this.#dialog.close())
    this.#lines.addEventListener('click', ({ target }) => {
      const button = (target as Element).closest('button')
      if (!button || this.#lines.children.length === 1) return
      button.closest('li')!.remove()
      must('#editor-add').focus()
    })
    this.#form.addEventListener('submit', async (event) => {
      event.preventDefault()
      await save(this.#order!.key, this.#read())
      this.#dialog.close()
    })
    this.#dialog.addEventListener('close', () => closed(this.#order!.key))
  }

  open(order: Order): void {
    this.#order = order
    must('#editor-id').replaceChildren(idText(order.id))
    this.#lines.replaceChildren()
    for (const line of order.lines) this.#addLine(line)
    this.#dialog.showModal()
  }

  #addLine({ item, quantity, cents }: Line): HTMLElement {
    // An item that is no longer in the catalogue keeps its price.
    const products = CATALOGUE.some((product) => product.item === item)
      ? CATALOGUE
      : [{ item, cents }, ...CATALOGUE]
    const options = products.map((product) =>
      el('option', { value: product.item }, `${product.item} · ${money(product.cents)}`),
    )
    const select = el('select', { 'aria-label': 'Item' }, ...options)
    select.value = item
    const number = el('input', {
      type: 'number',
      min: '1',
      max: '999',
      step: '1',
      required: '',
      'aria-label': 'Quantity',
    })
    number.value = String(quantity)
    const line = el(
      'li',
      { class: 'line' },
      select,
      number,
      el('button', { type: 'button', class: 'quiet' }, 'Remove'),
    )
    this.#lines.append(line)
    return line
  }

  #read(): Line[] {
    return [...this.#lines.children].map((line) => {
      const item = line.querySelector('select')!.value
      const known = [...CATALOGUE, ...this.#order!.lines].find((product) => product.item === item)!
      return { item, quantity: line.querySelector('input')!.valueAsNumber, cents: known.cents }
    })
  }
}
