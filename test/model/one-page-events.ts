/** Everything that can happen to the one page that is explored, in words a person can read. */
import { type Asked, AT_REST, HUNG, type OnePage, REFUSED, UNREACHABLE } from './one-page.js'
import type { PageBounds } from './one-page-corners.js'

export interface Event {
  name: string
  /** Undefined: it happens as often as it can. */
  spends: keyof PageBounds | undefined
  act(page: OnePage): void
}

const event = (name: string, spends: Event['spends'], act: Event['act']): Event => ({
  name,
  spends,
  act,
})

export function eventsOf(page: OnePage): Event[] {
  const events = page.asked.flatMap(answersTo)
  if (page.failure?.isRepeated && !page.isForgotten) events.push(...REPETITIONS)
  if (page.clock.timers.size > 0)
    events.push(event('Time passes.', 'timers', ({ clock }) => clock.pass()))
  if (page.isClosed) return events
  events.push(...CALLS, ...NEWS, ...APP, page.isVisible ? HIDDEN : SHOWN)
  if (page.earlierView) events.push(LATE)
  if (page.held > 0) events.push(event('The page issues a number.', 'takes', (to) => to.issue()))
  return events
}

function answersTo({ method, request }: Asked, i: number): Event[] {
  const what = `${method} ${i + 1}`
  const take = (page: OnePage) => page.asked.splice(i, 1)[0]!
  const events = [
    event(`The device answers ${what}.`, undefined, (to) => to.serve(take(to))),
    event(`The storage hangs in ${what}.`, 'hangs', (to) => to.fail(take(to), HUNG)),
  ]
  if (method === 'exchange') return events
  for (const failure of [UNREACHABLE, REFUSED])
    events.push(
      event(`${what} fails: ${failure.code}.`, 'failures', (to) => {
        to.failure = failure
        to.fail(take(to), failure)
      }),
    )
  if (method === 'release' || request.want === 0) return events
  events.push(
    event(`Another node grants 32 for ${what}.`, 'nodes', (to) => {
      to.grant(2 * AT_REST, 'B')
      to.serve(take(to))
    }),
  )
  for (const count of [2, 2 * AT_REST])
    events.push(
      event(`The server grants ${count} for ${what}.`, 'grants', (to) => {
        to.grant(count)
        to.serve(take(to))
      }),
    )
  return events
}

const REPETITIONS = [
  event('The owner repeats its claim, and is granted 32.', 'grants', (to) => {
    to.grant(2 * AT_REST)
    to.tell()
  }),
  event('The owner repeats its claim, and is refused.', 'failures', (to) => {
    to.failure = REFUSED
    to.tell()
  }),
  event('The worker that was to repeat a claim dies.', 'failures', (to) => {
    to.isForgotten = true
  }),
]

const CALLS = [
  event('A caller wants 2, and waits 10 s.', 'calls', (to) => to.call(2, 10_000)),
  event('A caller wants 2, and waits for ever.', 'calls', (to) => to.call(2, Infinity)),
  event('A caller wants 40, and waits 10 s.', 'calls', (to) => to.call(40, 10_000)),
  event('A caller wants 40, and waits for ever.', 'calls', (to) => to.call(40, Infinity)),
]

/** What the page hears of its device and of other pages. */
const NEWS = [
  event('Another page leases what is free.', 'others', (to) => {
    to.leaseElsewhere()
    to.tell()
  }),
  event('Another page brings 20.', 'others', (to) => {
    to.grant(20)
    to.tell()
  }),
  event('Another page brings 20 of another node.', 'nodes', (to) => {
    to.grant(20, 'B')
    to.tell()
  }),
  event('Another page has none left.', 'others', (to) => to.spare()),
  event('The device turns out to be a copy.', 'forks', (to) => {
    to.fork()
    to.tell()
  }),
  event('The device checks in.', 'renewals', (to) => {
    to.state = { ...to.state, checkedIn: (to.state.checkedIn ?? 0) + 1 }
    to.tell()
  }),
]

const LATE = event('A message comes after a newer one.', 'lates', (to) => to.tell(to.earlierView))

const APP = [
  event('The app releases.', 'releases', (to) => to.release()),
  event('The app goes offline or online.', 'switches', (to) => {
    to.isOnline = !to.isOnline
    if (to.isOnline) to.allocator.stock.retryNow()
    else to.allocator.stock.keepSurplus()
  }),
  event(
    'The page is left, and comes back from the cache.',
    'visits',
    ({ allocator: { stock } }) => {
      stock.exit()
      stock.wake()
    },
  ),
  event('The page is closed.', 'closes', (to) => to.close()),
]

const HIDDEN = event('The page is hidden.', 'visits', (to) => {
  to.isVisible = false
  to.allocator.stock.park()
})

const SHOWN = event('The page is shown.', 'visits', (to) => {
  to.isVisible = true
  to.allocator.stock.wake()
})
