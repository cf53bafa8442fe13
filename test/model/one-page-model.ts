/**
 * Whether the production page keeps its promises in every state: it asks one thing at a time,
 * forgets no caller, and comes to rest. A page cannot be copied: each state is reached by its
 * events, from the beginning. The nearest states are explored, and what is farther away is tried by
 * walks at random.
 */
import { total } from '../../src/core/range.js'
import type { Mode } from '../../src/device/page/stock-rules.js'
import type { Random } from '../simulation/random.js'
import { Fingerprint, partOf } from './canonical.js'
import { installClock, settled } from './clock.js'
import type { Exploration } from './explorer.js'
import { AT_REST, OnePage } from './one-page.js'
import { NONE, type PageBounds } from './one-page-corners.js'
import { type Event, eventsOf } from './one-page-events.js'

/** A silent owner is asked after 90 s. While it answers, nobody may have to wait for that. */
const SOON_MS = 60_000
/** Its pace is measured over up to two seconds; a second later the page parks the excess. */
const RESTED_MS = 4_000

/** Of one walk: a page may ask, and its device answer, for ever. */
const MOST_EVENTS = 30

let current: OnePage

/** A page with this history. */
async function reached(history: readonly Event[]): Promise<OnePage> {
  current = new OnePage()
  for (const event of history) await happens(event)
  return current
}

async function happens({ act }: Event): Promise<void> {
  act(current)
  await settled()
}

function broken(page: OnePage): string | undefined {
  const { asked, issued, waiting, held, allocator } = page
  if (new Set(issued).size < issued.length) return 'A number was issued twice.'
  const wanting = asked.filter(({ method, request }) => method !== 'release' && request.want! > 0)
  if (wanting.length > 1) return 'The page asks for numbers twice at a time.'
  if (page.isClosed && waiting.size > 0) return 'A caller waits for a closed page.'
  const counts = [...waiting.values()]
  // Where no more comes, nobody waits behind a caller that wants more than there is.
  const next = allocator.stock.isDry ? counts : counts.slice(0, 1)
  if (next.some((count) => count <= held)) return 'A caller waits for what the page holds.'
  if (page.isClosed && held > 0) return 'A closed page holds numbers.'
  if (page.isRefusedForHang) return 'A caller is refused because the storage hung once.'
  if (page.isSentAstray) return 'A node gets numbers that another node has granted.'
  if (page.kept > 0) return `The page says that it has parked, and keeps ${page.kept} for nobody.`
  return undefined
}

/** Its device answers, and its server does not: does the page keep only what somebody wants? */
async function hoarded(page: OnePage): Promise<string | undefined> {
  let until = page.clock.now + RESTED_MS
  for (let { size } = page.waiting; ; size = page.waiting.size) {
    const next = page.asked.findIndex(({ method }) => method === 'exchange')
    if (next >= 0) page.serve(page.asked.splice(next, 1)[0]!)
    else if (page.clock.now + page.clock.wait <= until) page.clock.pass()
    else break
    await settled()
    if (page.waiting.size < size) until = page.clock.now + RESTED_MS
  }
  const { held, most } = page
  return held > most ? `For ${most} that are wanted, the page keeps ${held}.` : broken(page)
}

/** All goes well from here on: does the page serve everybody, and come to rest? */
async function unhealed(page: OnePage): Promise<string | undefined> {
  const problem = await hoarded(page)
  if (problem) return problem
  const wasForgotten = page.isForgotten
  for (let round = 0; round < 80; round++) {
    const [next] = page.asked.splice(0, 1)
    if (next) {
      if (next.method === 'claim' && next.request.want! > 0) page.grant(6 * AT_REST)
      page.serve(next)
    } else if (page.failure?.isRepeated && !page.isForgotten && page.waiting.size > 0) {
      page.grant(6 * AT_REST)
      page.tell()
    } else if (page.clock.wait < (wasForgotten ? Number.POSITIVE_INFINITY : SOON_MS))
      page.clock.pass()
    else break
    await settled()
    const problem = broken(page)
    if (problem) return problem
  }
  if (page.waiting.size > 0) return 'A caller is forgotten.'
  // The timer that asks a silent owner may be left: then it goes off once, and does nothing.
  if (page.asked.length > 0 || page.clock.wait < SOON_MS) return 'The page does not come to rest.'
  if (page.held > page.most) return `At rest the page holds ${page.held} numbers.`
  // Of what it parked when the storage hung, the device hears when another page has none left.
  page.spare()
  await settled()
  for (const asked of page.asked.splice(0)) page.serve(asked)
  await settled()
  const leased = total(page.settled.leases.map(({ range }) => range))
  const { length } = page.issued
  if (leased < page.held || leased > page.held + length)
    return `The page holds ${page.held} numbers, and its device has leased it ${leased}.`
  return undefined
}

function fingerprint(page: OnePage, left: PageBounds): string {
  const { allocator, clock, asked, waiting } = page
  const { queue, offers } = allocator.pageLeases
  const { mode } = allocator.stock as unknown as { mode: Mode }
  const print = new Fingerprint()
  print.addParts(
    [
      { state: page.settled, left: { ...left }, waiting: [...waiting.values()], offers },
      { asked: asked.map(({ method, request }) => ({ method, request })) },
      { timers: Array.from(clock.timers, ({ at }) => at - clock.now).sort((a, b) => a - b) },
      { held: queue.held, progress: queue.progress(), mode },
      { failure: page.failure?.code, isVisible: page.isVisible, isClosed: page.isClosed },
      { mixedNodes: allocator.pageLeases.mixedNodes, late: left.lates && withoutOrder(page) },
      { isOnline: page.isOnline, isForgotten: page.isForgotten, isDry: allocator.stock.isDry },
    ].map((each) => partOf(each)),
  )
  return `${print.high} ${print.low}`
}

/** Every view has another order, and two states need not differ for it. */
const withoutOrder = ({ earlierView }: OnePage) => ({ ...earlierView, order: 0 })

interface Limits {
  /** Explored, nearest first. */
  states: number
  /** Tried from the beginning, as far as they go. */
  walks: number
  random: Random
}

export async function explorePage(
  bounds: Partial<PageBounds>,
  limits: Limits,
): Promise<Exploration> {
  const uninstall = installClock(() => current.clock)
  const { stackTraceLimit } = Error
  // Each refusal is an error, and nobody looks at where it came from.
  Error.stackTraceLimit = 0
  try {
    const all = { ...NONE, ...bounds }
    const found = await explored(all, limits.states)
    if (found.violation || found.isComplete) return found
    const violation = await walked(all, limits)
    return { ...found, violation }
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    uninstall()
  }
}

interface Reached {
  history: readonly Event[]
  left: PageBounds
  /** What can happen next. */
  possible: readonly Event[]
}

const allowed = (events: readonly Event[], left: PageBounds): Event[] =>
  events.filter(({ spends }) => !spends || left[spends] > 0)

const after = (left: PageBounds, { spends }: Event): PageBounds =>
  spends ? { ...left, [spends]: left[spends] - 1 } : left

const traceOf = (history: readonly Event[]): string[] => history.map(({ name }) => name)

async function explored(bounds: PageBounds, most: number): Promise<Exploration> {
  const seen = new Set<string>()
  const start = allowed(eventsOf(await reached([])), bounds)
  let level: Reached[] = [{ history: [], left: bounds, possible: start }]
  let transitions = 0
  for (let depth = 0; ; depth++) {
    const next: Reached[] = []
    const size = () => ({ states: seen.size, transitions, depth, waiting: next.length })
    for (const { history, left, possible } of level)
      for (const event of possible) {
        transitions++
        const trace = [...history, event]
        const page = await reached(trace)
        const rest = after(left, event)
        const print = fingerprint(page, rest)
        if (seen.has(print)) continue
        seen.add(print)
        next.push({ history: trace, left: rest, possible: allowed(eventsOf(page), rest) })
        const problem = broken(page) ?? (await unhealed(page))
        if (problem)
          return { ...size(), isComplete: false, violation: { problem, trace: traceOf(trace) } }
        if (seen.size >= most) return { ...size(), isComplete: false }
      }
    if (next.length === 0) return { ...size(), isComplete: true }
    level = next
  }
}

/** Each walk goes on until nothing can happen any more. */
async function walked(
  bounds: PageBounds,
  { walks, random }: Limits,
): Promise<Exploration['violation']> {
  for (let walk = 0; walk < walks; walk++) {
    const page = await reached([])
    const history: Event[] = []
    let left = bounds
    let possible = allowed(eventsOf(page), left)
    while (possible.length > 0 && history.length < MOST_EVENTS) {
      const event = random.pick(possible)
      history.push(event)
      await happens(event)
      left = after(left, event)
      const problem = broken(page)
      if (problem) return { problem, trace: traceOf(history) }
      possible = allowed(eventsOf(page), left)
    }
    const problem = await unhealed(page)
    if (problem) return { problem, trace: traceOf(history) }
  }
  return undefined
}
