/** Draws one state: the server, what is on its way, the devices with their pages, and the gaps. */
import { el, must } from '../views/dom.js'
import { makeDraggable } from './drag.js'
import type { Gap } from './outcome.js'
import { inRanges, type Place, placesIn } from './places.js'
import type { Message, System } from './run.js'
import { titleOf, wordsOf } from './words.js'

const MOVE_MS = 350

export interface Scene {
  system: System
  gaps: readonly Gap[]
  names: Names
}

/** The names of pages, by their ids. */
type Names = ReadonlyMap<string, string>
type Device = System['devices'][number]
type Page = Device['pages'][number]

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

  draw(scene: Scene): void {
    const before = chipsByNumber()
    const { system, gaps } = scene
    const places = placesIn(system)
    const twice = new Set(system.issued.filter(([, by]) => by.length > 1).map(([n]) => n))
    const at: ChipsAt = (kind, is) =>
      places.flatMap((all, number) =>
        all.some(is) ? [chip(number, twice.has(number) ? 'twice' : kind)] : [],
      )
    this.#drawServer(system, at)
    this.#drawMessages(system)
    const underWay = at('way', (place) => place.at === 'on its way')
    must('#way').replaceChildren(
      ...facts([['Granted or given back, and not received yet', underWay]]),
    )
    this.#devices.replaceChildren(
      ...system.devices.map((device) => deviceCard(device, scene.names, at)),
    )
    this.#gaps.replaceChildren(
      ...byReason(gaps).map(([reason, numbers]) =>
        el(
          'li',
          {},
          el('span', { class: 'chips' }, ...numbers.map((number) => chip(number, 'gap'))),
          el('span', { class: 'fine' }, `${inRanges(numbers)}: ${reason}`),
        ),
      ),
    )
    must('#no-gaps').hidden = gaps.length > 0
    moveChipsFrom(before)
  }

  #drawServer({ server: { collection } }: System, at: ChipsAt): void {
    const next = Math.max(collection.max, collection.floor) + 1
    const cameBack = at('free', (place) => place.at === 'server')
    this.#server.replaceChildren(
      fact('Next to be granted', [`${next}`]),
      fact('Came back, to be granted again', cameBack),
    )
  }

  /** Leaves the messages that stay untouched: one may have the focus, or be dragged just now. */
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
    // A user who loses messages by the keyboard goes on with the next one.
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
    makeDraggable(item, () => this.#lose(message))
    return item
  }
}

/** Chips of the numbers that have such a place. */
type ChipsAt = (kind: string, is: (place: Place) => boolean) => HTMLElement[]

function deviceCard({ name, pages, dead }: Device, names: Names, at: ChipsAt): HTMLElement {
  const onDevice = (kind: string, isSetAside: boolean) =>
    at(
      kind,
      (place) => place.at === 'device' && place.device === name && place.isSetAside === isSetAside,
    )
  const issued = at('issued', (place) => place.at === 'issued' && place.device === name)
  return el(
    'section',
    { class: `card device of-${name}`, 'aria-label': `Device ${name}` },
    el('h3', { class: `of-${name}` }, `Device ${name}`),
    fact('Free', onDevice('free', false)),
    ...facts([['Set aside for a page', onDevice('aside', true)]]),
    ...pages.map((page) => pageBox(page, name, names, at)),
    pages.length === 0 ? el('p', { class: 'fine page' }, 'No page is open.') : undefined,
    ...facts([['Gone, and not written off yet', dead.map((page) => names.get(page) ?? '')]]),
    fact('Issued', issued),
  )
}

function pageBox(page: Page, device: string, names: Names, at: ChipsAt): HTMLElement {
  const { id, isFrozen, asked } = page
  const held = (isOffer: boolean) =>
    at(
      'leased',
      (place) =>
        place.at === 'page' &&
        place.device === device &&
        place.page === id &&
        place.isOffer === isOffer,
    )
  const state = isFrozen ? 'in the cache' : asked.length > 0 ? 'waits for its device' : ''
  return el(
    'div',
    { class: isFrozen ? 'page frozen' : 'page' },
    el('h4', {}, `Page ${names.get(id)} `, el('span', { class: 'fine' }, state)),
    el('div', { class: 'chips' }, ...orDash(held(false))),
    ...facts([['To give back', held(true)]]),
  )
}

/** Where each number was drawn. */
function chipsByNumber(): ReadonlyMap<string, DOMRect> {
  return new Map(
    [...document.querySelectorAll<HTMLElement>('#stage .chip')].map((each) => [
      each.textContent!,
      each.getBoundingClientRect(),
    ]),
  )
}

/** Lets each number fly from where it was. */
function moveChipsFrom(before: ReadonlyMap<string, DOMRect>): void {
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

const chip = (number: number, kind: string) => el('span', { class: `chip ${kind}` }, `${number}`)

/** Shows a dash where there is nothing to show. */
const orDash = (content: (Node | string)[]) => (content.length > 0 ? content : ['–'])

function fact(label: string, content: (Node | string)[]): HTMLElement {
  return el(
    'div',
    { class: 'fact' },
    el('span', { class: 'fine' }, label),
    el('span', { class: 'chips' }, ...orDash(content)),
  )
}

/** The facts that have something to show. */
const facts = (all: [label: string, content: (Node | string)[]][]): HTMLElement[] =>
  all.filter(([, content]) => content.length > 0).map(([label, content]) => fact(label, content))

function byReason(gaps: readonly Gap[]): [reason: string, numbers: number[]][] {
  const reasons = new Map<string, number[]>()
  for (const { number, reason } of gaps)
    reasons.set(reason, [...(reasons.get(reason) ?? []), number])
  return [...reasons]
}
