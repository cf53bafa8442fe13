/**
 * Crashes, power cuts, lost answers and full disks at any step of a device with two tabs: each of
 * its series is 1 … n, or goes through its ranges, and each key keeps the number that it got.
 */
import { forceCloseDatabase, IDBDatabase, IDBTransaction } from 'fake-indexeddb'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import type { ConsecutiveOptions } from '../../../src/addons/consecutive/index.js'
import type { Hilo } from '../../../src/client/hilo.js'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { sizeOf } from '../../support/sizes.js'
import { audit } from './auditor.js'
import { copyProfile, expectWhole, exportOf, openTill, registry, type Till } from './devices.js'

const TABS = 2

const RANGES = [
  { from: 3, to: 4 },
  { from: 11, to: 13 },
  { from: 21, to: 99 },
]
const IN_RANGES = RANGES.flatMap(({ from, to }) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i),
)

const key = fc.integer({ min: 1, max: 12 }).map((n) => `sale ${n}`)
const tab = fc.nat(TABS - 1)
const step = fc.oneof(
  fc.record({ kind: fc.constant('next'), tab, key }),
  fc.record({ kind: fc.constant('both'), tab, key }),
  fc.record({ kind: fc.constant('confirm'), tab, key }),
  fc.record({ kind: fc.constant('cancel'), tab, key }),
  fc.record({ kind: fc.constant('killed'), tab, key, after: fc.nat(12) }),
  fc.record({ kind: fc.constant('full'), tab, key }),
  fc.record({ kind: fc.constant('answer lost'), tab, key }),
  fc.record({ kind: fc.constant('offline'), tab, key }),
  fc.record({ kind: fc.constant('online'), tab, key }),
  fc.record({ kind: fc.constant('power cut'), tab, key }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

afterEach(() => vi.restoreAllMocks())

const tick = () => new Promise((resolve) => setImmediate(resolve))

/** Connections to the databases of series, newest last, and what was last stored for good. */
class Device {
  name = newName()
  tabs: Till[] = []
  /** As it would be found after a power cut. */
  #durable: string | undefined
  readonly #shop: Shop
  readonly #series: ConsecutiveOptions
  readonly #connections: IDBDatabase[] = []
  #relaxed = 0

  constructor(shop: Shop, series: ConsecutiveOptions) {
    this.#shop = shop
    this.#series = series
    const begin = IDBDatabase.prototype.transaction
    const note = (db: IDBDatabase, tx: IDBTransaction) => {
      if (!db.name.includes('-series')) return
      if (!this.#connections.includes(db)) this.#connections.push(db)
      if (tx.mode === 'readwrite' && tx.durability !== 'strict') this.#relaxed++
    }
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (
      this: IDBDatabase,
      ...args
    ) {
      const tx = begin.apply(this, args)
      note(this as unknown as IDBDatabase, tx as unknown as IDBTransaction)
      return tx
    })
    this.#start()
  }

  #start(): void {
    const options = { name: this.name, series: this.#series }
    this.tabs = Array.from({ length: TABS }, () => openTill(this.#shop, options))
  }

  /** All tabs die at once: what was not committed never happens. */
  async crash(): Promise<void> {
    for (const db of this.#connections.splice(0)) forceCloseDatabase(db as never)
    await this.#end(this.tabs.map(({ hilo }) => hilo))
    this.#start()
  }

  async #end(hilos: Hilo[]): Promise<void> {
    await Promise.all(hilos.map((hilo) => hilo.close()))
  }

  /** What was committed relaxed since is gone. */
  async cutPower(): Promise<void> {
    await this.#end(this.tabs.map(({ hilo }) => hilo))
    const next = newName()
    if (this.#relaxed > 0) this.name = this.#durable ?? next
    else {
      await copyProfile(this.name, next)
      this.name = next
    }
    this.#relaxed = 0
    this.#start()
  }

  /** What is stored now has reached the disk, unless it was committed relaxed. */
  async remember(): Promise<void> {
    if (this.#relaxed > 0) return
    this.#durable = newName()
    await copyProfile(this.name, this.#durable)
  }
}

async function play(shop: Shop, steps: readonly Step[], hasRanges: boolean): Promise<void> {
  const device = new Device(shop, hasRanges ? { series: 'T3', ranges: RANGES } : {})
  /** What `next` has answered. */
  const given = new Map<string, string>()
  const cancelled = new Set<string>()
  const next = async (of: Till, key: string) => {
    const answer = await of.receipts.next({ key }).catch((error) => error)
    if (answer instanceof Error) {
      if (!cancelled.has(key)) expect(answer.message).toMatch(/needs the server|storage|IndexedDB/)
      return
    }
    expect(given.get(key) ?? answer.id).toBe(answer.id)
    given.set(key, answer.id)
  }
  for (const each of steps) {
    const { kind, key } = each
    const of = device.tabs[each.tab]!
    if (kind === 'next') await next(of, key)
    else if (kind === 'both') await Promise.all(device.tabs.map((one) => next(one, key)))
    else if (kind === 'confirm') await of.receipts.settle(key, 'confirmed').catch(() => {})
    else if (kind === 'cancel')
      await of.receipts.settle(key, 'cancelled', { reason: 'card declined' }).then(
        () => cancelled.add(key),
        () => {},
      )
    else if (kind === 'killed') {
      // Whatever it answers, nobody hears it.
      of.receipts.next({ key }).catch(() => {})
      for (let i = 0; i < (each as { after: number }).after; i++) await tick()
      await device.crash()
    } else if (kind === 'full') {
      const full = vi.spyOn(IDBTransaction.prototype, 'commit').mockImplementation(function (
        this: IDBTransaction,
      ) {
        this.abort()
      })
      await next(of, key)
      full.mockRestore()
    } else if (kind === 'answer lost') {
      const handle = globalThis.fetch
      vi.stubGlobal('fetch', async (...args: Parameters<typeof fetch>) => {
        await handle(...args)
        throw new TypeError('the answer was lost')
      })
      await next(of, key)
      vi.stubGlobal('fetch', handle)
    } else if (kind === 'offline') for (const { hilo } of device.tabs) hilo.goOffline()
    else if (kind === 'online') for (const { hilo } of device.tabs) hilo.goOnline()
    else await device.cutPower()
    if (kind === 'next' && given.size % 3 === 0) await device.remember()
  }
  const { receipts } = device.tabs[0]!
  const reports = await receipts.report()
  expectWhole(reports, hasRanges ? IN_RANGES : undefined)
  if (!hasRanges) expect(audit(await exportOf(receipts))).toEqual([])
  expect(reports.length).toBeLessThanOrEqual(1)
  const stored = new Map(
    reports.flatMap(({ numbers }) => numbers.map(({ key, id }) => [key!, id] as const)),
  )
  for (const [key, id] of given) expect(stored.get(key)).toBe(id)
  expect((await registry()).length).toBeLessThanOrEqual(1)
}

test('no number twice, no hole, and none without its key, whatever crashes when', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.boolean(), async (steps, hasRanges) => {
      const shop = await newShop()
      try {
        await play(shop, steps, hasRanges)
      } finally {
        await shop.close()
        vi.restoreAllMocks()
      }
    }),
    { numRuns: sizeOf('SEQUENCES') },
  )
})
