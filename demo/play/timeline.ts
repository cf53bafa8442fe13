/** Draws the story so far: one row for each event, with the lanes of those who take part. */
import { el, must } from '../views/dom.js'
import { type Flight, type Lane, type Lanes, lanesOf } from './lanes.js'
import type { Run } from './run.js'
import { pageNames, sentenceOf } from './words.js'

/** In pixels. */
const FIRST = 14
const BETWEEN_DEVICES = 30
const BETWEEN_PAGES = 14

const SVG = 'http://www.w3.org/2000/svg'

export class Timeline {
  readonly #list = must<HTMLOListElement>('#story')
  readonly #head = must('#lanes')
  readonly #scroller = must('#story-scroller')

  /** @param goTo called with the place of the event that the user wants to see */
  constructor(goTo: (at: number) => void) {
    this.#list.addEventListener('click', ({ target }) => {
      const row = (target as Element).closest('li')
      if (row) goTo(Number(row.value))
    })
  }

  draw(run: Run): void {
    const lanes = lanesOf(run)
    const names = pageNames(run)
    const at = placesOf(lanes.order)
    const width = Math.max(...at.values()) + FIRST
    this.#scroller.style.setProperty('--lanes', `${width}px`)
    this.#head.replaceChildren(
      ...lanes.order
        .filter((lane) => !lane.includes('/'))
        .map((lane) => {
          const label = el('span', { class: deviceClass(lane) }, lane === 'server' ? 'S' : lane)
          label.style.setProperty('--x', `${at.get(lane)}px`)
          return label
        }),
    )
    this.#list.replaceChildren(
      ...run.moments.slice(1).map((moment, i) => {
        const row = i + 1
        const before = run.moments[i]!.system
        const text = sentenceOf(moment, before, names)
        const own = moment.isOwn ? el('em', { class: 'own' }, 'You: ') : undefined
        const problem = moment.problem && el('strong', { class: 'problem' }, ` ${moment.problem}`)
        const button = el('button', { type: 'button' }, own, text, problem || undefined)
        const item = el('li', { value: String(row) }, graph(lanes, row, at, width), button)
        return item
      }),
    )
  }

  goTo(at: number): void {
    let current: HTMLElement | undefined
    for (const item of this.#list.children as HTMLCollectionOf<HTMLLIElement>) {
      item.hidden = item.value > at
      const button = must('button', item)
      if (item.value === at) {
        button.setAttribute('aria-current', 'step')
        current = item
      } else button.removeAttribute('aria-current')
    }
    // A message that will be lost looks like any other until then.
    for (const line of this.#list.querySelectorAll<SVGElement>('[data-lost-at]'))
      line.classList.toggle('lost', Number(line.dataset.lostAt) <= at)
    const bottom = current ? current.offsetTop + current.offsetHeight : 0
    this.#scroller.scrollTop = bottom - this.#scroller.clientHeight
  }
}

function placesOf(order: readonly Lane[]): Map<Lane, number> {
  let x = FIRST
  return new Map(
    order.map((lane, i) => {
      if (i > 0) x += lane.includes('/') ? BETWEEN_PAGES : BETWEEN_DEVICES
      return [lane, x]
    }),
  )
}

const deviceClass = (lane: Lane) => `of-${lane.split('/')[0]}`

/** The part of the timeline beside one event. The parts above and below continue it. */
function graph(
  { rows, flights }: Lanes,
  row: number,
  at: ReadonlyMap<Lane, number>,
  width: number,
): HTMLElement {
  const { lane, towards, alive } = rows[row]!
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', `0 0 ${width} 100`)
  svg.setAttribute('preserveAspectRatio', 'none')
  const line = (kind: string, from: [number, number], to: [number, number]) => {
    const drawn = document.createElementNS(SVG, 'line')
    drawn.setAttribute('class', kind)
    for (const [name, value] of Object.entries({
      x1: from[0],
      y1: from[1],
      x2: to[0],
      y2: to[1],
    }))
      drawn.setAttribute(name, String(value))
    svg.append(drawn)
    return drawn
  }
  for (const each of alive)
    line(`life ${deviceClass(each)}`, [at.get(each)!, 0], [at.get(each)!, 100])
  for (const flight of flights) {
    const piece = pieceOf(flight, row, at)
    if (!piece) continue
    const drawn = line('flight', ...piece)
    if (flight.isLost) drawn.dataset.lostAt = `${flight.to.row}`
  }
  if (towards) line(`told ${deviceClass(towards)}`, [at.get(lane)!, 50], [at.get(towards)!, 50])
  const ends = flights.filter(({ to }) => to.row === row)
  const x = ends[0] ? endX(ends[0], at) : at.get(towards ?? lane)!
  const mark = el('i', { class: `mark ${deviceClass(lane)}${ends[0]?.isLost ? ' lost' : ''}` })
  mark.style.setProperty('--x', `${x}px`)
  const drawing = el('div', { class: 'graph', 'aria-hidden': 'true' }, mark)
  drawing.prepend(svg)
  return drawing
}

/** A lost message ends half-way. */
function endX({ from, to, isLost }: Flight, at: ReadonlyMap<Lane, number>): number {
  const [x0, x1] = [at.get(from.lane)!, at.get(to.lane)!]
  return isLost ? (x0 + x1) / 2 : x1
}

function pieceOf(
  flight: Flight,
  row: number,
  at: ReadonlyMap<Lane, number>,
): [[number, number], [number, number]] | undefined {
  const { from, to } = flight
  if (row < from.row || row > to.row) return undefined
  const x0 = at.get(from.lane)!
  const slope = (endX(flight, at) - x0) / (to.row - from.row)
  const xAt = (height: number) => x0 + slope * (height - from.row)
  const [top, bottom] = [Math.max(row - 0.5, from.row), Math.min(row + 0.5, to.row)]
  const yAt = (height: number) => (height - row + 0.5) * 100
  return [
    [xAt(top), yAt(top)],
    [xAt(bottom), yAt(bottom)],
  ]
}
