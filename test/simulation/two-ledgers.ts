/**
 * Two ledgers answer at one address (H34). Each grants from 1 on, so a number of one is a number of
 * the other, and a letter of one a letter of the other. A device that has received answers of both
 * must stop: it issues nothing of either any more, once all of its pages can know. Devices that
 * have heard only one each cannot know.
 */
import { DEFAULT_SEPARATOR } from '../../src/core/names.js'
import type { Device, Page } from './device.js'
import type { Reply, Request } from './network.js'
import { OTHER_OPTIONS } from './other-options.js'
import type { Simulation } from './simulation.js'
import { stateNamed, type Tenant, tenantIn } from './tenants.js'

/** The collection that has series. */
const RECEIPTS = 'receipts'

/** After this time, every page of a device must know. */
const HEARD_MS = 30_000

/** What brings another ledger. */
const ANOTHER = [
  'a ledger begun anew',
  'a replica beside the ledger',
  'a ledger begun below what a RavenDB granted',
  'a proxy leads to another database',
]

/** After this time, a grant is stored. */
const STORED_MS = 5_000

interface Asked {
  tag: string
  separator: string
}

/** Answers that say of which ledger they are. */
const REFUSED = 409
const TELLING = [200, 201, REFUSED]

const tenantOf = ({ url }: Request): Tenant => tenantIn(url.pathname.split('/')[2]!)

export class TwoLedgers {
  /** By device and state: ledgers of which an answer came. */
  readonly #heard = new Map<string, Set<string>>()
  readonly #stopped = new Set<string>()
  /** By device and letter: the ledger that gave it the series last. */
  readonly #givers = new Map<string, string>()
  /** By claim: when it was sent first. */
  readonly #sentAt = new Map<string, number>()
  /** By sender and database: when a ledger granted first. */
  readonly #grantedAt = new Map<string, number>()
  readonly #simulation: Simulation

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  /** Has another ledger begun to answer? */
  get areThere(): boolean {
    return ANOTHER.some((what) => this.#simulation.hits.has(what))
  }

  /** Must this device have stopped to issue numbers of this state (tenants.ts)? */
  isStopped(device: string, state: string): boolean {
    return this.#stopped.has(`${device} ${state}`)
  }

  /** Which ledger gave this series to the device. Undefined: it is a copy, and nobody did. */
  giverOf(device: string, letter: string): string | undefined {
    return this.#givers.get(`${device} ${letter}`)
  }

  /**
   * A request is sent. Of a collection that no ledger granted to this device, the first claim shows
   * the ledgers that its sender has numbers of in that database (H34).
   */
  sent(device: Device, request: Request): void {
    const { scheduler, checker, profile } = this.#simulation
    if (profile.faults.size > 0 || device.allPages.length > 1) return
    if (request.method !== 'POST' || !request.url.pathname.endsWith('/next')) return
    const { claim, collections } = JSON.parse(request.body!)
    // The claim was stored before, and stays as it was.
    const sentAt = this.#sentAt.get(claim) ?? scheduler.now
    this.#sentAt.set(claim, sentAt)
    const since = this.#grantedAt.get(`${request.sender} ${tenantOf(request)}`)
    if (since === undefined || sentAt < since + STORED_MS) return
    for (const { tag, ledgers } of collections)
      if (!ledgers) checker.complain(`${request.sender} claims ${tag}, and shows no ledger`)
  }

  /** The device has received this answer. */
  received(device: Device, request: Request, { ledger, status, body, isOfAnother }: Reply): void {
    if (ledger === undefined || !TELLING.includes(status) || isOfAnother) return
    if (request.url.pathname.endsWith('/hilo/series') && status !== REFUSED)
      this.#givers.set(`${device.name} ${JSON.parse(body).series}`, ledger)
    if (request.url.pathname.endsWith('/next') && status !== REFUSED)
      this.#granted(`${request.sender} ${tenantOf(request)}`)
    const page = device.allPages.find(({ name }) => `${request.sender}.`.startsWith(`${name}.`))
    const tenant = tenantOf(request)
    for (const { tag, separator } of this.#askedFor(request)) {
      const key = `${device.name} ${stateNamed(tag, tenant, separator)}`
      const heard = this.#heard.get(key) ?? new Set()
      this.#heard.set(key, heard.add(ledger))
      if (heard.size > 1 && page) this.#requireStop(device, page, tag, tenant, separator)
    }
  }

  #granted(sender: string): void {
    const { now } = this.#simulation.scheduler
    this.#grantedAt.set(sender, this.#grantedAt.get(sender) ?? now)
  }

  /** The collections that a claim asks for, or a check-in shows tokens of. */
  #askedFor({ method, url, body }: Request): Asked[] {
    if (url.pathname.includes('/hilo/series'))
      return [{ tag: RECEIPTS, separator: DEFAULT_SEPARATOR }]
    const { collections = [], grants = [] } = JSON.parse(body ?? '{}') as {
      collections?: { tag: string; identityPartsSeparator: string }[]
      grants?: { token: string }[]
    }
    if (url.pathname.endsWith('/next') && method !== 'GET')
      return collections.map(({ tag, identityPartsSeparator: separator }) => ({ tag, separator }))
    // As a RavenDB is asked: the capitals of the tag were drawn for this claim.
    const { tag, identityPartsSeparator: separator } = Object.fromEntries(url.searchParams)
    if (url.pathname.endsWith('/next'))
      return [{ tag: tag!.toLowerCase(), separator: separator ?? DEFAULT_SEPARATOR }]
    // A token does not say of which separator's state it is.
    if (!url.pathname.endsWith('/hilo/checkin') || this.#simulation.hits.has(OTHER_OPTIONS))
      return []
    return grants.map(({ token }) => ({
      tag: Buffer.from(token.split('.')[4]!, 'base64url').toString(),
      separator: DEFAULT_SEPARATOR,
    }))
  }

  /** If the page lives on, and its storage works, what it has heard is stored and told. */
  #requireStop(device: Device, page: Page, tag: string, tenant: Tenant, separator: string): void {
    const { scheduler, driver, profile } = this.#simulation
    const mayFail = ['storage', 'workers', 'crashes', 'powerCuts', 'eviction'] as const
    if (mayFail.some((kind) => profile.faults.has(kind)) || device.isLossy) return
    if (!device.traits.hasBroadcasts || !device.traits.hasIndexedDb) return
    // Another spelling has a state of its own, which hears for itself.
    const spelled = stateNamed(tag.toUpperCase(), tenant, separator)
    const isSpelled = () => this.#heard.has(`${device.name} ${spelled}`)
    scheduler.post(driver, HEARD_MS, `${device.name} must know of two ledgers`, () => {
      if (!page.isAlive || device.isLossy || isSpelled()) return
      if (tag === RECEIPTS) return this.#simulation.receipts?.mustStop(device)
      this.#simulation.hit('a device heard two ledgers')
      this.#stopped.add(`${device.name} ${stateNamed(tag, tenant, separator)}`)
    })
  }
}
