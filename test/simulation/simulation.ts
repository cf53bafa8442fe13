/**
 * One schedule: a world made from a seed, moves and faults until the profile's count is reached,
 * everything healed, everything accounted for. The code under test is the package's own, from the
 * façade down to the server's ledger.
 */
import './comlink.js'
import type { HiloOptions } from '../../src/core/options.js'
import type { Range } from '../../src/core/range.js'
import type { DeviceState } from '../../src/core/state.js'
import { readState } from '../../src/core/stored.js'
import { MemoryStore } from '../../src/store/memory.js'
import { Checker, type Known } from './checker.js'
import { foundOut } from './clones.js'
import { CopiesOnline } from './copies-online.js'
import { Device, type Page } from './device.js'
import type { Disk, Write } from './disk.js'
import { end } from './ending.js'
import { Gateway } from './gateway.js'
import type { Copy } from './ledger-storage.js'
import { move } from './moves.js'
import { Network, type Reply, type Request } from './network.js'
import type { OwnServer, OwnServers, Witness } from './own-servers.js'
import { chooseProfile, chooseTraits, isOfTheApp, type Profile } from './profile.js'
import { createRandom, type Random } from './random.js'
import { RavenModel } from './raven-model.js'
import { EPOCH, installGlobals, serverRealm } from './realm.js'
import { copyProved } from './restores.js'
import { Actor, Scheduler, turn } from './scheduler.js'
import { CounterModel, DocumentModel, SOURCES } from './source-models.js'
import { labelled, type Tenant } from './tenants.js'
import { Unrest } from './unrest.js'

export interface Outcome {
  seed: number
  profile: Profile
  violations: string[]
  /** How often each fault was hit. */
  hits: Map<string, number>
  tolerated: Map<string, number>
  steps: number
  issued: number
  /** Numbers that nobody will issue, each for a recorded reason. */
  gaps: number
  trace: string[] | undefined
}

type Model = RavenModel | DocumentModel | CounterModel

/** Longer than a request may take. */
const CLOSED_MS = 60_000

const SERVER_URL = 'https://hilo.test'

export class Simulation {
  readonly random: Random
  readonly scheduler: Scheduler
  readonly profile: Profile
  readonly checker = new Checker()
  readonly network: Network
  readonly gateway: Gateway
  readonly driver = new Actor('driver')
  readonly hits = new Map<string, number>()
  /** By node. */
  readonly servers = new Map<string, OwnServer | Model>()
  readonly devices: Device[] = []
  /** Milliseconds that the servers' clocks are ahead. */
  serverClockError = 0
  /** Nodes that refuse connections. */
  readonly down = new Set<string>()
  readonly database: string
  /** Copies of a profile hold this claim: what it is granted belongs to both. */
  readonly sharedClaims = new Map<string, string[]>()
  /** Older copies of the nodes' databases, with what they know. */
  readonly backups = new Map<string, { copy: Copy; known: Known }>()
  gaps = 0
  /** No message is lost any more, or comes twice. */
  isHealed = false
  /** By claim: the highest number its device had seen when it stored it. */
  readonly seenBefore = new Map<string, number>()
  /** Nodes whose operator will raise the floors. */
  readonly copies = new Set<string>()
  /** By claim: what each node granted for it. */
  readonly grants = new Map<string, { series: string; low: number; high: number }[]>()
  readonly networkActor = new Actor('network')
  readonly unrest = new Unrest(
    () => this.scheduler.now,
    (what) => this.checker.complain(what),
  )
  readonly copiesOnline = new CopiesOnline()
  readonly #refusedClaims = new Set<string>()

  constructor(seed: number, database: string, trace: string[] | undefined) {
    this.random = createRandom(seed)
    this.scheduler = new Scheduler(this.random)
    this.scheduler.trace = trace
    this.database = database
    this.profile = chooseProfile(this.random)
    this.networkActor.realm = serverRealm(this.scheduler, () => this.serverClockError)
    const server = {
      handle: (request: Request) => this.#serve(request),
      sent: (request: Request) => this.#sent(request),
    }
    const hit = (fault: string) => this.hit(fault)
    this.gateway = new Gateway(this.random, this.profile.sizeLimit, hit, (claim) =>
      this.#refused(claim),
    )
    this.network = new Network(this.scheduler, this.networkActor, server, this.gateway, hit)
  }

  get isClean(): boolean {
    return this.profile.faults.size === 0
  }

  hit(fault: string): void {
    this.hits.set(fault, (this.hits.get(fault) ?? 0) + 1)
    this.scheduler.note(this.driver, `! ${fault}`)
  }

  async run(ownServers: OwnServers): Promise<void> {
    for (const node of this.profile.nodes)
      this.servers.set(node, await this.#startServer(node, ownServers))
    for (let i = 0; i < this.profile.devices; i++) this.addDevice(`d${i + 1}`)
    let left = this.profile.moves
    const next = () => {
      if (left-- === 0) return
      move(this)
      const pause = this.isClean
        ? 3_000
        : this.random.weighted({
            '0': 3,
            '20': 4,
            '300': 4,
            '3000': 3,
            '70000': 1,
            '20000000': 0.03,
          })
      this.scheduler.post(
        this.driver,
        Math.floor(Number(pause) * (this.isClean ? 1 : this.random.next() * 2)),
        'moves',
        next,
      )
    }
    this.scheduler.post(this.driver, 0, 'moves', next)
    while (left >= 0 && this.checker.violations.length === 0)
      if (!(await this.scheduler.step())) break
    if (this.checker.violations.length === 0) await end(this)
  }

  /** @param disk to begin with a copy of */
  addDevice(name: string, traits = chooseTraits(this.random, this.profile), disk?: Disk): Device {
    const device = new Device(name, traits, this.scheduler, this.network)
    if (disk) device.disk.copyOf(disk)
    device.node = this.random.pick(this.profile.nodes)
    device.databases.committed = (writes) => this.#look(device, writes)
    device.databases.failed = () => {
      this.hit('transaction failed')
      device.isLossy = true
    }
    if (!traits.hasIndexedDb) device.isLossy = true
    this.devices.push(device)
    this.openPage(device)
    return device
  }

  openPage(device: Device, tenant = this.random.pick(this.profile.tenants)): Page {
    return device.openPage(() => this.options(tenant), tenant)
  }

  options(tenant: Tenant): HiloOptions {
    const { collections, reserve, authority } = this.profile
    return {
      ...(isOfTheApp(authority) ? { source: SOURCES[authority](tenant) } : { url: SERVER_URL }),
      database: this.database,
      reserve,
      collections: Object.fromEntries(collections.map((tag) => [tag, {}])),
    }
  }

  /** What a device has stored of each collection. */
  statesOf(device: Device): DeviceState[] {
    return [...(device.disk.stores.get('collections')?.values() ?? [])].map(({ key, value }) =>
      labelled(key, value as DeviceState),
    )
  }

  excuse(range: Range, why: string): void {
    if (!this.isClean) this.checker.excuse(seriesOf(range), range.from, range.to, why)
  }

  /**
   * A page or a worker keeps its ranges in memory: they are lost when it closes.
   */
  keepsInMemory(actor: Actor | undefined): void {
    for (const device of this.devices)
      if (
        device.allPages.some(
          (page) => page.actor === actor || page.workers.some((worker) => worker.actor === actor),
        )
      )
        device.isLossy = true
  }

  /**
   * The page was killed, or its messages were lost: its leases and offers may be lost, too.
   */
  excusePage(page: Page, why: string): void {
    page.excuse = why
    for (const state of this.statesOf(page.device)) this.#excuseLeases(state, page.device)
  }

  #excuseLeases(state: DeviceState, device: Device): void {
    for (const { id, range } of [...state.leases, ...state.offers]) {
      const why = device.isLossy
        ? 'storage failed'
        : device.allPages.find((page) => page.isNamed(id))?.excuse
      if (why) this.excuse(range, why)
    }
  }

  #look(device: Device, writes: readonly Write[]): void {
    this.unrest.saw(device.name, 'transactions')
    for (const { store, key, value } of writes) {
      if (store !== 'collections' || value === undefined) continue
      const read = readState(value)
      if ('refused' in read)
        this.checker.complain(`${device.name} stored a state that cannot be used: ${read.refused}`)
      else {
        const state = labelled(key, read.state)
        const { fork } = state.gaps
        const series = JSON.stringify(key)
        const before = device.lastStates.get(series)
        if (before && device.releases > 0)
          for (const range of [
            ...before.ranges,
            ...[...before.leases, ...before.offers].map((each) => each.range),
          ])
            if (!range.token) this.excuse(range, 'released without a token')
        if (fork > (before?.gaps.fork ?? 0)) foundOut(this, device, before, state)
        device.lastStates.set(series, state)
        this.copiesOnline.stored(series, device.name, state)
        const { claim } = state
        if (claim && !this.seenBefore.has(claim.id)) this.seenBefore.set(claim.id, highestOf(state))
        this.#excuseLeases(state, device)
        if (this.scheduler.trace)
          this.scheduler.note(device.databases.actor, `has ${describe(state, device)}`)
      }
    }
  }

  /** A gateway refused a claim, which may have been granted before, or arrive later. */
  #refused(claim: string): void {
    this.#refusedClaims.add(claim)
    for (const { series, low, high } of this.grants.get(claim) ?? [])
      this.checker.excuse(series, low, high, 'a claim refused by a gateway')
  }

  /**
   * Asked again of another node, or of a server without claim ids, a claim is granted twice; the
   * device takes one of the answers, as a rule.
   */
  #answered(claim: string, series: string, low: number, high: number): void {
    const all = [...(this.grants.get(claim) ?? []), { series, low, high }]
    this.grants.set(claim, all)
    if (this.#refusedClaims.has(claim)) this.#refused(claim)
    if (all.length > 1)
      for (const each of all)
        this.checker.excuse(each.series, each.low, each.high, 'a claim granted twice')
  }

  /** Nobody will ever know whether a give-back without a token has arrived. */
  #sent(request: Request): void {
    this.unrest.saw(request.from, 'requests')
    this.#refuseClosed(request)
    this.#excuseGiveBack(request)
  }

  /** What was under way when an instance was closed may end. Then nobody asks any more. */
  #refuseClosed({ from, sender, method, url }: Request): void {
    const device = this.devices.find(({ name }) => name === from)
    const page = device?.allPages.find(({ name }) => `${sender}.`.startsWith(`${name}.`))
    if (page && this.scheduler.now > page.closedAt + CLOSED_MS)
      this.checker.complain(`${page.name} is closed, and sends ${method} ${url.pathname}`)
  }

  #excuseGiveBack({ method, url, node, answeredBy = node }: Request): void {
    if (!url.pathname.endsWith('/return') || method === 'POST') return
    const [tag, end, last] = ['tag', 'end', 'last'].map((name) => url.searchParams.get(name))
    this.checker.excuse(
      `${tag}-${answeredBy}`,
      Number(last) + 1,
      Number(end),
      'given back without a token',
    )
  }

  async #serve(request: Request): Promise<Reply | undefined> {
    if (this.down.has(request.node)) return undefined
    return this.servers.get(request.node)!.handle(request)
  }

  async #startServer(node: string, ownServers: OwnServers): Promise<OwnServer | Model> {
    if (this.profile.authority === 'document')
      return new DocumentModel(this.checker, (what) => this.hit(what))
    if (this.profile.authority === 'nextHi')
      return new CounterModel(this.checker, (what) => this.hit(what))
    if (this.profile.authority === 'raven')
      return new RavenModel(
        node,
        this.checker,
        () => EPOCH + this.scheduler.now + this.serverClockError,
        (claim, series, low, high) => this.#answered(claim, series, low, high),
      )
    const { checker, sharedClaims, seenBefore, profile } = this
    const witness: Witness = {
      checker,
      copyProved: (server) => copyProved(this, node, server),
      told: (id, device, tokens, isFound) => {
        // Another node does not know the tokens, and a restored server has forgotten some.
        const isSure = profile.nodes.length === 1 && !profile.hasRestore
        if (this.copiesOnline.answered(id, device, tokens, isFound) && isSure)
          checker.complain(`${device} and its copy are online, and its claim did not tell`)
      },
      // A restored server does not know what it has found out.
      copyFound: (device, series, numbers) => {
        if (profile.hasRestore) return
        checker.retired(series, numbers)
        if (this.isHealed) checker.mustDrop(series, device, numbers)
      },
      claimed: (claim, device, series, lastMax, low, high) => {
        checker.showed(series, Math.max(lastMax, seenBefore.get(claim ?? '') ?? 0))
        checker.granted(series, device, low, high)
        if (!claim) return
        this.#answered(claim, series, low, high)
        checker.shared(series, low, high, sharedClaims.get(claim) ?? [])
      },
    }
    const server = await ownServers.of(node)
    return server.enter({ random: this.random, witness, hit: (fault) => this.hit(fault) })
  }
}

export const seriesOf = ({ prefix, serverTag }: Range): string =>
  `${prefix.slice(0, -1).toLowerCase()}-${serverTag}`

/** The highest number that a device knows to be granted, as its state has it. */
const highestOf = ({ ranges, leases, offers, issued }: DeviceState): number =>
  Math.max(
    issued,
    ...[
      ...ranges,
      ...[...leases, ...offers.filter(({ isSent }) => !isSent)].map(({ range }) => range),
    ].map(({ to }) => to),
  )

/** A state as a schedule prints it. */
function describe(
  { ranges, leases, offers, claim, checkIn, gaps }: DeviceState,
  { allPages }: Device,
): string {
  const text = ({ prefix, from, to, serverTag }: Range) => `${prefix}${from}–${to}-${serverTag}`
  const owner = (id: string) => allPages.find((page) => page.isNamed(id))?.name ?? 'nobody'
  return [
    `free ${ranges.map(text).join(' ') || 'none'}`,
    ...leases.map(({ id, range }) => `leased to ${owner(id)} ${text(range)}`),
    ...offers.map(
      ({ id, page, range, isSent }) =>
        `offered to ${owner(page || id)} ${text(range)}${isSent ? ' sent' : ''}`,
    ),
    ...(claim ? ['a claim'] : []),
    ...(checkIn ? ['a check-in'] : []),
    ...(gaps.crash + gaps.giveBack + gaps.fork > 0 ? [`gaps ${JSON.stringify(gaps)}`] : []),
  ].join(', ')
}

/** @returns puts it back */
function watchMemory(isUsed: () => void): () => void {
  const { update } = MemoryStore.prototype
  MemoryStore.prototype.update = function (this: MemoryStore, ...change) {
    isUsed()
    return update.apply(this, change)
  } as typeof update
  return () => {
    MemoryStore.prototype.update = update
  }
}

let schedules = 0

export async function simulate(
  seed: number,
  ownServers: OwnServers,
  wantsTrace = false,
): Promise<Outcome> {
  const trace: string[] | undefined = wantsTrace ? [] : undefined
  const simulation = new Simulation(seed, `s${++schedules}`, trace)
  const { checker, hits, profile, scheduler } = simulation
  const restore = installGlobals(scheduler, wantsTrace ? 8 : 0)
  const unwatch = watchMemory(() => simulation.keepsInMemory(scheduler.current))
  const unhandled = (error: unknown) =>
    checker.complain(`unhandled rejection: ${(error as Error)?.stack ?? error}`)
  const listeners = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', unhandled)
  try {
    await simulation.run(ownServers)
    await turn()
  } catch (error) {
    checker.complain((error as Error).stack ?? String(error))
  } finally {
    restore()
    unwatch()
    process.off('unhandledRejection', unhandled)
    for (const listener of listeners) process.on('unhandledRejection', listener)
  }
  return {
    seed,
    profile,
    violations: checker.violations,
    hits,
    tolerated: checker.tolerated,
    steps: scheduler.steps,
    issued: checker.issuedCount,
    gaps: simulation.gaps,
    trace,
  }
}
