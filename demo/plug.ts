/**
 * Kills this page: it ends without `pagehide` and without a message, as when its process is killed.
 * The page that is loaded in its place says what was lost.
 */
import type { Hilo } from '../src/index.js'
import { must, plural, setText } from './views/dom.js'

const LAST_WORDS = ['visibilitychange', 'pagehide', 'freeze', 'beforeunload', 'unload'] as const
const KILLED_KEY = 'order-desk:killed'

let isKilled = false
// Before the `Hilo` listens: of the listeners of `pagehide`, the first one is called first.
for (const type of LAST_WORDS)
  window.addEventListener(type, (event) => isKilled && event.stopImmediatePropagation(), true)

export function pullThePlug(hilo: Hilo): void {
  isKilled = true
  const held = Object.entries(hilo.status().collections)
    .filter(([, { leased }]) => leased > 0)
    .map(([collection, { leased }]) => `${plural(leased, 'number')} for ${collection}`)
  sessionStorage.setItem(KILLED_KEY, held.join(' and '))
  // What was lost is said at the top of the page.
  history.scrollRestoration = 'manual'
  location.reload()
}

/** Says what a page lost that was killed in this tab, once. */
export function tellOfKill(): void {
  const held = sessionStorage.getItem(KILLED_KEY)
  if (held === null) return
  sessionStorage.removeItem(KILLED_KEY)
  const note = must('#killed')
  note.hidden = false
  setText(
    note,
    held === ''
      ? 'This tab was killed. It held no numbers, so none is lost.'
      : `This tab was killed, and lost the ${held} that it held. Nobody can know which of them ` +
          'it had used, so nobody gets them any more: a gap, and never a duplicate.',
  )
}
