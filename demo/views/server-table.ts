/** What the server's table says: rows stored, and records its constraint refused because their id was taken. */
import { COLLECTIONS, type Counts } from '../records.js'
import { must, setText } from './dom.js'

export class ServerTable {
  readonly #forge = must<HTMLButtonElement>('#forge')

  constructor(forge: () => void) {
    this.#forge.addEventListener('click', () => this.#forge.getAttribute('aria-disabled') !== 'true' && forge())
  }

  /** @param canForge is there an order whose id could be used twice? */
  render(counts: Counts | undefined, canForge: boolean): void {
    for (const collection of COLLECTIONS) {
      const { stored, refused } = counts?.[collection] ?? {}
      setText(must(`#stored-${collection}`), stored?.toLocaleString('en') ?? '–')
      setText(must(`#refused-${collection}`), refused?.toLocaleString('en') ?? '–')
    }
    this.#forge.setAttribute('aria-disabled', String(!canForge))
  }
}
