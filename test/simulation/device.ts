/** A device: its disk, its browser with some pages, and how each of them can come, go and die. */
import { expose } from 'comlink'
import type { Batch } from '../../src/client/batch.js'
import { Hilo, type HiloRealm } from '../../src/client/hilo.js'
import * as onlineCalls from '../../src/client/online-calls.js'
import { DEFAULT_SEPARATOR } from '../../src/core/names.js'
import type { Range } from '../../src/core/range.js'
import type { HiloOptions } from '../../src/device/hilo-options.js'
import type { DeviceState } from '../../src/device/state.js'
import { ownerHere } from '../../src/worker/here.js'
import type { Call } from './calls.js'
import { Disk } from './disk.js'
import type { Lost } from './excuses.js'
import { DatabaseHost, STORAGE_WORKS } from './idb-host.js'
import { LocalStorage } from './local-storage.js'
import type { Network } from './network.js'
import { createChannel, SimWorker } from './ports.js'
import {
  type Load,
  nextPageId,
  PageWindow,
  pageRealm,
  type Surroundings,
  workerRealm,
} from './realm.js'
import { Actor, Queue, type Scheduler } from './scheduler.js'
import { BroadcastHost, LockHost } from './tabs.js'
import { stateNamed, type Tenant } from './tenants.js'

/** What an engine loses when a page goes: never both copies of an exit note. */
type Engine = 'chromium' | 'firefox' | 'webkit'

/** Longer than a page is busy with its first ids. */
const LATE_FILE_MS = 90_000
/** How long a browser keeps a page in its back/forward cache, in Chromium. */
const CACHED_MS = 600_000

export interface DeviceTraits {
  engine: Engine
  hasLocks: boolean
  hasBroadcasts: boolean
  /** Without broadcasts: is there a class that throws, or none? */
  forbidsBroadcasts?: boolean
  hasIndexedDb: boolean
  /** `blocked`: no worker may start. */
  workers: 'work' | 'blocked'
}

/** A worker that does not answer any more, for a page. */
export interface SimulatedWorker {
  actor: Actor
  handle: SimWorker
}

export interface Backup {
  /** When it was made. */
  at: number
  disk: Disk
  /** How many leases the device had made then. */
  leased: number
}

export class Device {
  readonly name: string
  readonly traits: DeviceTraits
  readonly disk: Disk
  readonly databases: DatabaseHost
  readonly storageFaults = { ...STORAGE_WORKS }
  pages: Page[] = []
  /** All pages that it ever had. */
  readonly allPages: Page[] = []
  /** Why it may lose any of its numbers without a word. */
  readonly losses = new Set<Lost>()
  /** The state that it stored last, of each collection. */
  readonly lastStates = new Map<string, DeviceState>()
  /**
   * How many calls of `release()` have not ended. If the page or its worker ends meanwhile, numbers
   * without a token are removed from the storage, and may never be sent.
   */
  releases = 0
  releasesBegun = 0
  hasStockpiled = false
  /** When its last page went. */
  leftAt = Number.NEGATIVE_INFINITY
  /** When it went back to an older copy of its storage. */
  setBackAt = Number.NEGATIVE_INFINITY
  /** An older copy of its storage. */
  backup: Backup | undefined
  /** All leases that it has made, oldest first. */
  readonly leased: (Pick<Range, 'prefix' | 'from' | 'to'> & { at: number })[] = []
  /** When it last got an answer from a server that takes numbers back. */
  reachedAt = Number.NEGATIVE_INFINITY
  isOnline = true
  /** Has its browser storage buckets? */
  hasBuckets = false
  /** How often it lost or found the network. */
  journeys = 0
  /** Workers that asked in vain, for a release, whether the server is there. */
  readonly unanswered = new Set<string>()
  /** Milliseconds its clock is ahead. */
  clockError = 0
  /** The options of pages that it opens from now on, besides those of the schedule. */
  app: Partial<HiloOptions> = {}
  /** The node its requests reach. */
  node = 'A'
  /** The next page is one of a session that the browser restores. */
  restoresSession = false
  readonly surroundings: Surroundings
  readonly scheduler: Scheduler
  #pageCount = 0
  #disturbedUntil = Number.NEGATIVE_INFINITY

  constructor(name: string, traits: DeviceTraits, scheduler: Scheduler, network: Network) {
    this.name = name
    this.traits = traits
    this.scheduler = scheduler
    this.disk = new Disk(() => scheduler.now)
    this.databases = new DatabaseHost(
      this.disk,
      scheduler,
      new Actor(`${name}.disk`),
      this.storageFaults,
    )
    this.surroundings = {
      name,
      databases: this.databases,
      locks: new LockHost(scheduler),
      broadcasts: new BroadcastHost(scheduler),
      network,
      ...traits,
      hasBuckets: () => this.hasBuckets,
      isOnline: () => this.isOnline,
      offline: ({ url, sender }) => {
        if (url.searchParams.get('end') === '0') this.unanswered.add(sender)
      },
      disturbed: () => this.disturb(),
      node: () => this.node,
      clockError: () => this.clockError,
    }
  }

  /** Gaps are to be expected from now on. */
  mayLose(why: Lost): void {
    this.losses.add(why)
  }

  get isLossy(): boolean {
    return this.losses.size > 0
  }

  /** Something may keep it from being heard, and from hearing the server. */
  disturb(until = this.scheduler.now): void {
    this.#disturbedUntil = Math.max(this.#disturbedUntil, until)
  }

  /** Since this time, or is it now? */
  wasDisturbedSince(at: number): boolean {
    return (
      this.#disturbedUntil >= at ||
      this.storageFaults.open !== 'works' ||
      this.storageFaults.bucket !== 'works' ||
      this.losses.has('kept in memory') ||
      this.pages.some(({ isSwitchedOff }) => isSwitchedOff)
    )
  }

  /**
   * @param kind a service worker has no document, and hears nothing before it ends
   * @param load absent: in a new tab, or in one that is restored
   */
  openPage(
    options: () => HiloOptions,
    tenant: Tenant = '',
    kind: PageKind = 'page',
    load = this.#newTab(kind),
  ): Page {
    const name = `${this.name}.${kind === 'page' ? 'p' : 'sw'}${++this.#pageCount}`
    const page = new Page(this, name, tenant, options, kind, load)
    this.pages.push(page)
    this.allPages.push(page)
    return page
  }

  /**
   * Every process of the browser is gone at once. @returns how many `localStorage` writes went with
   * them
   */
  killBrowser(): number {
    this.restoresSession = true
    for (const page of this.allPages) page.die()
    this.databases.dropAll()
    return this.disk.killBrowser(this.scheduler.random)
  }

  /** @returns whether a committed write was lost */
  cutPower(): boolean {
    this.restoresSession = true
    for (const page of this.allPages) page.die()
    this.databases.dropAll()
    return this.disk.cutPower(this.scheduler.random)
  }

  #newTab(kind: PageKind): Load {
    const { disk, scheduler } = this
    const sessionStorage = new LocalStorage(() => scheduler.now, disk.session)
    if (!this.restoresSession || kind !== 'page') return { type: 'navigate', sessionStorage }
    this.restoresSession = false
    sessionStorage.copyOf(disk.session)
    return { type: 'back_forward', sessionStorage }
  }
}

type PageKind = 'page' | 'service worker'

export class Page {
  readonly name: string
  readonly kind: PageKind
  readonly device: Device
  readonly tenant: Tenant
  readonly actor: Actor
  readonly window = new PageWindow()
  readonly load: Load
  readonly workers: SimulatedWorker[] = []
  state: 'visible' | 'hidden' | 'cached' | 'closing' | 'prerendered' | 'gone' = 'visible'
  hilo!: Hilo
  /** The ids of its instances, as they stand in the device's state. */
  readonly ids: string[] = []
  /** When its last instance was closed. */
  closedAt = Number.POSITIVE_INFINITY
  /** Why the numbers that it held may be lost. */
  excuse: Lost | undefined
  /** When it last began something that may still be under way. */
  busyAt = 0
  /** When it came back from the back/forward cache last. */
  backAt = 0
  /** Of each collection: when how many ids were issued, and how many a call has asked for. */
  readonly issues = new Map<string, { until: number; count: number }[]>()
  readonly wishes = new Map<string, { until: number; count: number }[]>()
  /** Of each collection: the nodes of the ids that it has issued. */
  readonly nodes = new Map<string, Set<string>>()
  /** Can the code be loaded that runs here when no worker does? */
  canLoadOwner = true
  /** Calls that have not settled. */
  readonly calls = new Set<Call>()
  /** Has the app called `goOffline()`? */
  isSwitchedOff = false
  /** By collection: how many numbers its app has asked it to hold, at most. */
  readonly warmed = new Map<string, number>()
  /** That its app has taken. */
  readonly batches: Batch[] = []
  /** When the app switched it on again, or it ended. Infinity: it is off. */
  switchedOffUntil = Number.NEGATIVE_INFINITY
  readonly #scheduler: Scheduler
  /** Keeps it in the cache: it is not evicted any more. */
  #keep = () => {}
  readonly #queue = new Queue()
  readonly #options: () => HiloOptions
  #separator = DEFAULT_SEPARATOR

  constructor(
    device: Device,
    name: string,
    tenant: Tenant,
    options: () => HiloOptions,
    kind: PageKind,
    load: Load,
  ) {
    this.device = device
    this.load = load
    this.name = name
    this.kind = kind
    if (kind === 'service worker') this.state = 'hidden'
    this.tenant = tenant
    this.#options = options
    this.#scheduler = device.scheduler
    this.actor = new Actor(name)
    const href = `https://app.test/${tenant && `${tenant}/`}`
    const around = [this.#scheduler, this.actor, device.surroundings] as const
    this.actor.realm =
      kind === 'page' ? pageRealm(...around, this.window, href, load) : workerRealm(...around, href)
    this.run('opens', () => this.mount())
  }

  /** Makes an instance, as `createHilo` does. */
  mount(): void {
    this.busyAt = this.#scheduler.awake
    this.closedAt = Number.POSITIVE_INFINITY
    this.#endSwitchedOff()
    this.isSwitchedOff = false
    this.ids.push(nextPageId(this.actor, this.#scheduler.random))
    // Where there is no document, open instances are counted by the global object, which all actors
    // share.
    Reflect.deleteProperty(globalThis, Symbol.for('offline-hilo'))
    const options = this.#options()
    this.#separator = options.identityPartsSeparator ?? DEFAULT_SEPARATOR
    this.hilo = new Hilo(options, {
      spawn: this.kind === 'page' ? () => this.#spawn() : undefined,
      ownerHere: async () => {
        if (this.canLoadOwner) return ownerHere()
        throw new TypeError('Failed to fetch a module')
      },
      onlineCalls: () => this.#loadOnlineCalls(),
    })
  }

  /** Does a lease or an offer with this id belong to an instance of this page? */
  isNamed(id: string): boolean {
    return this.ids.some((own) => id.startsWith(own))
  }

  /** The name of the device's state that has its numbers of a collection. */
  stateOf(spelled: string): string {
    return stateNamed(spelled, this.tenant, this.#separator)
  }

  /** Has its storage not opened yet? */
  readonly isInMemory = (): boolean => this.hilo.status().storage === 'memory'

  get isAlive(): boolean {
    return this.state === 'visible' || this.state === 'hidden'
  }

  /** Makes the page do something, as an event of its own. */
  run(what: string, act: () => void): void {
    this.#scheduler.post(this.actor, 0, what, act, this.#queue)
  }

  goOffline(): void {
    this.isSwitchedOff = true
    this.switchedOffUntil = Number.POSITIVE_INFINITY
    this.device.disturb()
    this.hilo.goOffline()
  }

  goOnline(): void {
    this.#endSwitchedOff()
    this.isSwitchedOff = false
    this.hilo.goOnline()
  }

  hide(): void {
    this.state = 'hidden'
    this.window.setVisibility('hidden')
  }

  show(): void {
    this.state = 'visible'
    this.busyAt = this.#scheduler.awake
    this.window.setVisibility('visible')
  }

  /** The browser renders it before its user goes there. Call it before anything runs in it. */
  prerender(): void {
    this.state = 'prerendered'
    Object.assign(this.window.document, { prerendering: true, visibilityState: 'hidden' })
  }

  /** Its user goes there: the browser starts what it has held back. */
  activate(): void {
    this.state = 'visible'
    this.busyAt = this.#scheduler.awake
    for (const { actor } of this.workers) if (actor.state === 'frozen') actor.state = 'alive'
    this.run('is shown at last', () => {
      this.window.document.prerendering = false
      this.window.document.emit('prerenderingchange')
      this.window.setVisibility('visible')
    })
  }

  /**
   * Navigation, reload or close: the page hears of it, but the browser waits for nothing that the
   * page starts.
   */
  leave(): void {
    this.#sayGoodbye(false)
    this.device.scheduler.note(this.actor, 'is gone')
    this.#gone()
    // A worker may outlive its page for a moment. The browser ends it, also if it hangs.
    for (const { actor } of this.workers) {
      const delay = this.#scheduler.random.between(0, 20)
      this.#scheduler.post(this.device.databases.actor, delay, 'worker ends', () =>
        this.#scheduler.kill(actor),
      )
    }
  }

  /**
   * Closed while its thread is busy for `ms`: the user sees it no more, and the page hears of it
   * only then. Until then its worker goes on, and answers other pages.
   * @param hears does the page hear of it at all?
   */
  closeBusy(ms: number, hears: boolean): void {
    this.state = 'closing'
    this.actor.state = 'frozen'
    this.device.pages = this.device.pages.filter((page) => page !== this)
    if (this.device.pages.length === 0) this.device.leftAt = this.#scheduler.now
    this.#scheduler.post(this.device.databases.actor, ms, 'a busy page is free', () => {
      if (this.state !== 'closing') return
      if (!hears) return this.die()
      this.actor.state = 'alive'
      this.run('closes late', () => this.leave())
    })
  }

  /** Into the back/forward cache. */
  cache(): void {
    this.#sayGoodbye(true)
    this.state = 'cached'
    const { actor } = this.device.databases
    this.#keep = this.#scheduler.post(actor, CACHED_MS, 'evicts a cached page', () => this.die())
    this.#each((actor) => {
      if (actor.state === 'alive') actor.state = 'frozen'
    })
  }

  /** Out of the back/forward cache: the page goes on where it stopped. */
  restore(): void {
    this.#keep()
    this.backAt = this.#scheduler.awake
    this.#each((actor) => {
      if (actor.state === 'frozen') actor.state = 'alive'
    })
    this.state = 'visible'
    // What was under way when it was frozen goes on now.
    if (this.closedAt < this.#scheduler.awake) this.closedAt = this.#scheduler.awake
    this.run('is restored', () => {
      this.busyAt = this.#scheduler.awake
      // It may have been hidden once more meanwhile.
      this.state = 'visible'
      this.window.document.visibilityState = 'visible'
      this.window.emit('pageshow', { persisted: true })
      this.window.document.emit('visibilitychange')
    })
  }

  /** Killed: crash, SIGKILL, or evicted from a cache. */
  die(): void {
    if (this.state === 'gone') return
    this.#gone()
    for (const { actor } of this.workers) this.#scheduler.kill(actor)
  }

  #sayGoodbye(persisted: boolean): void {
    const { engine } = this.device.traits
    const isLast = this.device.pages.filter((page) => page.isAlive).length === 1
    const losing =
      engine === 'webkit'
        ? 'indexedDB'
        : engine === 'firefox' && isLast && !persisted
          ? 'localStorage'
          : undefined
    this.window.isLosing = losing
    if (losing === 'indexedDB') this.device.databases.deafTo.add(this.actor)
    this.window.emit('pagehide', { persisted })
    if (this.window.document.visibilityState === 'visible') this.window.setVisibility('hidden')
    this.window.isLosing = undefined
    this.device.databases.deafTo.delete(this.actor)
  }

  #endSwitchedOff(): void {
    this.switchedOffUntil = Math.min(this.switchedOffUntil, this.#scheduler.now)
  }

  #gone(): void {
    this.state = 'gone'
    this.#endSwitchedOff()
    this.#scheduler.kill(this.actor)
    this.device.pages = this.device.pages.filter((page) => page !== this)
  }

  #each(act: (actor: Actor) => void): void {
    act(this.actor)
    for (const { actor } of this.workers) act(actor)
  }

  /** A file comes over the network: now and then late, and now and then not at all. */
  #loadOnlineCalls(): ReturnType<HiloRealm['onlineCalls']> {
    const { random } = this.#scheduler
    const comes = this.device.isOnline || random.chance(0.9)
    const delay = random.chance(0.1) ? random.between(1_000, LATE_FILE_MS) : random.between(0, 50)
    return new Promise((resolve, reject) =>
      this.#scheduler.post(
        this.actor,
        delay,
        `a file ${comes ? 'comes' : 'cannot be loaded'}`,
        () => (comes ? resolve(onlineCalls) : reject(new TypeError('Failed to fetch a module'))),
      ),
    )
  }

  #spawn(): Worker {
    if (this.device.traits.workers === 'blocked')
      throw new DOMException('Refused to create a worker.', 'SecurityError')
    const actor = new Actor(`${this.name}.w${this.workers.length + 1}`)
    actor.realm = workerRealm(this.#scheduler, actor, this.device.surroundings)
    if (this.state === 'prerendered') actor.state = 'frozen'
    const { port1, port2 } = createChannel(this.#scheduler, this.actor)
    port2.actor = actor
    const handle = new SimWorker(port1, () => this.#scheduler.kill(actor))
    this.workers.push({ actor, handle })
    // Ahead of all messages to it: a worker's script runs first.
    this.#scheduler.post(
      actor,
      this.#scheduler.random.between(1, 20),
      'worker starts',
      () => expose(ownerHere(), port2 as never),
      port2.queue,
    )
    return handle as unknown as Worker
  }
}
