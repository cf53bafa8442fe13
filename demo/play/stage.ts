/** Draws one state: the server, what is on its way, the devices with their pages, and the gaps. */
import { el, must } from '../views/dom.js'
import type { Gap } from './outcome.js'
import { inRanges, type Place, placesIn } from './places.js'
import type { Message, System } from './run.js'
import { titleOf, wordsOf } from './words.js'

/** In pixels: a message that is dragged further is lost. */
const LOST_AFTER = 72
const MOVE_MS = 350

export interface Scene {
  system: System
  gaps: readonly Gap[]
  names: ReadonlyMap<string, string>
}

export class Stage {
  readonly #server = must('#server')
  readonly #messages = must('#messages')
  readonly #devices = must('#devices')
  readonly #gaps = must('#gaps')
  readonly #items = new Map<Message, HTMLLIElement>()
  readonly #lose: (message: Message) => void

  constructor(lose: (message: Message) => void) {
    this.#lose = lose
  }

  draw({ system, gaps, names }: Scene): void {
    const before = this.#chipsByNumber()
    const places = placesIn(system)
    const having = (is: (place: Place) => boolean) =>
      places.flatMap((all, number) => (all.some(is) ? [number] : []))
    const twice = new Set(system.issued.filter(([, by]) => by.length > 1).map(([n]) => n))
    const chips = (kind: string, numbers: readonly number[]) =>
      numbers.map((number) => chip(number, twice.has(number) ? 'twice' : kind))
    const { max, floor } = system.server.collection
    this.#server.replaceChildren(
      fact('Next to be granted', [`${Math.max(max, floor) + 1}`]),
      fact(
        'Came back, to be granted again',
        chips(
          'free',
          having(({ at }) => at === 'server'),
        ),
      ),
    )
    this.#drawMessages(system)
    const way = having(({ at }) => at === 'on its way')
    must('#way').replaceChildren(
      ...(way.length > 0 ? [fact('Granted, or on their way back', chips('way', way))] : []),
    )
    this.#devices.replaceChildren(
      ...system.devices.map(({ name, pages, dead }) => {
        const on = (is: (place: Place) => boolean) =>
          having((place) => 'device' in place && place.device === name && is(place))
        const free = on((place) => place.at === 'device' && !place.isSetAside)
        const aside = on((place) => place.at === 'device' && place.isSetAside)
        const title = el('h3', { class: `of-${name}` }, `Device ${name}`)
        const open = pages.map(({ id, isFrozen, asked }) => {
          const ofPage = (isOffer: boolean) =>
            on((place) => place.at === 'page' && place.page === id && place.isOffer === isOffer)
          const state = isFrozen ? 'in the cache' : asked ? 'waits for its device' : ''
          return el(
            'div',
            { class: `page${isFrozen ? ' frozen' : ''}` },
            el('h4', {}, `Page ${names.get(id)} `, el('span', { class: 'fine' }, state)),
            el('div', { class: 'chips' }, ...chips('leased', ofPage(false))),
            ...facts([['To give back', chips('leased', ofPage(true))]]),
          )
        })
        const killed = dead.length > 0 ? `${dead.length} not written off yet` : undefined
        return el(
          'section',
          { class: `card device of-${name}`, 'aria-label': `Device ${name}` },
          el(
            'div',
            { class: 'split' },
            title,
            el('span', { class: 'fine' }, killed && `${killed}`),
          ),
          fact('Free', chips('free', free)),
          ...facts([['Set aside for a page', chips('aside', aside)]]),
          ...(open.length > 0 ? open : [el('p', { class: 'fine page' }, 'No page is open.')]),
          fact(
            'Issued',
            chips(
              'issued',
              on(({ at }) => at === 'issued'),
            ),
          ),
        )
      }),
    )
    this.#gaps.replaceChildren(
      ...byReason(gaps).map(([why, numbers]) =>
        el(
          'li',
          {},
          el('span', { class: 'chips' }, ...chips('gap', numbers)),
          el('span', { class: 'fine' }, why),
        ),
      ),
    )
    must('#no-gaps').hidden = gaps.length > 0
    this.#moveFrom(before)
  }

  /** What stays is not touched: it may have the focus, or be dragged. */
  #drawMessages(system: System): void {
    const { messages } = system
    const hadFocus = this.#messages.contains(document.activeElement)
    for (const [message, item] of this.#items)
      if (!messages.includes(message)) {
        item.remove()
        this.#items.delete(message)
      }
    for (const [i, message] of messages.entries()) {
      const item = this.#items.get(message) ?? this.#messageItem(message, system)
      this.#items.set(message, item)
      const there = this.#messages.children[i] ?? null
      if (there !== item) this.#messages.insertBefore(item, there)
    }
    must('#no-messages').hidden = messages.length > 0
    // Whoever loses messages by the keyboard goes on with the next one.
    if (hadFocus && !this.#messages.contains(document.activeElement))
      (this.#messages.querySelector('button') ?? must('#step')).focus()
  }

  #messageItem(message: Message, system: System): HTMLLIElement {
    const title = titleOf(message, system)
    const lose = el('button', { type: 'button', class: 'quiet' }, 'Lose')
    lose.setAttribute('aria-label', `Lose: ${title}`)
    lose.addEventListener('click', () => this.#lose(message))
    const item = el(
      'li',
      { class: 'message' },
      el('span', { class: 'way', 'aria-hidden': 'true' }, message.to === 'server' ? '↑' : '↓'),
      el('p', {}, el('strong', {}, title), el('br', {}), wordsOf(message)),
      lose,
    )
    item.addEventListener('keydown', ({ key }) => {
      if (key === 'Delete' || key === 'Backspace') this.#lose(message)
    })
    this.#makeDraggable(item, message)
    return item
  }

  #makeDraggable(item: HTMLLIElement, message: Message): void {
    let start: PointerEvent | undefined
    const distance = (event: PointerEvent) =>
      start ? Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) : 0
    item.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || (event.target as Element).closest('button')) return
      start = event
      item.setPointerCapture(event.pointerId)
    })
    item.addEventListener('pointermove', (event) => {
      if (!start) return
      const [x, y] = [event.clientX - start.clientX, event.clientY - start.clientY]
      item.style.translate = `${x}px ${y}px`
      item.classList.toggle('leaving', distance(event) > LOST_AFTER)
    })
    const end = (event: PointerEvent) => {
      const isLost = event.type === 'pointerup' && distance(event) > LOST_AFTER
      start = undefined
      item.style.translate = ''
      item.classList.remove('leaving')
      if (isLost) this.#lose(message)
    }
    item.addEventListener('pointerup', end)
    item.addEventListener('pointercancel', end)
  }

  #chipsByNumber(): Map<string, DOMRect> {
    return new Map(
      [...document.querySelectorAll<HTMLElement>('#stage .chip')].map((each) => [
        each.textContent!,
        each.getBoundingClientRect(),
      ]),
    )
  }

  /** Each number flies from where it was. */
  #moveFrom(before: ReadonlyMap<string, DOMRect>): void {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return
    for (const each of document.querySelectorAll<HTMLElement>('#stage .chip')) {
      const old = before.get(each.textContent!)
      const now = each.getBoundingClientRect()
      if (!old || (old.x === now.x && old.y === now.y)) continue
      const from = `${old.x - now.x}px ${old.y - now.y}px`
      each.animate([{ translate: from }, { translate: '0 0' }], {
        duration: MOVE_MS,
        easing: 'ease-out',
      })
    }
  }
}

const chip = (number: number, kind: string) => el('span', { class: `chip ${kind}` }, `${number}`)

function fact(label: string, content: (Node | string)[]): HTMLElement {
  return el(
    'div',
    { class: 'fact' },
    el('span', { class: 'fine' }, label),
    el('span', { class: 'chips' }, ...(content.length > 0 ? content : ['–'])),
  )
}

/** Only those that have something to show. */
const facts = (all: [label: string, content: Node[]][]): HTMLElement[] =>
  all.filter(([, content]) => content.length > 0).map(([label, content]) => fact(label, content))

function byReason(gaps: readonly Gap[]): [why: string, numbers: number[]][] {
  const reasons = new Map<string, number[]>()
  for (const { number, reason } of gaps)
    reasons.set(reason, [...(reasons.get(reason) ?? []), number])
  return [...reasons].map(([reason, numbers]) => [`${inRanges(numbers)}: ${reason}`, numbers])
}
