/**
 * The owner's world in a test: the test moves its clock and chooses its server's answers, and every
 * request is recorded.
 */
import { type Failure, HiloError } from '../../src/core/errors.js'
import type { Range } from '../../src/core/range.js'
import type { CheckInAnswer, CheckInRequest } from '../../src/core/wire.js'
import type { Answer, DeviceView, Owner, OwnerConfig, Target } from '../../src/device/contract.js'
import { nameOf } from '../../src/device/page-notes.js'
import type { ReturnedPiece } from '../../src/device/requests.js'
import type {
  DeviceClaim,
  DeviceState,
  Exchange,
  Exchanged,
  GrantedRange,
} from '../../src/device/state.js'
import { MemoryStore } from '../../src/store/memory.js'
import type { Change, DeviceStore, StoreKey } from '../../src/store/store.js'
import { createOwner } from '../../src/worker/owner.js'
import type { World } from '../../src/worker/world.js'
import { ServerModel } from './server-model.js'

/** Long enough for everything that waits for nothing but promises. */
export const flush = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const target: Target = {
  database: 'Shop',
  collection: 'orders',
  separator: '/',
  reserve: 32,
}
export const config: OwnerConfig = {
  url: 'https://api.example.com',
  name: 'offline-hilo',
  page: 'page1',
  headers: {},
  timeout: 1000,
}
export const KEY: StoreKey = [config.url, 'Shop', 'orders/']

/** A memory store that says it is durable: a disk that never fails. */
export class DiskStore implements DeviceStore {
  readonly isDurable = true
  readonly #records = new MemoryStore()

  update<T>(key: StoreKey, change: (stored: unknown, notes: never[]) => Change<T>): Promise<T> {
    return this.#records.update(key, change)
  }

  read(key: StoreKey): Promise<{ stored: unknown; notes: never[] }> {
    return this.#records.read(key)
  }

  keys(): Promise<StoreKey[]> {
    return this.#records.keys()
  }

  close(): void {}
}

/** What a request fails with when there is no network. */
export const unreachable = () => new HiloError('server-unreachable', 'No network.')

/** For the `on…` of a source: each request fails so, and the server sees none of it. */
export const fail = (error: HiloError) => () => {
  throw error
}

export class FakeSource {
  readonly server: ServerModel
  readonly claims: DeviceClaim[] = []
  readonly returns: Range[] = []
  /** How many of them came in each request with several. */
  readonly together: number[] = []
  readonly checkIns: CheckInRequest[] = []
  /** The name of its ledger. */
  ledger: string | undefined
  /** What happens instead of an answer; asked before each one. */
  onClaim: (claim: DeviceClaim) => unknown = () => {}
  onGiveBack: (range: Range) => unknown = () => {}
  onCheckIn: (request: CheckInRequest) => unknown = () => {}

  constructor(hasTokens = true) {
    this.server = new ServerModel(hasTokens)
  }

  async claim({ collection, separator }: Target, claim: DeviceClaim): Promise<GrantedRange> {
    this.claims.push(claim)
    await this.onClaim(claim)
    const granted = this.server.grant(claim, claim.lastBatchSize)
    const grant = { ...granted, range: { ...granted.range, prefix: collection + separator } }
    return this.ledger === undefined ? grant : { ...grant, ledger: this.ledger }
  }

  async giveBack(_target: Target, range: Range): Promise<void> {
    this.returns.push(range)
    await this.onGiveBack(range)
    this.server.giveBack(range)
  }

  async giveBackTogether(pieces: readonly ReturnedPiece[]): Promise<void> {
    this.together.push(pieces.length)
    for (const { target, range } of pieces) await this.giveBack(target, range)
  }

  async checkIn(_target: Target, request: CheckInRequest): Promise<CheckInAnswer> {
    this.checkIns.push(request)
    await this.onCheckIn(request)
    return this.server.checkIn(request)
  }
}

export class FakeWorld implements World {
  readonly source: FakeSource
  readonly store: DeviceStore
  time = 0
  timers: { at: number; run: () => void }[] = []
  chance = 0
  kind: 'persistent' | 'best-effort' = 'best-effort'
  locks: string[] = []
  notified: unknown[] = []
  isAlone = true
  /** Pages that do not answer any more. */
  readonly dead = new Set(['dead'])
  changeElsewhere: (key: StoreKey, view: DeviceView) => void = () => {}
  readonly #name = `world${worlds++}`
  #ids = 0

  constructor({ source = new FakeSource(), store = new DiskStore() as DeviceStore } = {}) {
    this.source = source
    this.store = store
  }

  openStore = async (): Promise<DeviceStore> => this.store
  untilOpen = async () => {}
  storageKind = async () => this.kind
  createSource = () => this.source
  now = () => this.time
  date = () => 1_763_709_000_000 + this.time
  random = () => this.chance
  newId = () => `${this.#name}-${this.#ids++}`

  after = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.time + ms, run }
    this.timers.push(timer)
    return () => {
      this.timers = this.timers.filter((other) => other !== timer)
    }
  }

  lock = async <T>(name: string, run: () => Promise<T>): Promise<T> => {
    this.locks.push(name)
    return run()
  }

  openTabs: World['openTabs'] = (_name, _page, { onChange }) => {
    this.changeElsewhere = (key, view) => onChange(JSON.stringify(key), view)
    return {
      notify: (...change) => void this.notified.push(change),
      askWhoLives: () => (page) => !this.dead.has(page),
      isAlone: () => this.isAlone,
      askToPark: async () => false,
      close() {},
    }
  }

  /** Lets `ms` pass, with everything that is due in it. */
  async pass(ms: number): Promise<void> {
    await flush()
    const end = this.time + ms
    for (;;) {
      const [next] = this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (!next) break
      this.timers = this.timers.filter((other) => other !== next)
      this.time = next.at
      next.run()
      await flush()
    }
    this.time = end
  }

  /** Milliseconds until each timer that is set. */
  get waits(): number[] {
    return this.timers.map(({ at }) => at - this.time).sort((a, b) => a - b)
  }

  stored(): Promise<DeviceState> {
    return this.store.update(KEY, (stored) => ({
      state: stored as DeviceState,
      result: structuredClone(stored) as DeviceState,
    }))
  }

  async put(state: Partial<DeviceState>): Promise<void> {
    await this.store.update(KEY, () => ({ state: state as DeviceState, result: undefined }))
  }
}

let worlds = 0

/**
 * An owner that was opened in this world, and what it told its page; what was stored before and
 * after each change, if that is watched.
 */
export function ownerIn(
  world: World,
  more: Partial<OwnerConfig> = {},
): {
  owner: Owner
  views: DeviceView[]
  changes: [before: DeviceState, after: DeviceState][]
} {
  const owner = createOwner(world)
  const views: DeviceView[] = []
  const changes: [DeviceState, DeviceState][] = []
  owner.open(
    { ...config, ...more },
    {
      headers: async () => ({ headers: {} }),
      changed: (_, view) => void views.push(view),
      stored: (_, ...change) => void changes.push(change),
      parkExcess: async () => {},
    },
  )
  return { owner, views, changes }
}

/** Of a page that was reloaded: it remembers the last check-in that was answered to it. */
export async function reloaded(world: FakeWorld) {
  const { answered } = await world.stored()
  return ownerIn(world, { answers: answered ? { [nameOf(KEY)]: answered } : {} })
}

let exchanges = 0
export const exchangeOf = (more: Partial<Exchange> = {}): Exchange => ({
  page: 'page1',
  id: `page1:orders:${exchanges++}`,
  want: 0,
  notes: [],
  cuts: [],
  takeBack: [],
  offer: false,
  ...more,
})

export const lease = async (
  owner: Owner,
  want: number,
  more: Partial<Exchange> = {},
): Promise<Exchanged & { view: DeviceView }> =>
  must(await owner.exchange(target, exchangeOf({ want, ...more })))

/** Fills the device up, one collection alone. */
export async function reserve(owner: Owner, count: number): Promise<Answer<object>> {
  const [answer] = await owner.reserve('call', [{ target, count }])
  return answer!
}

/** Gives one collection back, alone. */
export async function release(owner: Owner, id = 'page1:orders:r'): Promise<Answer<object>> {
  const [answer] = await owner.release([target], { page: 'page1', id })
  return answer!
}

/** The answer of a call that succeeded. */
export function must<T>(answer: Answer<T>): T & { view: DeviceView } {
  if ('failure' in answer) throw new Error(answer.failure.message)
  return answer as T & { view: DeviceView }
}

export function failureOf(answer: Answer<object>): Failure {
  if (!('failure' in answer)) throw new Error('it did not fail')
  return answer.failure
}
