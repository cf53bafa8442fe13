/**
 * The word `region`: two servers that count nothing themselves. All their numbers come from one
 * root, of which each is a device. A device of the app always asks the same region. The root may be
 * away for a while, and its answers may be lost or come again. Regions are started again, also when
 * their processes were killed. They and the root are restored from backups. For a while another
 * root may answer, which grants the same numbers, or the other region, also in a circle.
 */
import { Checker } from './checker.js'
import { SimulatedHeaders } from './http.js'
import { MemoryStorage } from './ledger-storage.js'
import type { Reply, Request } from './network.js'
import { OwnServer, type Witness } from './own-servers.js'
import { isOneLedger } from './profile.js'
import type { Random } from './random.js'
import type { Realm } from './realm.js'
import { SafeRestore } from './safe-restore.js'
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
    const { scheduler, networkActor, profile, servers, rootLinks } = simulation
    const link = rootLinks.get(node)
    const server = servers.get(node)
    if (!link || !(server instanceof OwnServer)) return
    const event = random.weighted(EVENTS)
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
    if (event === 'restored') {
      // A device that is as old as the backup is not found.
      if (!profile.goesBack && !profile.hasClones) backUpOrRestore(simulation, node, random)
      return
    }
    if (event === 'root restored') return backUpOrRestoreRoot(simulation, link)
    // A region without numbers would take another root for its own.
    if (event === 'another' && !link.hasNumbers) return
    simulation.hit(`root ${event}`)
    if (event === 'away') link.isAway = true
    if (event === 'deaf') link.losesAnswers = () => random.chance(0.5)
    if (event === 'repeats') link.relay = new SharedCache('POST', () => random.chance(0.5))
    if (event === 'another') {
      link.leadsTo = 'another root'
      askAnew(simulation, server, random)
    }
    if (event === 'a region') link.leadsTo = 'the other region'
    if (event === 'a circle')
      for (const each of rootLinks.values()) each.leadsTo = 'the other region'
    const passed = random.between(1_000, LONGEST_MS)
    scheduler.post(networkActor, passed, 'the root is back', () => leadBack(simulation, node))
  },
  heal(simulation) {
    const { rootLinks, scheduler, networkActor } = simulation
    for (const node of rootLinks.keys())
      scheduler.post(networkActor, 0, 'the root is back', () => leadBack(simulation, node))
  },
}

const EVENTS = {
  away: 3,
  deaf: 1,
  repeats: 1,
  restarted: 2,
  killed: 2,
  restored: 8,
  'root restored': 3,
  another: 2,
  'a region': 1,
  'a circle': 1,
}

/** What lies between a region and the root. */
export interface RootLink {
  isAway: boolean
  /** Does it lose the answer that comes now? */
  losesAnswers(): boolean
  relay: SharedCache | undefined
  /** Who answers in place of the root. */
  leadsTo: 'another root' | 'the other region' | undefined
  /** Has the region heard a grant of the root? */
  hasNumbers: boolean
  /** Of the region. */
  readonly restore: SafeRestore
  /** Had it heard a grant at its backup? */
  hadNumbers: boolean
  root: { server: OwnServer; restore: SafeRestore }
}

const SOUND = {
  isAway: false,
  losesAnswers: () => false,
  relay: undefined,
  leadsTo: undefined,
} satisfies Partial<RootLink>

/** For a collection of which the region has no number yet. */
function askAnew(simulation: Simulation, server: OwnServer, random: Random): void {
  const { scheduler, networkActor, database } = simulation
  const id = `anew${random.between(0, 2 ** 40)}`
  scheduler.post(networkActor, 0, 'somebody asks for a new collection', async () => {
    await server.claimBySomebody({ database, collection: id, id, count: 1, at: 0 })
    await simulation.regionsAtRest()
  })
}

/**
 * A backup of the region is made, or restored. Its root has to answer a person who raises floors,
 * and need not be there when the region starts.
 */
function backUpOrRestore(simulation: Simulation, node: string, random: Random): void {
  const { scheduler, networkActor, database, rootLinks, servers } = simulation
  const link = rootLinks.get(node)!
  const server = servers.get(node) as OwnServer
  if (!link.restore.hasBackup) {
    scheduler.note(simulation.driver, `region ${node} is backed up`)
    link.restore.backUp(server)
    link.hadNumbers = link.hasNumbers
    return
  }
  scheduler.post(networkActor, 0, `region ${node} is restored`, async () => {
    if (!link.restore.hasBackup) return
    simulation.hit('region restored')
    // A region that is lost gives nothing back.
    link.isAway = random.chance(0.5)
    await server.stop()
    Object.assign(link, SOUND, { hasNumbers: link.hadNumbers })
    excuseAll(simulation)
    await link.restore.restore(server, database)
    link.isAway = random.chance(0.5)
    await simulation.regionsAtRest()
    scheduler.post(networkActor, random.between(1_000, LONGEST_MS), 'the root is back', () =>
      leadBack(simulation, node),
    )
  })
}

/** The same of the root. Its regions drop what it has forgotten. */
function backUpOrRestoreRoot(simulation: Simulation, { root }: RootLink): void {
  const { scheduler, networkActor, database } = simulation
  const { server, restore } = root
  if (!restore.hasBackup) {
    scheduler.note(simulation.driver, 'the root is backed up')
    restore.backUp(server)
    return
  }
  scheduler.post(networkActor, 0, 'the root is restored', async () => {
    if (!restore.hasBackup) return
    simulation.hit('root restored')
    await server.stop()
    await restore.restore(server, database)
    await simulation.regionsAtRest()
  })
}

/** Devices drop what their server has forgotten. */
function excuseAll({ checker, profile }: Simulation): void {
  for (const collection of profile.collections)
    checker.excuseAll(`${collection}-${profile.nodes[0]}`, 'database restored')
}

/** A region that was led to another root has to be started again. */
async function leadBack(simulation: Simulation, node: string): Promise<void> {
  const link = simulation.rootLinks.get(node)!
  const isStartedAgain = link.leadsTo !== undefined
  Object.assign(link, SOUND)
  const server = simulation.servers.get(node)
  if (isStartedAgain && server instanceof OwnServer) await server.whileStopped(() => {})
  await simulation.regionsAtRest()
}

/** Where a region finds the root, which sees by it who asks. */
const addressFrom = (node: string): string => `https://${node.toLowerCase()}.test`

/** Starts both regions, and the root above them. */
export async function startRegions(simulation: Simulation, witness: Witness): Promise<OwnServer> {
  const { random, servers, networkActor, rootLinks } = simulation
  const [first] = simulation.profile.nodes as [string]
  const hit = (fault: string) => simulation.hit(fault)
  const rootServer = await OwnServer.start(first, new MemoryStorage())
  const ofRoot = new SafeRestore()
  const rootWitness = ofRoot.witnessOf(witnessOfRoot(simulation, ofRoot))
  const root = rootServer.enter({ random, witness: rootWitness, hit })
  const otherServer = await OwnServer.start(first, new MemoryStorage())
  const otherRoot = otherServer.enter({ random, witness: witnessOfOther(simulation), hit })
  const regionAt = async (node: string) => {
    rootLinks.set(node, {
      ...{ ...SOUND, hasNumbers: false, hadNumbers: false },
      ...{ restore: new SafeRestore(), root: { server: root, restore: ofRoot } },
    })
    const upstream = { url: addressFrom(node), reserve: random.pick(RESERVES) }
    const server = await OwnServer.start(first, new SqliteStorage({ upstream }))
    simulation.atEnd.push(() => server.remove())
    const { restore } = rootLinks.get(node)!
    return server.enter({ random, witness: restore.witnessOf(withoutRegions(witness)), hit })
  }
  const answering = (node: string): OwnServer => {
    const { leadsTo } = rootLinks.get(node)!
    if (leadsTo === undefined) return root
    if (leadsTo === 'another root') return otherRoot
    return servers.get(node === SECOND ? first : SECOND) as OwnServer
  }
  /** By the request: whom it asks. */
  const underWay = new Map<Promise<unknown>, OwnServer>()
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
      const server = answering(node)
      // In a circle, each would wait for the other one, until the request times out.
      if ([...underWay.values()].some((asked) => servers.get(node) === asked))
        throw new TypeError('fetch failed')
      const asking = answered(server, link, request)
      underWay.set(asking, server)
      const reply = await asking.finally(() => underWay.delete(asking))
      if (!reply || link.losesAnswers()) throw new TypeError('fetch failed')
      link.hasNumbers ||= server === root && isGrant(url, reply)
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

const isGrant = ({ pathname }: URL, { status }: Reply): boolean =>
  pathname.endsWith('/next') && status < 300

async function answered(root: OwnServer, { relay }: RootLink, request: Request) {
  const kept = relay?.answer(request)
  if (kept) return kept
  const reply = await root.handle(request)
  if (reply) relay?.keep(request, reply)
  return reply
}

const UNCONCERNED = { copyProved() {}, lostShown() {}, told() {}, copyFound() {} }

/** The root has a truth of its own, in which the regions are the devices. */
function witnessOfRoot({ checker, rootLinks }: Simulation, ofRoot: SafeRestore): Witness {
  const own = new Checker()
  own.complain = (what) => checker.complain(`root: ${what}`)
  return {
    ...UNCONCERNED,
    checker: own,
    copyProved: () => own.complain('it takes itself for an older copy'),
    told(_, device, __, isFound) {
      const ofRegion = rootLinks.get(device.replace('region ', ''))?.restore
      if (isFound && !ofRegion?.isDone && !ofRoot.isDone)
        own.complain(`${device} was taken for a copy, and is none`)
    },
    claimed: (_, device, series, __, low, high) => own.granted(series, device, low, high),
  }
}

/** A ledger of its own. It knows that the regions hold numbers of the first one. */
function witnessOfOther({ checker }: Simulation): Witness {
  return {
    ...UNCONCERNED,
    checker,
    claimed: (_, region, series, __, low) =>
      checker.complain(`another root granted ${series} ${low} to ${region}`),
  }
}

/** What one region grants to the other is a matter of the two. Their devices show a mistake. */
function withoutRegions(witness: Witness): Witness {
  const { checker } = witness
  const isRegion = (name: string) => name.startsWith('region ')
  return {
    ...witness,
    checker: {
      complain: (what) => checker.complain(what),
      returned: (series, from, ...rest) =>
        isRegion(from) || checker.returned(series, from, ...rest),
    },
    told: (id, from, ...rest) => isRegion(from) || witness.told(id, from, ...rest),
    copyFound: (from, ...rest) => isRegion(from) || witness.copyFound(from, ...rest),
    claimed: (claim, from, ...rest) => isRegion(from) || witness.claimed(claim, from, ...rest),
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
