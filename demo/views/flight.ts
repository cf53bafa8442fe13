/**
 * Shows where a new order's number came from: it moves from the ids on this device to the order.
 * Nothing waits for the animation.
 */
import { must } from './dom.js'

const MS = 450

export function flyNumber(to: Element): void {
  if (matchMedia('(prefers-reduced-motion: reduce)').matches || !('animate' in to)) return
  const from = must('[data-collection="orders"] .meter-count').getBoundingClientRect()
  const target = to.getBoundingClientRect()
  if (from.bottom < 0 || from.top > innerHeight || target.top > innerHeight) return
  const chip = to.cloneNode(true) as HTMLElement
  chip.classList.add('flying')
  chip.setAttribute('aria-hidden', 'true')
  chip.style.translate = `${target.left}px ${target.top}px`
  document.body.append(chip)
  const path = [
    { translate: `${from.left}px ${from.top}px`, opacity: 0 },
    { opacity: 1, offset: 0.2 },
    { translate: `${target.left}px ${target.top}px`, opacity: 1 },
  ]
  chip
    .animate(path, { duration: MS, easing: 'cubic-bezier(0.3, 0, 0.2, 1)' })
    .finished.finally(() => chip.remove())
}
