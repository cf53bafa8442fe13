/**
 * One collection's number line on the page, drawn to scale. Wheel, pinch, drag, buttons and keys
 * zoom and move it. Every piece can be focused and has a text.
 */
import { button, h, say, update } from './dom.js'
import { type Piece, seriesOf } from './history.js'
import { closeUp, pan, place, reveal, ticks, type Viewport, whole, zoom } from './line-geometry.js'
import { count, KINDS, pageName, span } from './words.js'

export interface LineView {
  element: HTMLElement
  show(pieces: Piece[]): void
}

const KEYS = 'Arrow keys go from piece to piece, + and − zoom, 0 shows all, Enter zooms to a piece.'
const STEP = 1.6
/** Height of the numbers of one prefix and server tag. */
const LANE_PX = 36
/** A pointer may move this far and still be a click. */
const DRAG_PX = 4

export function createLineView(name: string): LineView {
  let pieces: Piece[] = []
  /** Undefined: always everything. */
  let view: Viewport | undefined
  /** Key of the piece that Tab focuses. */
  let current: string | undefined
  let dragged = 0
  const shown = new Map<string, HTMLButtonElement>()
  const pointers = new Map<number, number>()
  const all = () => whole(pieces)
  const seen = () => view ?? all()

  const track = h('div.track', { role: 'group', 'aria-label': `Number line of ${name}. ${KEYS}` })
  const scale = h('div.scale', { 'aria-hidden': 'true' })
  const detail = h('p.detail')
  const wider = [
    button('−', () => zoomBy(STEP), `Zoom out of ${name}`),
    button('All', () => look(undefined), `All of ${name}`),
  ]

  function look(at: Viewport | undefined): void {
    view = at
    render()
  }

  function zoomBy(factor: number, at = middle()): void {
    look(zoom(seen(), factor, at, all()))
  }

  /**
   * Where keys and buttons zoom: at the piece that has or had the focus.
   */
  function middle(): number {
    const piece = pieces.find((each) => keyOf(each) === current)
    const at = piece && place(piece, seen())
    return at && at.width < 100 ? at.left / (100 - at.width) : 0.5
  }

  function render(): void {
    const now = seen()
    const series = [...new Set(pieces.map(seriesOf))]
    const drawn = pieces
      .flatMap((piece) => ({ piece, at: place(piece, now), key: keyOf(piece) }))
      .filter(({ at }) => at)
    if (!drawn.some(({ key }) => key === current)) current = drawn[0]?.key
    let isFocusLost = false
    for (const [key, gone] of shown) {
      if (drawn.some((each) => each.key === key)) continue
      isFocusLost ||= gone.matches(':focus')
      shown.delete(key)
      gone.remove()
    }
    for (const [i, { piece, at, key }] of drawn.entries()) {
      const each = shown.get(key) ?? h('button', { type: 'button', 'data-key': key })
      shown.set(key, each)
      update(each, {
        class: `piece ${piece.kind}${piece.kind === 'leased' && piece.isThisPage ? '-here' : ''}`,
        'aria-label': describe(piece, series.length > 1),
        tabindex: key === current ? '0' : '-1',
      })
      Object.assign(each.style, {
        left: `${at!.left}%`,
        width: `${at!.width}%`,
        top: `${series.indexOf(seriesOf(piece)) * LANE_PX}px`,
      })
      if (track.children[i] !== each) track.insertBefore(each, track.children[i] ?? null)
    }
    if (isFocusLost) shown.get(current!)?.focus()
    track.style.height = `${Math.max(1, series.length) * LANE_PX}px`
    const width = track.clientWidth
    // A digit is 7 pixels wide. Numbers need space between them, and at the ends of the line.
    const room = 7 * count(Math.ceil(now.end)).length + 24
    scale.replaceChildren(
      ...ticks(now, Math.max(2, width / room))
        .filter(({ at }) => (Math.min(at, 100 - at) * width) / 50 > room)
        .map(({ number, at }) => {
          const mark = h('span', count(number))
          mark.style.left = `${at}%`
          return mark
        }),
    )
    for (const each of wider) update(each, { 'aria-disabled': String(!view) })
    tell()
  }

  /** The text of the piece under the pointer or with the focus; otherwise of the visible part. */
  function tell(): void {
    const piece = track.querySelector(':hover') ?? track.querySelector(':focus')
    const { start, end } = seen()
    const shown = { from: Math.floor(start), to: Math.ceil(end) - 1 }
    const range = `${span(shown)} · Ctrl and wheel, or pinch, to zoom`
    say(
      detail,
      piece?.ariaLabel ??
        (pieces[0] ? range : 'No number yet: the first id asks the server for some.'),
    )
  }

  function focus(piece: Piece | undefined): void {
    if (!piece) return
    current = keyOf(piece)
    look(view && reveal(view, piece, all()))
    shown.get(current)?.focus()
  }

  function press(event: KeyboardEvent): void {
    const index = pieces.findIndex((piece) => keyOf(piece) === current)
    const keys: Record<string, () => void> = {
      ArrowLeft: () => focus(pieces[index - 1]),
      ArrowRight: () => focus(pieces[index + 1]),
      Home: () => focus(pieces[0]),
      End: () => focus(pieces.at(-1)),
      '+': () => zoomBy(1 / STEP),
      '-': () => zoomBy(STEP),
      '0': () => look(undefined),
    }
    const act = keys[event.key]
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    act()
  }

  function wheel(event: WheelEvent): void {
    // Without Ctrl and without the focus, the wheel scrolls the page, as on maps.
    if (!event.ctrlKey && !event.metaKey && !track.matches(':focus-within')) return
    event.preventDefault()
    const { deltaX, deltaY, clientX } = event
    if (Math.abs(deltaX) > Math.abs(deltaY)) look(pan(seen(), deltaX / track.clientWidth, all()))
    else zoomBy(Math.exp(Math.max(-50, Math.min(50, deltaY)) / 100), shareAt(clientX))
  }

  /** One pointer moves the line, two pinch it. */
  function move({ pointerId, clientX, buttons }: PointerEvent): void {
    // It was released outside the line.
    if (!buttons) pointers.delete(pointerId)
    const before = pointers.get(pointerId)
    if (before === undefined) return
    pointers.set(pointerId, clientX)
    dragged += Math.abs(clientX - before)
    if (dragged < DRAG_PX) return
    track.setPointerCapture(pointerId)
    const [other] = [...pointers].find(([id]) => id !== pointerId)?.slice(1) ?? []
    if (other === undefined) look(pan(seen(), (before - clientX) / track.clientWidth, all()))
    else
      zoomBy(
        Math.max(1, Math.abs(before - other)) / Math.max(1, Math.abs(clientX - other)),
        shareAt((clientX + other) / 2),
      )
  }

  function shareAt(clientX: number): number {
    const { left, width } = track.getBoundingClientRect()
    return (clientX - left) / width
  }

  const on = <K extends keyof HTMLElementEventMap>(
    types: K[],
    hear: (event: HTMLElementEventMap[K]) => void,
  ) => {
    for (const type of types) track.addEventListener(type, hear, { passive: false })
  }
  on(['pointerover', 'pointerleave', 'focusin', 'focusout'], tell)
  on(['focusin'], ({ target }) => {
    current = (target as HTMLElement).dataset.key
    for (const [key, each] of shown) update(each, { tabindex: key === current ? '0' : '-1' })
  })
  on(['click'], ({ target, detail: clicks }) => {
    const piece = pieces.find((each) => keyOf(each) === (target as HTMLElement).dataset.key)
    const isByKey = clicks === 0
    if (piece && (isByKey || dragged < DRAG_PX)) look(closeUp(piece, all()))
  })
  on(['keydown'], press)
  on(['wheel'], wheel)
  on(['pointerdown'], ({ pointerId, clientX }) => {
    if (pointers.size === 0) dragged = 0
    pointers.set(pointerId, clientX)
  })
  on(['pointermove'], move)
  on(['pointerup', 'pointercancel'], ({ pointerId }) => pointers.delete(pointerId))
  // Not at once: drawing changes the height, which browsers would report as an error of the page.
  new ResizeObserver(() => requestAnimationFrame(render)).observe(track)

  return {
    element: h(
      'div',
      track,
      scale,
      h(
        'div.under',
        detail,
        h(
          'div.zoom',
          button('+', () => zoomBy(1 / STEP), `Zoom into ${name}`),
          ...wider,
        ),
      ),
    ),
    show(now) {
      pieces = now
      render()
    },
  }
}

/** Stays the same while ids are issued, because a piece then grows at one end only. */
const keyOf = (piece: Piece): string =>
  [piece.kind, seriesOf(piece), /^(iss|giv|gap)/.test(piece.kind) ? piece.from : piece.to].join(' ')

function describe(piece: Piece, isOneOfSeveral: boolean): string {
  const { kind, page, isThisPage, from, to } = piece
  const size = to - from + 1
  const place =
    kind === 'leased' ? `leased to ${pageName(page, isThisPage)}` : KINDS[kind].name.toLowerCase()
  const numbers = `${count(size)} ${size === 1 ? 'number' : 'numbers'}`
  const series = isOneOfSeveral ? `, ${seriesOf(piece)}` : ''
  return `${span(piece)}: ${numbers}, ${place}${series}`
}
