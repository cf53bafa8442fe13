/**
 * What this device holds, per collection: ids left offline against the reserve, the state, gaps,
 * and what is wrong.
 */
import type { CollectionStatus, Hilo } from '../../src/index.js'
import { HiloError } from '../../src/index.js'
import type { Connection } from '../connection.js'
import type { Collection } from '../records.js'
import { el, must, plural, setText } from './dom.js'

const KEEP_MORE = 100

const STATES: Record<CollectionStatus['state'], string> = {
  ready: 'Ready',
  low: 'Low',
  claiming: 'Getting more',
  exhausted: 'Used up',
}

const STORAGE = {
  persistent: 'Kept for good: the browser does not delete this site’s storage.',
  opening: 'Opening the storage.',
  'best-effort':
    'Kept across reloads and tabs. The browser may delete them when space is short. That makes ' +
    'gaps, never duplicates.',
  memory:
    'Kept in memory only, because this browser gives the page no storage. Closing the page ' +
    'loses them.',
}

export class IdMeters {
  readonly #hilo: Hilo
  readonly #connection: Connection
  readonly #meters: Map<Collection, Meter>
  readonly #storage = must('#storage')
  readonly #isAsking = new Set<Collection>()

  constructor(hilo: Hilo, connection: Connection, collections: readonly Collection[]) {
    this.#hilo = hilo
    this.#connection = connection
    const root = must('#meters')
    root.replaceChildren()
    this.#meters = new Map(
      collections.map((collection) => [
        collection,
        drawMeter(root, collection, () => this.#keepMore(collection)),
      ]),
    )
  }

  render(): void {
    const { collections, storage } = this.#hilo.status()
    for (const [collection, meter] of this.#meters) {
      const status = collections[collection]
      if (status) meter.show(status)
      meter.button.setAttribute(
        'aria-disabled',
        String(this.#isAsking.has(collection) || !this.#connection.isOnline),
      )
    }
    setText(this.#storage, STORAGE[storage])
  }

  /** The ids that were here belong to another browser, which uses them. */
  forked(collection: string): void {
    this.#meters
      .get(collection as Collection)
      ?.problem(
        'The storage of this browser is a copy of another one’s. Its ids were dropped, and new ' +
          'ones are claimed.',
      )
  }

  async #keepMore(collection: Collection): Promise<void> {
    const meter = this.#meters.get(collection)!
    this.#isAsking.add(collection)
    this.render()
    try {
      await this.#hilo.reserve(collection, this.#hilo.status(collection).reserve + KEEP_MORE)
      meter.problem('')
    } catch (error) {
      if (!(error instanceof HiloError)) throw error
      console.error(error)
      meter.problem('There are no more ids now. Try again when the server answers.')
    } finally {
      this.#isAsking.delete(collection)
      this.render()
    }
  }
}

interface Meter {
  button: HTMLButtonElement
  show(status: CollectionStatus): void
  problem(message: string): void
}

function drawMeter(root: Element, collection: Collection, keepMore: () => void): Meter {
  const name = el('h3', { id: `meter-${collection}` }, collection)
  const state = el('span', { class: 'pill' })
  const count = el('b', { class: 'meter-count' })
  const unit = el('span', { class: 'meter-unit' })
  const bar = el(
    'div',
    { class: 'meter-bar', role: 'meter', 'aria-labelledby': name.id, 'aria-valuemin': '0' },
    el('div', { class: 'meter-fill' }),
  )
  const facts = el('p', { class: 'fine' })
  const button = el('button', { type: 'button', class: 'quiet' }, `Keep ${KEEP_MORE} more`)
  const problem = el('p', { class: 'meter-problem', role: 'status' })
  let asked = ''
  let failed = ''
  root.append(
    el(
      'section',
      { class: 'meter', 'data-collection': collection },
      el('div', { class: 'split' }, name, state),
      el('div', { class: 'split' }, el('p', { class: 'meter-left' }, count, ' ', unit), button),
      bar,
      facts,
      problem,
    ),
  )
  button.addEventListener(
    'click',
    () => button.getAttribute('aria-disabled') !== 'true' && keepMore(),
  )
  return {
    button,
    problem(message) {
      asked = message
      setText(problem, asked || failed)
    },
    show({ available, leased, reserve, state: current, gaps, lastError }) {
      const full = Math.max(reserve, 1)
      root.querySelector(`[data-collection=${collection}]`)!.setAttribute('data-state', current)
      setText(state, STATES[current])
      setText(count, available.toLocaleString('en'))
      setText(unit, available === 1 ? 'id left offline' : 'ids left offline')
      setText(
        facts,
        `${leased} of them in this tab\u00a0· more come below ${Math.ceil(reserve / 2)}` +
          (gaps > 0 ? `\u00a0· ${plural(gaps, 'number')} may be lost` : ''),
      )
      failed = lastError ? 'More ids cannot be had now. The desk tries again by itself.' : ''
      setText(problem, asked || failed)
      bar.setAttribute('aria-valuemax', String(Math.max(full, available)))
      bar.setAttribute('aria-valuenow', String(available))
      bar.style.setProperty('--share', String(Math.min(1, available / full)))
    },
  }
}
