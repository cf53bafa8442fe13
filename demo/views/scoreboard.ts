/**
 * Figures of the orders in the server's own table: ids that reached it, how many are distinct,
 * duplicates, numbers without an order, and the forged duplicates that it refused.
 */
import type { Counts } from '../records.js'
import { must, plural, setText } from './dom.js'

export class Scoreboard {
  readonly #board = must('#scoreboard')

  render(counts: Counts | undefined): void {
    if (!counts) return
    const { stored, refused, forged, highest } = counts.orders
    const duplicates = refused - forged
    const figures = {
      issued: stored + duplicates,
      distinct: stored,
      duplicates,
      gaps: highest - stored,
    }
    for (const [name, figure] of Object.entries(figures))
      setText(must(`[data-figure="${name}"] dd`, this.#board), figure.toLocaleString('en'))
    this.#board.dataset.isTrusted = String(duplicates === 0)
    const note = must('#forged')
    note.hidden = forged === 0
    setText(
      note,
      `Refused: ${forged.toLocaleString('en')}. Somebody forged ${plural(forged, 'order')} under ` +
        'an id that was in the table already. Its primary key let none of them in.',
    )
    setText(must('#stored-customers'), counts.customers.stored.toLocaleString('en'))
  }
}
