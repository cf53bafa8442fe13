/**
 * Whether the production page keeps its promises in every state: it asks one thing at a time,
 * forgets no caller, and comes to rest. A page cannot be copied: each state is reached by its
 * events, from the beginning.
 */
import type { Mode } from '../../src/core/page/stock.js'
import { total } from '../../src/core/range.js'
import { Fingerprint, partOf } from './canonical.js'
import { installClock, settled } from './clock.js'
import type { Exploration } from './explorer.js'
import { AT_REST, OnePage } from './one-page.js'
import { NONE, type PageBounds } from './one-page-corners.js'
import { eventsOf } from './one-page-events.js'

/** A silent owner is asked after 90 s. While it answers, nobody may have to wait for that. */
const SOON_MS = 60_000
/** Its pace is measured over up to two seconds; a second later the page parks the excess. */
const RESTED_MS = 4_000

let current: OnePage

/** A page with this history. */
async function reached(history: readonly string[]): Promise<OnePage> {
  current = new OnePage()
  for (const name of history) await happens(current, name)
  return current
}

async function happens(page: OnePage, name: string): Promise<void> {
  eventsOf(page)
    .find((each) => each.name === name)!
    .act(page)
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

export async function explorePage(
  bounds: Partial<PageBounds>,
  { states: most }: { states: number },
): Promise<Exploration> {
  const uninstall = installClock(() => current.clock)
  try {
    return await explored({ ...NONE, ...bounds }, most)
  } finally {
    uninstall()
  }
}

async function explored(bounds: PageBounds, most: number): Promise<Exploration> {
  const seen = new Set<string>()
  let level: { history: string[]; left: PageBounds }[] = [{ history: [], left: bounds }]
  let transitions = 0
  for (let depth = 0; ; depth++) {
    const next: typeof level = []
    const size = () => ({ states: seen.size, transitions, depth, waiting: next.length })
    for (const { history, left } of level) {
      const possible = eventsOf(await reached(history))
      for (const { name, spends } of possible) {
        if (spends && left[spends] === 0) continue
        transitions++
        const trace = [...history, name]
        const page = await reached(trace)
        const after = spends ? { ...left, [spends]: left[spends] - 1 } : left
        const print = fingerprint(page, after)
        if (seen.has(print)) continue
        seen.add(print)
        const problem = broken(page) ?? (await unhealed(page))
        if (problem) return { ...size(), isComplete: false, violation: { problem, trace } }
        if (seen.size >= most) return { ...size(), isComplete: false }
        next.push({ history: trace, left: after })
      }
    }
    if (next.length === 0) return { ...size(), isComplete: true }
    level = next
  }
}
