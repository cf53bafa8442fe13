/**
 * Figures of the orders in the server's own table: ids that reached it, how many are distinct,
 * duplicates refused, numbers without an order.
 */
import type { Counts } from '../records.js'
import { must, setText } from './dom.js'

export class Scoreboard {
  readonly #board = must('#scoreboard')

  render(counts: Counts | undefined): void {
    if (!counts) return
    const { stored, refused, highest } = counts.orders
    const figures = {
      issued: stored + refused,
      distinct: stored,
      duplicates: refused,
      gaps: highest - stored,
    }
    for (const [name, figure] of Object.entries(figures))
      setText(must(`[data-figure="${name}"] dd`, this.#board), figure.toLocaleString('en'))
    this.#board.dataset.isTrusted = String(refused === 0)
    setText(must('#stored-customers'), counts.customers.stored.toLocaleString('en'))
  }
}
