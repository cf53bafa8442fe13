/**
 * The world of one schedule, made from its seed: moves and faults until the profile's count is
 * reached, everything healed, everything accounted for. The code under test is the package's own,
 * from the façade down to the server's ledger.
 */
import type { Range } from '../../src/core/range.js'
import type { HiloOptions } from '../../src/device/hilo-options.js'
import type { DeviceState } from '../../src/device/state.js'
import { ledElsewhere } from './another-name.js'
import { BesideCopy } from './beside-copy.js'
import { Checker, type Known } from './checker.js'
import { Claims } from './claims.js'
import { CLOSED_MS } from './closed.js'
import { CopiesOnline } from './copies-online.js'
import { Device, type Page } from './device.js'
import { type Disk, HOMES, storeIn } from './disk.js'
import { end } from './ending.js'
import type { Lost } from './excuses.js'
import { Gateway } from './gateway.js'
import { IdForms } from './id-forms.js'
import type { Copy } from './ledger-storage.js'
import { move } from './moves.js'
import { Network, type Reply, type Request, SERVER_URL } from './network.js'
import type { GivenSeries, OwnServers } from './own-servers.js'
import { Pauses } from './pauses.js'
import { chooseProfile, chooseTraits, isOfTheApp, type Profile } from './profile.js'
import { QuietHours } from './quiet.js'
import { createRandom, type Random } from './random.js'
import { type Load, serverRealm } from './realm.js'
import { type Made, Receipts } from './receipts.js'
import { type RootLink, SECOND } from './regions.js'
import { ReplacedLedger } from './replaced-ledger.js'
import { Actor, Scheduler } from './scheduler.js'
import { type Server, startServer } from './servers.js'
import { whyBothMake } from './set-back.js'
import { SOURCES } from './source-models.js'
import { look } from './stored-states.js'
import { databaseOf, labelled, type Tenant } from './tenants.js'
import { TwoLedgers } from './two-ledgers.js'
import { Unrest } from './unrest.js'
import { type WordName, Words } from './words.js'

/** Longer than a release takes. */
const RECENTLY_MS = 60_000

interface Backup {
  copy: Copy
  known: Known
  series?: GivenSeries[]
  /** Numbers of series. */
  heard?: ReadonlySet<Made> | undefined
}

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
  readonly servers = new Map<string, Server>()
  readonly devices: Device[] = []
  /** Milliseconds that the servers' clocks are ahead. */
  serverClockError = 0
  /** Until nothing goes on between regions and their root. */
  regionsAtRest: () => Promise<void> = async () => {}
  /** Removes what this world has on the disk. */
  readonly atEnd: (() => Promise<void>)[] = []
  /** By region: its link to the root. */
  readonly rootLinks = new Map<string, RootLink>()
  /** Nodes that refuse connections. */
  readonly down = new Set<string>()
  readonly database: string
  /** By the id of a claim: the copies that hold it. Its grant belongs to each of them. */
  readonly sharedClaims = new Map<string, string[]>()
  /** Older copies of the nodes' databases, with what they know. */
  readonly backups = new Map<string, Backup>()
  /** Ranges in a copy of a device's storage that somebody has, who runs no page on it. */
  readonly stolen: Range[] = []
  gaps = 0
  /** No message is lost any more, or comes twice. */
  isHealed = false
  /** By the key of a claim: the highest number its device had seen when it stored it. */
  readonly seenBefore = new Map<string, number>()
  /** Nodes that know that they were restored, and whose operator will raise the floors. */
  readonly copies = new Set<string>()
  /** Nodes that were restored, and have heard of nothing that shows it. */
  readonly unawareOfRestore = new Set<string>()
  /** Devices whose requests reach another database. */
  readonly ledElsewhere = new Set<string>()
  readonly claims = new Claims(this.checker)
  readonly networkActor = new Actor('network')
  readonly unrest = new Unrest(
    () => this.scheduler.now,
    (what) => this.checker.complain(what),
  )
  /** By device: when it sent its newest request. */
  readonly askedAt = new Map<string, number>()
  readonly pauses = new Pauses(
    () => this.scheduler.now,
    (what) => this.checker.complain(what),
  )
  readonly quietHours = new QuietHours()
  readonly copiesOnline = new CopiesOnline()
  readonly besideCopy = new BesideCopy()
  readonly twoLedgers = new TwoLedgers(this)
  readonly idForms = new IdForms(this)
  readonly words: Words
  /** Is there an app that makes receipts? */
  readonly receipts: Receipts | undefined
  /** May the ledger become another one while servers use it? */
  readonly replacedLedger: ReplacedLedger | undefined

  /** @param words of words.ts; absent: as its seed says */
  constructor(
    seed: number,
    database: string,
    trace: string[] | undefined,
    words?: readonly WordName[],
  ) {
    this.random = createRandom(seed)
    this.scheduler = new Scheduler(this.random)
    this.scheduler.trace = trace
    this.database = database
    this.words = new Words(seed, chooseProfile(this.random), words)
    this.profile = this.words.profile
    if (Receipts.areMade(seed, this.profile))
      this.receipts = new Receipts(this, SERVER_URL, Receipts.haveRanges(seed, this.profile))
    if (ReplacedLedger.happens(seed, this.profile)) this.replacedLedger = new ReplacedLedger(this)
    this.checker.twoLedgers = this.twoLedgers
    this.checker.whyBothMake = (series, n, why, devices) =>
      whyBothMake(this, series, n, why, devices)
    this.networkActor.realm = serverRealm(this.scheduler, () => this.serverClockError)
    const server = {
      handle: (request: Request) => this.#serve(request),
      sent: (request: Request) => this.#sent(request),
      heard: (request: Request, reply: Reply) => this.#heard(request, reply),
    }
    const hit = (fault: string) => this.hit(fault)
    this.gateway = new Gateway(this.random, this.profile.sizeLimit, hit, (claim) =>
      this.claims.refused(claim),
    )
    this.network = new Network(this.scheduler, this.networkActor, server, this.gateway, hit)
  }

  /** Was a node's database replaced by an older copy? */
  get wasRestored(): boolean {
    return this.hits.has('server restored') || this.hits.has('region restored')
  }

  get isClean(): boolean {
    return this.profile.faults.size === 0
  }

  hit(fault: string): void {
    this.hits.set(fault, (this.hits.get(fault) ?? 0) + 1)
    this.scheduler.note(this.driver, `! ${fault}`)
  }

  async run(ownServers: OwnServers): Promise<void> {
    try {
      await this.#run(ownServers)
    } finally {
      for (const end of this.atEnd) await end()
    }
  }

  async #run(ownServers: OwnServers): Promise<void> {
    for (const node of this.profile.nodes)
      this.servers.set(node, await startServer(this, node, ownServers))
    for (let i = 0; i < this.profile.devices; i++) this.addDevice(`d${i + 1}`)
    let left = this.profile.moves
    const next = () => {
      if (left-- === 0) return
      move(this)
      this.words.moved(this)
      this.scheduler.post(this.driver, this.#pause(), 'moves', next)
    }
    this.scheduler.post(this.driver, 0, 'moves', next)
    while (left >= 0 && this.checker.violations.length === 0)
      if (!(await this.scheduler.step())) break
    if (this.checker.violations.length === 0) await this.quietHours.pass(this)
    if (this.checker.violations.length === 0) await end(this)
  }

  /** Between two moves. */
  #pause(): number {
    const { random, profile } = this
    // So long now and then that the server has heard of everything.
    if (this.isClean) return profile.goesBack && random.chance(0.2) ? 100_000 : 3_000
    const pause = random.weighted({
      '0': 3,
      '20': 4,
      '300': 4,
      '3000': 3,
      '70000': 1,
      '20000000': 0.03,
    })
    return Math.floor(Number(pause) * random.next() * 2)
  }

  /** @param disk to begin with a copy of */
  addDevice(name: string, traits = chooseTraits(this.random, this.profile), disk?: Disk): Device {
    const device = new Device(name, traits, this.scheduler, this.network)
    if (disk) device.disk.copyOf(disk)
    device.restoresSession = disk !== undefined
    device.node = this.random.pick(this.profile.nodes)
    if (this.profile.counts === 'a root' && this.devices.length % 2 > 0) device.node = SECOND
    const isNew = traits.engine === 'chromium' && this.devices.length % 2 === 0
    device.hasBuckets = this.profile.hasBuckets && isNew
    device.databases.committed = (writes) => look(this, device, writes)
    device.databases.failed = () => {
      this.hit('transaction failed')
      device.disturb()
      device.mayLose('storage failed')
    }
    if (!traits.hasIndexedDb) device.mayLose('kept in memory')
    this.devices.push(device)
    this.openPage(device)
    return device
  }

  openPage(
    device: Device,
    tenant = this.random.pick(this.profile.tenants),
    kind: Page['kind'] = 'page',
    load?: Load,
  ): Page {
    const { app } = device
    return device.openPage(() => ({ ...this.options(tenant), ...app }), tenant, kind, load)
  }

  options(tenant: Tenant): HiloOptions {
    const { collections, reserve, authority } = this.profile
    const { current } = this.idForms
    return {
      ...(isOfTheApp(authority) ? { source: SOURCES[authority](tenant) } : { url: SERVER_URL }),
      database: databaseOf(this.database, tenant),
      reserve,
      ...(current && { formatId: current }),
      collections: Object.fromEntries(collections.map((tag) => [tag, {}])),
    }
  }

  /** What a device has stored of each collection. */
  statesOf(device: Device): DeviceState[] {
    return this.storedOn(device).map(([, state]) => state)
  }

  /** The same, each with its key. */
  storedOn({ disk }: Device): [key: string, state: DeviceState][] {
    return HOMES.flatMap((home) =>
      [...(disk.stores.get(storeIn(home, 'collections'))?.values() ?? [])].map(
        ({ key, value }): [string, DeviceState] => [
          JSON.stringify(key),
          labelled(key, value as DeviceState),
        ],
      ),
    )
  }

  excuse(range: Range, why: Lost): void {
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
      ) {
        device.mayLose('kept in memory')
        this.checker.holdsApart(device.name)
      }
  }

  /**
   * The page was killed, or its messages were lost: its leases and offers may be lost, too.
   */
  excusePage(page: Page, why: Lost): void {
    page.excuse = why
    for (const state of this.statesOf(page.device)) this.excuseLeases(state, page.device)
  }

  /** Excuses what pages with an excuse hold, and what all hold if the device may lose anything. */
  excuseLeases(state: DeviceState, device: Device): void {
    for (const { id, range } of [...state.leases, ...state.offers]) {
      const [why = device.allPages.find((page) => page.isNamed(id))?.excuse] = device.losses
      if (why) this.excuse(range, why)
    }
  }

  #sent(request: Request): void {
    if (!this.#isStockpiling(request)) this.unrest.saw(request.from, 'requests')
    this.pauses.sent(request)
    const device = this.devices.find(({ name }) => name === request.from)
    if (device) this.twoLedgers.sent(device, request)
    this.askedAt.set(request.from, this.scheduler.awake)
    this.quietHours.saw(request)
    this.#refuseClosed(request)
    this.#excuseGiveBack(request)
  }

  /**
   * Has its app asked for very many ids? Then the device claims as fast as it can until its reserve
   * is that large again, and gives the numbers of many grants back in as many requests.
   */
  #isStockpiling({ from }: Request): boolean {
    return this.devices.some(({ name, hasStockpiled }) => name === from && hasStockpiled)
  }

  #heard(request: Request, reply: Reply): void {
    this.pauses.heard(request, reply)
    const device = this.devices.find(({ name }) => name === request.from)
    if (device) this.twoLedgers.received(device, request, reply)
    if (device && request.url.pathname.endsWith('/return')) device.reachedAt = this.scheduler.now
  }

  /** A closed instance may end what it had begun. After that it must send nothing any more. */
  #refuseClosed({ from, sender, method, url }: Request): void {
    const device = this.devices.find(({ name }) => name === from)
    const page = device?.allPages.find(({ name }) => `${sender}.`.startsWith(`${name}.`))
    if (page && this.scheduler.awake > page.closedAt + CLOSED_MS)
      this.checker.complain(`${page.name} is closed, and sends ${method} ${url.pathname}`)
  }

  /** Could the device know that somebody takes numbers back? If not, it has to keep them. */
  wasReached(device: Device): boolean {
    return device.isOnline || this.scheduler.now - device.reachedAt < RECENTLY_MS
  }

  /** Nobody will ever know whether a give-back without a token has arrived. */
  #excuseGiveBack({ from, method, url, node, answeredBy = node }: Request): void {
    if (!url.pathname.endsWith('/return') || method === 'POST') return
    const device = this.devices.find(({ name }) => name === from)
    if (device && !this.wasReached(device)) return
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
    const isLed = this.ledElsewhere.has(request.from)
    const url = isLed ? ledElsewhere(request.url, this.database) : request.url
    const reply = await this.servers.get(request.node)!.handle({ ...request, url })
    await this.regionsAtRest()
    return reply
  }
}

export const seriesOf = ({ prefix, serverTag }: Range): string =>
  `${prefix.slice(0, -1).toLowerCase()}-${serverTag}`
