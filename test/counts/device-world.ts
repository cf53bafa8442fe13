/**
 * A device whose costs can be counted exactly: the package's own pages, workers and server in the
 * simulation's world, where nothing fails and each wait takes the same time in every run.
 */
import { onTestFinished } from 'vitest'
import { createHiloHandler } from '../../server/src/index.js'
import type { Hilo } from '../../src/client/hilo.js'
import { CALM_TRAITS } from '../simulation/calm-world.js'
import { Device, type Page } from '../simulation/device.js'
import { Gateway } from '../simulation/gateway.js'
import { SimulatedRequest } from '../simulation/http.js'
import { MemoryStorage } from '../simulation/ledger-storage.js'
import { Network, type Reply, SERVER_URL, type Request as Sent } from '../simulation/network.js'
import { createRandom, type Random } from '../simulation/random.js'
import { installGlobals, type Load, serverRealm } from '../simulation/realm.js'
import { Actor, Scheduler } from '../simulation/scheduler.js'

/** How often each thing happened. What did not happen is left out. */
export type Counts = Partial<Record<Cost, number>>

/**
 * - `strict`: transactions of IndexedDB that wait for the disk. `relaxed`: those that do not, which
 *   are the notes of pages that go, and the first read of a connection.
 * - `claims`, `checkIns`, `giveBacks`: requests that were sent, also those without an answer.
 *   `others`: requests to other routes.
 * - `messages`: between pages and their workers, in both directions.
 * - `broadcasts`: from worker to worker of the device; each worker that hears one counts.
 * - `timers`: those that are set at the end. They are told only of a device at rest.
 */
type Cost =
  | 'strict'
  | 'relaxed'
  | 'claims'
  | 'checkIns'
  | 'giveBacks'
  | 'others'
  | 'messages'
  | 'broadcasts'
  | 'timers'

/** By the name that the simulation gives to the event. */
const EVENTS: Readonly<Record<string, Cost>> = {
  'strict commit': 'strict',
  'relaxed commit': 'relaxed',
  message: 'messages',
  broadcast: 'broadcasts',
}

/** By the last part of the path. */
const REQUESTS: Readonly<Record<string, Cost>> = {
  next: 'claims',
  checkin: 'checkIns',
  return: 'giveBacks',
}

/** Far longer than any call of these stories takes. */
const LONGEST_CALL_MS = 3_600_000

export class DeviceWorld {
  readonly device: Device
  /** By what it was counted in. */
  readonly counts: Record<string, Counts> = {}
  readonly #scheduler = new Scheduler(steady())
  /** Those that are set, each with the page or worker that has it. */
  readonly #timers = new Set<{ actor: Actor }>()
  #running: Counts = {}

  /** @param handle the server */
  constructor(handle: (request: Sent) => Promise<Reply>) {
    const actor = new Actor('network')
    actor.realm = serverRealm(this.#scheduler, () => 0)
    const sent = ({ url }: Sent) => this.#count(REQUESTS[url.pathname.split('/').at(-1)!])
    const gateway = new Gateway(this.#scheduler.random, undefined, () => {})
    const network = new Network(this.#scheduler, actor, { handle, sent }, gateway, () => {})
    this.device = new Device('device', CALM_TRAITS, this.#scheduler, network)
    this.#scheduler.note = (_, what) => what in EVENTS && this.#count(EVENTS[what])
    this.#watchTimers()
    onTestFinished(installGlobals(this.#scheduler))
  }

  /** To be called inside a test: a device with nothing on it, a server that has granted nothing. */
  static async begin(): Promise<DeviceWorld> {
    const ledger = await new MemoryStorage().open()
    const handler = createHiloHandler({ ledger, open: true, log: { info() {}, error() {} } })
    return new DeviceWorld(async ({ method, url, headers, body }) => {
      const request = new SimulatedRequest(method, url.href, headers, body)
      const answer = await handler(request as unknown as Request)
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: await answer.text(),
      }
    })
  }

  /** @param collections those that its app lists */
  openPage(collections: readonly string[] = ['orders'], load?: Load): Page {
    const listed = Object.fromEntries(collections.map((name) => [name, {}]))
    const options = () => ({ url: SERVER_URL, database: 'Shop', collections: listed })
    return this.device.openPage(options, '', 'page', load)
  }

  /** In the tab of a page that has left. */
  reload({ load: { sessionStorage } }: Page): Page {
    return this.openPage(undefined, { type: 'reload', sessionStorage })
  }

  /** What the apps of these pages call, all at once. Resolves when the last has its answer. */
  async call<T>(pages: readonly Page[], act: (hilo: Hilo) => Promise<T>): Promise<T[]> {
    let left = pages.length
    const settled = () => {
      left--
    }
    const called = (page: Page) =>
      new Promise<T>((resolve, reject) =>
        page.run('calls', () => void act(page.hilo).finally(settled).then(resolve, reject)),
      )
    const answers = Promise.all(pages.map(called))
    // It is awaited below.
    answers.catch(() => {})
    const end = this.#scheduler.now + LONGEST_CALL_MS
    while (left > 0 && (await this.#scheduler.step()))
      if (this.#scheduler.now > end) throw new Error(`${left} calls did not end within an hour.`)
    return answers
  }

  /** What happens to a page, and what it does about it in the second after. */
  async happens(page: Page, what: () => void): Promise<void> {
    page.run('acts', what)
    await this.pass(1_000)
  }

  pass(ms: number): Promise<void> {
    return this.#scheduler.runUntil(this.#scheduler.now + ms)
  }

  /** Longer than anything that a page still does by itself, but for check-ins. */
  twoMinutes(): Promise<void> {
    return this.pass(120_000)
  }

  /** Keeps the counts of this alone. */
  async counted(what: string, act: () => Promise<unknown>): Promise<void> {
    this.#running = {}
    await act()
    this.counts[what] = { ...this.#running }
  }

  /** The same while nobody does anything, with the timers that are set in the end. */
  async countedAtRest(what: string, act = () => this.twoMinutes()): Promise<void> {
    await this.counted(what, act)
    const timers = [...this.#timers].filter(({ actor }) => actor.state !== 'dead').length
    if (timers > 0) this.counts[what]!.timers = timers
  }

  #watchTimers(): void {
    const post = this.#scheduler.post.bind(this.#scheduler)
    this.#scheduler.post = (actor, delay, what, run, queue) => {
      if (what !== 'timer') return post(actor, delay, what, run, queue)
      const timer = { actor }
      const ended = () => this.#timers.delete(timer)
      const goOff = () => {
        ended()
        return run()
      }
      const cancel = post(actor, delay, what, goOff, queue)
      this.#timers.add(timer)
      return () => {
        ended()
        cancel()
      }
    }
  }

  #count(what: Cost = 'others'): void {
    this.#running[what] = (this.#running[what] ?? 0) + 1
  }
}

/** Each wait has its middle length, nothing is late, and of what is due the first comes first. */
function steady(): Random {
  const bytes = createRandom(1)
  let draws = 0
  return {
    // Comlink numbers its messages by these: no two may be the same.
    next: () => 0.5 + ++draws * 2 ** -32,
    // The package makes its ids of bytes.
    between: (least, most) =>
      most === 255 ? bytes.between(least, most) : Math.floor((least + most) / 2),
    chance: (probability) => probability > 0.5,
    pick: ([first]) => first!,
    weighted: (weights) => Object.keys(weights)[0] as never,
  }
}
