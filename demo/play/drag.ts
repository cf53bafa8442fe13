/** Lets an element be dragged away, by mouse or finger. */

/** In pixels. If the user lets go of the element nearer than this, it comes back. */
const AWAY = 72

export function makeDraggable(item: HTMLElement, gone: () => void): void {
  let start: PointerEvent | undefined
  item.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || (event.target as Element).closest('button')) return
    start = event
    item.setPointerCapture(event.pointerId)
  })
  item.addEventListener('pointermove', (event) => {
    if (!start) return
    const [x, y] = movedBy(start, event)
    item.style.translate = `${x}px ${y}px`
    item.classList.toggle('leaving', isAway(start, event))
  })
  const end = (event: PointerEvent) => {
    const isGone = start !== undefined && event.type === 'pointerup' && isAway(start, event)
    start = undefined
    item.style.translate = ''
    item.classList.remove('leaving')
    if (isGone) gone()
  }
  item.addEventListener('pointerup', end)
  item.addEventListener('pointercancel', end)
}

const movedBy = (start: PointerEvent, now: PointerEvent) =>
  [now.clientX - start.clientX, now.clientY - start.clientY] as const

const isAway = (start: PointerEvent, now: PointerEvent) => Math.hypot(...movedBy(start, now)) > AWAY
