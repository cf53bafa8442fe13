/**
 * Series of consecutive numbers: the letter, the last number, and which numbers are open. Reads
 * them every second while the inspector is on the page, since another tab may make numbers, too.
 */
import type { Consecutive } from '../consecutive/index.js'
import { h, say } from './dom.js'
import { count } from './words.js'

/** Results of `consecutive`, by the name that each is shown under. */
export type InspectedSeries = Readonly<Record<string, Pick<Consecutive, 'report' | 'unfinished'>>>

export interface SeriesView {
  element: HTMLElement
  start(): void
  stop(): void
}

const READ_MS = 1_000
/** Open numbers written out per series. */
const WRITTEN = 10

export function createSeriesView(series: InspectedSeries): SeriesView {
  const lines = Object.entries(series).map(([name, receipts]) => {
    const state = h('p')
    const open = h('ul')
    const element = h('section.collection', { 'aria-label': name }, h('h3', name), state, open)
    async function read(): Promise<void> {
      try {
        const [reports, taken] = await Promise.all([
          receipts.report({ numbers: false }),
          receipts.unfinished({ all: true }),
        ])
        const held = reports.find(({ ended }) => !ended)
        say(
          state,
          held
            ? `Series ${held.series} · last number ${count(held.last!)} · ` +
                `the server has heard of ${count(held.heard!)} · ${count(taken.length)} open`
            : 'No series yet: the first number needs the server once.',
        )
        const shown = taken.slice(0, WRITTEN).map(({ id, key }) => `${id} of ${key}`)
        const more = taken.length - shown.length
        if (more > 0) shown.push(`and ${count(more)} more`)
        if (open.textContent !== shown.join(''))
          open.replaceChildren(...shown.map((each) => h('li', each)))
      } catch (error) {
        say(state, (error as Error).message)
      }
    }
    return { element, read }
  })
  let timer: ReturnType<typeof setInterval> | undefined
  const read = () => {
    for (const line of lines) void line.read()
  }
  return {
    element: h('div', ...lines.map(({ element }) => element)),
    start() {
      read()
      timer ??= setInterval(read, READ_MS)
    },
    stop() {
      clearInterval(timer)
      timer = undefined
    },
  }
}
