/**
 * The word `region`: two servers that count nothing themselves. All their numbers come from one
 * root, of which each is a device. A device of the app always asks the same region. The root may be
 * away for a while, and its answers may be lost or come again. Regions are started again, also when
 * their processes were killed.
 */
import { Checker } from './checker.js'
import { SimulatedHeaders } from './http.js'
import { MemoryStorage } from './ledger-storage.js'
import type { Request } from './network.js'
import { OwnServer, type Witness } from './own-servers.js'
import { isOneLedger } from './profile.js'
import type { Realm } from './realm.js'
import { turn } from './scheduler.js'
import { SharedCache } from './shared-cache.js'
import type { Simulation } from './simulation.js'
import { SqliteStorage } from './sqlite-storage.js'
import { SimAbortController, SimAbortSignal } from './targets.js'
import type { Word } from './words.js'

/** Where devices find the second region. The tag of its ids is that of the root, too. */
export const SECOND = 'second'
const LONGEST_MS = 300_000
const RESERVES = [0, 32, 100]

export const region: Word = {
  fits: isOneLedger,
  world: () => ({ counts: 'a root' }),
  happens(simulation, { node }, random) {
    const { scheduler, networkActor, servers, rootLinks } = simulation
    const link = rootLinks.get(node)
    const server = servers.get(node)
    if (!link || !(server instanceof OwnServer)) return
    const event = random.weighted({ away: 3, deaf: 1, repeats: 1, restarted: 2, killed: 2 })
    if (event === 'restarted' || event === 'killed') {
      simulation.hit(`region ${event}`)
      scheduler.post(networkActor, 0, `region ${node} ${event}`, async () => {
        // Who is killed gives nothing back.
        const copy = event === 'killed' ? server.storage.backUp() : undefined
        if (copy) link.isAway = true
        await server.whileStopped(() => copy && server.storage.restore(copy))
        if (copy) link.isAway = false
        await simulation.regionsAtRest()
      })
      return
    }
    simulation.hit(`root ${event}`)
    if (event === 'away') link.isAway = true
    if (event === 'deaf') link.losesAnswers = () => random.chance(0.5)
    if (event === 'repeats') link.relay = new SharedCache('POST', () => random.chance(0.5))
    const passed = random.between(1_000, LONGEST_MS)
    scheduler.post(networkActor, passed, 'the root is back', () => rootLinks.set(node, newLink()))
  },
  heal({ rootLinks }) {
    for (const node of rootLinks.keys()) rootLinks.set(node, newLink())
  },
}

/** What lies between a region and the root. */
export interface RootLink {
  isAway: boolean
  /** Does it lose the answer that comes now? */
  losesAnswers(): boolean
  relay: SharedCache | undefined
}

const newLink = (): RootLink => ({ isAway: false, losesAnswers: () => false, relay: undefined })

/** Where a region finds the root, which sees by it who asks. */
const addressFrom = (node: string): string => `https://${node.toLowerCase()}.test`

/** Starts both regions, and the root above them. */
export async function startRegions(simulation: Simulation, witness: Witness): Promise<OwnServer> {
  const { random, servers, networkActor, rootLinks } = simulation
  const [first] = simulation.profile.nodes as [string]
  const hit = (fault: string) => simulation.hit(fault)
  const rootServer = await OwnServer.start(first, new MemoryStorage())
  const root = rootServer.enter({ random, witness: witnessOfRoot(simulation), hit })
  const regionAt = async (node: string) => {
    rootLinks.set(node, newLink())
    const upstream = { url: addressFrom(node), reserve: random.pick(RESERVES) }
    const server = await OwnServer.start(first, new SqliteStorage({ upstream }))
    simulation.atEnd.push(() => server.remove())
    return server.enter({ random, witness, hit })
  }
  const underWay = new Set<Promise<unknown>>()
  // What a region does by itself waits for the root, beyond the event that began it.
  simulation.regionsAtRest = async () => {
    do await turn()
    while (underWay.size > 0)
  }
  Object.assign((networkActor.realm as Realm).globals, {
    ...timersOf(simulation),
    AbortController: SimAbortController,
    AbortSignal: SimAbortSignal,
    async fetch(address: string, init: RequestInit = {}) {
      const url = new URL(address)
      const node = [...servers.keys()].find((each) => addressFrom(each) === url.origin)!
      const link = rootLinks.get(node)!
      if (link.isAway) throw new TypeError('fetch failed')
      const request: Request = {
        method: init.method ?? 'GET',
        url,
        headers: init.headers as Record<string, string>,
        body: init.body as string | undefined,
        from: `region ${node}`,
        sender: node,
        node,
        answeredBy: undefined,
      }
      const asking = answered(root, link, request)
      underWay.add(asking)
      const reply = await asking.finally(() => underWay.delete(asking))
      if (!reply || link.losesAnswers()) throw new TypeError('fetch failed')
      const { status, headers, body } = reply
      return {
        status,
        ok: status >= 200 && status < 300,
        headers: new SimulatedHeaders(headers),
        text: async () => body,
      }
    },
  })
  servers.set(SECOND, await regionAt(SECOND))
  return regionAt(first)
}

async function answered(root: OwnServer, { relay }: RootLink, request: Request) {
  const kept = relay?.answer(request)
  if (kept) return kept
  const reply = await root.handle(request)
  if (reply) relay?.keep(request, reply)
  return reply
}

/** The root has a truth of its own, in which the regions are the devices. */
function witnessOfRoot({ checker }: Simulation): Witness {
  const own = new Checker()
  own.complain = (what) => checker.complain(`root: ${what}`)
  return {
    checker: own,
    copyProved: () => own.complain('it takes itself for an older copy'),
    lostShown() {},
    told(_, device, __, isFound) {
      if (isFound) own.complain(`${device} was taken for a copy, and is none`)
    },
    copyFound() {},
    claimed: (_, device, series, __, low, high) => own.granted(series, device, low, high),
  }
}

/** As Node has them. */
function timersOf({ scheduler, networkActor, regionsAtRest }: Simulation) {
  return {
    setTimeout(run: () => void, ms = 0) {
      const fire = () => {
        run()
        return regionsAtRest()
      }
      const cancel = scheduler.post(networkActor, ms, 'timer', fire)
      const timer = { cancel, unref: () => timer }
      return timer
    },
    clearTimeout: (timer: { cancel(): void } | undefined) => timer?.cancel(),
    performance: { now: () => scheduler.now },
  }
}
