/**
 * The card with this device's receipts: consecutive numbers, also offline, and a button that kills
 * the tab. Receipts that were printed and not confirmed before the crash are there afterwards.
 */
import {
  type Consecutive,
  consecutive,
  type ReportedNumber,
} from '../../src/addons/consecutive/index.js'
import { type Hilo, HiloError } from '../../src/index.js'
import { pullThePlug } from '../plug.js'
import { el, idText, must, plural, setText } from './dom.js'

/** How many receipts are listed. Older ones are only counted. */
const SHOWN = 5

export class Receipts {
  /** Makes the receipts’ numbers. */
  readonly made: Consecutive
  readonly #list = must('#receipts')
  readonly #summary = must('#receipts-summary')
  readonly #problem = must('#receipts-problem')

  constructor(hilo: Hilo) {
    this.made = consecutive(hilo, 'receipts')
    const print = must<HTMLButtonElement>('#print')
    print.disabled = false
    print.addEventListener('click', () => this.#attempt(() => this.made.next({ key: newSale() })))
    must('#kill-printing').addEventListener('click', () => pullThePlug(hilo))
    // With a series, the first receipt can be made offline. Without a network it is asked for then.
    void this.#attempt(() => this.made.prepare().catch(() => {}))
  }

  /** Does the work. Then shows the receipts, and why the work failed if it did. */
  async #attempt(work: () => Promise<unknown>): Promise<void> {
    let problem = ''
    await work().catch((error: unknown) => {
      console.error(error)
      problem = HiloError.forUser(error)
    })
    setText(this.#problem, problem)
    this.#problem.hidden = problem === ''
    // If the storage did not open, the message above says so.
    const reports = await this.made.report().catch(() => [])
    this.#render(reports.flatMap(({ numbers }) => numbers))
  }

  #render(numbers: readonly ReportedNumber[]): void {
    const open = numbers.filter(({ state }) => state === 'open').length
    setText(
      this.#summary,
      numbers.length === 0
        ? 'Their numbers follow each other: none is missing, also when a tab is killed.'
        : `${plural(numbers.length, 'receipt')}, no number missing · ${open} not confirmed`,
    )
    const shown = numbers.slice(-SHOWN).reverse()
    this.#list.replaceChildren(...shown.map((each) => this.#line(each)))
  }

  #line({ id, state, key, reason }: ReportedNumber): HTMLElement {
    const button = (text: string, act: () => Promise<void>) => {
      const made = el('button', { type: 'button', class: 'quiet' }, text)
      made.addEventListener('click', () => this.#attempt(act))
      return made
    }
    return el(
      'li',
      { class: 'receipt', 'data-id': id, 'data-state': state },
      idText(id),
      ...(state === 'open'
        ? [
            button('Confirm', () => this.made.settle(key!, 'confirmed')),
            button('Cancel', () =>
              this.made.settle(key!, 'cancelled', { reason: 'cancelled at the desk' }),
            ),
          ]
        : [el('span', { class: 'fine' }, reason ?? state)]),
    )
  }
}

/** The key of a sale that has no receipt yet. */
const newSale = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('')
