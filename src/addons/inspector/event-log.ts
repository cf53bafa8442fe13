/**
 * The events, newest first. Screen readers get a summary every few seconds, because a burst of ids
 * makes dozens of events.
 */
import type { Activity, ActivityKind, HiloError } from '../../index.js'
import { h, say } from './dom.js'
import { PLACES } from './history.js'
import { clock, pageName, span } from './words.js'

export interface EventLog {
  element: HTMLElement
  /** The last ones, oldest first. */
  activities(): Activity[]
  add(activity: Activity): void
  addError(error: HiloError, collection?: string): void
  clear(): void
}

const SHOWN = 100
const KEPT = 500
/** Ranges written out per event. */
const WRITTEN = 3
/** Milliseconds between two summaries. */
const SUMMARY_MS = 5_000

export function createEventLog(): EventLog {
  let activities: Activity[] = []
  let unsaid: string[] = []
  let isSummaryDue = false
  const list = h('ol.log', { hidden: true, tabindex: '0', 'aria-label': 'Events, newest first' })
  const summary = h('p.unseen', { role: 'status' })
  const empty = h('p.hint', 'Nothing has happened since this inspector was opened.')

  function write(
    time: number,
    kind: ActivityKind | 'error',
    numbers: string,
    reason: string,
  ): void {
    list.prepend(
      h(
        'li',
        h(`i.swatch ${PLACES[kind]}`),
        h('time', clock(time)),
        h(kind === 'error' ? 'b.error' : 'b', kind),
        h('span.numbers', numbers),
        h('span.reason', reason),
      ),
    )
    list.children[SHOWN]?.remove()
    list.hidden = false
    empty.hidden = true
    unsaid.push(`${kind} ${numbers}`)
    if (isSummaryDue) return
    isSummaryDue = true
    setTimeout(() => {
      say(
        summary,
        unsaid.length > 1
          ? `${unsaid.length} events, the last one: ${unsaid.at(-1)}`
          : unsaid.join(),
      )
      unsaid = []
      isSummaryDue = false
    }, SUMMARY_MS)
  }

  return {
    element: h('div.collection', h('h3', 'Events'), empty, list, summary),
    activities: () => activities,
    add(activity) {
      const { time, kind, collection, numbers, page, isThisPage, reason } = activity
      activities = [...activities, activity].slice(-KEPT)
      const more = numbers.length - WRITTEN
      const written =
        numbers.slice(0, WRITTEN).map(span).join(', ') + (more > 0 ? ` and ${more} more` : '')
      write(
        time,
        kind,
        `${collection} ${written}`,
        page ? `${pageName(page, isThisPage)}: ${reason}` : reason,
      )
    },
    addError(error, collection = '') {
      write(Date.now(), 'error', `${collection} ${error.code}`, error.message)
    },
    clear() {
      activities = []
      unsaid = []
      list.replaceChildren()
      list.hidden = true
      empty.hidden = false
    },
  }
}
