/**
 * One collection on the page: its state, how many ids are left offline, its number line, and the
 * buttons that act on it.
 */
import type { CollectionStatus } from '../../index.js'
import { button, h, say, update } from './dom.js'
import { createLineView, type LineView } from './line-view.js'
import { count, STATES } from './words.js'

const MAY_COME_BACK =
  'Crashes, and give-backs without an answer, may have lost these. What the server has back, the ' +
  'next check-in says.'

export interface Panel {
  element: HTMLElement
  line: LineView
  draw(status: CollectionStatus): void
}

/** @param reserve keeps so many ids on the device */
export function createPanel(name: string, reserve: (count: number) => void): Panel {
  let target = 0
  const line = createLineView(name)
  const chip = h('span.chip')
  const bar = h('i')
  const meter = h('div', { role: 'meter', 'aria-label': `Ids of ${name} left offline` }, bar)
  const left = h('span', { title: MAY_COME_BACK })
  const input = h('input', {
    type: 'number',
    min: '0',
    required: true,
    'aria-label': `Ids of ${name} to keep on this device`,
  })
  const submit = (event: Event) => {
    event.preventDefault()
    reserve(input.valueAsNumber)
  }
  return {
    line,
    element: h(
      'section.collection',
      { 'aria-label': name },
      h(
        'div.row',
        h('div.actions', h('h3', name), chip),
        h(
          'form.actions',
          { submit },
          button('Top up', () => reserve(target), `Top up ${name} to its reserve`),
          input,
          h('button', { 'aria-label': `Reserve this many ids of ${name}` }, 'Reserve'),
        ),
      ),
      h('div.meter', meter, left),
      line.element,
    ),
    draw({ available, leased, reserve: wanted, state, gaps }) {
      target = wanted
      const most = Math.max(wanted, available, 1)
      const text =
        `${count(available)} left offline, reserve ${count(wanted)} · ` +
        `${count(leased)} in this page · ${count(gaps)} may be lost`
      update(chip, { class: `chip ${state}` })
      say(chip, STATES[state])
      update(meter, {
        class: state,
        'aria-valuemax': `${most}`,
        'aria-valuenow': `${available}`,
        'aria-valuetext': text,
      })
      bar.style.inlineSize = `${(available * 100) / most}%`
      say(left, text)
      update(input, { placeholder: `${wanted}` })
    },
  }
}
