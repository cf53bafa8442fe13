/**
 * Whole lives of tills, at random: sales in two tabs, crashes, lost and restored storages, copies,
 * hand-overs, ranges, clocks that jump, updates of the app, and a server that is down or was
 * restored as the documents say. At the end all tills have a network, and the judge looks.
 */
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { chain } from '../../../src/addons/consecutive/chain.js'
import type { HiloError } from '../../../src/core/errors.js'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { sizeOf } from '../../support/sizes.js'
import { copyProfile, currentOf, openTill, type Till } from './devices.js'
import { copyOf, Judge, nothing, type Told } from './judge.js'

const STEPS = 60
/** How often each comes. */
const KINDS = {
  ...{ next: 14, dated: 3, again: 4, both: 4, settle: 6, crash: 6, 'answer lost': 2, switch: 6 },
  ...{ server: 3, restart: 3, check: 2, unfinished: 1, period: 2, clock: 3, update: 2, backUp: 1 },
  ...{ restore: 1, lose: 1, copy: 2, putBack: 1, clone: 1, handOver: 2, close: 1, give: 3 },
}
const step = fc.record({
  kind: fc.constantFrom(
    ...Object.entries(KINDS).flatMap(([kind, n]) => Array<string>(n).fill(kind)),
  ),
  till: fc.nat(11),
  tab: fc.nat(1),
  n: fc.nat(9),
})
const lifeOfShop = fc.record({
  steps: fc.array(step, { minLength: STEPS, maxLength: STEPS }),
  tills: fc.integer({ min: 1, max: 3 }),
  isNamed: fc.boolean(),
  counts: fc.constantFrom('without an end', 'per month', 'in ranges'),
  wait: fc.constantFrom(60_000, 60_000, 0),
})
type Value<T> = T extends fc.Arbitrary<infer V> ? V : never
type Kind = Omit<Value<typeof lifeOfShop>, 'steps'>

/** Of three versions of the app. */
const CHAINS = [
  undefined,
  chain({ text: ({ id, time }, previous) => [id, time, previous].join(';') }),
  chain({ text: ({ id, content }, previous) => JSON.stringify([id, content, previous]) }),
]
const SETTLED = ['confirmed', 'confirmed', 'cancelled', 'voided', 'refused'] as const
const WHERE = { database: 'default', collection: 'receipts' }
const DAY = 86_400_000
/** Why a number may be refused. */
const REFUSED =
  /^server-unreachable|^exhausted|^server-.* not free|^invalid-.*( was closed after|has series T)/

interface Device {
  device: string
  /** Of its storage. */
  name: string
  series?: string | undefined
  tabs: (Till & { app: number })[]
  told: Told
  copies: Pick<Device, 'name' | 'series' | 'told'>[]
  /** It was made of a copy, or a copy was made of it. */
  isCopied: boolean
  isNameTaken?: boolean
}

class Life {
  readonly #kind: Kind
  readonly #shop: Shop
  readonly #judge: Judge
  readonly #tills: Device[] = []
  #server: 'up' | 'down' | 'answer lost' = 'up'
  #restore: (() => Promise<void>) | undefined
  /** As many numbers were granted since the backup, at most. */
  #lost = 0
  /** A person's acts at the server, in order. */
  #done: { letter: string; to?: string }[] = []
  readonly #gifts: { letter: string; from: number; to: number }[] = []
  #names = 0
  #sales = 0

  constructor(shop: Shop, kind: Kind) {
    this.#shop = shop
    this.#kind = kind
    this.#judge = new Judge(kind.counts === 'in ranges')
    const handle = globalThis.fetch
    vi.stubGlobal('fetch', async (...args: Parameters<typeof fetch>) => {
      if (this.#server === 'down') throw new TypeError('fetch failed')
      const answer = await handle(...args)
      if (this.#server === 'answer lost') throw new TypeError('the answer was lost')
      return answer
    })
    for (let i = 0; i < kind.tills; i++) this.#begin()
  }

  #begin(of: Partial<Device> = {}): void {
    const device = `Till ${this.#tills.length + 1}`
    const series = this.#kind.isNamed ? (of.series ?? this.#newName()) : undefined
    const empty = { told: nothing(), copies: [], isCopied: false, tabs: [] }
    const till = { device, name: newName(), ...empty, ...of, series }
    this.#open(till, [0, 0])
    this.#tills.push(till)
  }

  #newName = () => `T${++this.#names}`

  #open(till: Device, apps: number[]): void {
    const { device, series, name } = till
    const { counts, wait } = this.#kind
    till.tabs = apps.map((app) => ({
      app,
      ...openTill(this.#shop, {
        name,
        series: {
          ...{ device, wait, timeZone: 'UTC' },
          ...(series && { series }),
          ...(counts === 'per month' && { period: 'month' as const }),
          ...(counts === 'in ranges' && { ranges: 'server' as const }),
          ...(CHAINS[app] && { chain: CHAINS[app] }),
        },
      }),
    }))
  }

  async #reopen(
    till: Device,
    change = async () => {},
    apps = till.tabs.map(({ app }) => app),
  ): Promise<void> {
    await Promise.all(till.tabs.map(({ hilo }) => hilo.close()))
    await change()
    if (till.isNameTaken) Object.assign(till, { series: this.#newName(), isNameTaken: false })
    this.#open(till, apps)
  }

  async play({ kind, till: which, tab: of, n }: Value<typeof step>): Promise<void> {
    const till = this.#tills[which % this.#tills.length]!
    const tab = till.tabs[of]!
    const { told } = till
    const keys = [...told.given.keys()]
    const key = keys[(n * 7) % keys.length]
    const sale = () => `sale ${++this.#sales}`
    const steps: Record<string, () => unknown> = {
      next: () => this.#next(till, tab, sale()),
      dated: () => this.#next(till, tab, sale(), new Date(Date.now() - n * 9 * DAY)),
      again: () => key && this.#next(till, tab, key),
      both: () => {
        const sales = [sale(), n % 2 ? sale() : `sale ${this.#sales}`]
        return Promise.all(sales.map((each, i) => this.#next(till, till.tabs[i]!, each)))
      },
      settle: () => key && this.#settle(till, tab, key, SETTLED[n % 5]!),
      crash: () => this.#crash(till, tab, sale(), n),
      'answer lost': async () => {
        this.#server = 'answer lost'
        await this.#next(till, tab, sale())
        this.#server = 'up'
      },
      switch: () => till.tabs.map(({ hilo }) => (n % 2 ? hilo.goOffline() : hilo.goOnline())),
      server: () => {
        this.#server = n % 2 ? 'down' : 'up'
      },
      restart: () => this.#reopen(till),
      check: () => this.#judge.checks(tab, told),
      unfinished: async () => {
        for (const { id, key } of await tab.receipts.unfinished()) {
          const answer = await tab.receipts.next({ key })
          expect(answer.id).toBe(id)
          this.#judge.handsOut(told, key, answer, till.isCopied)
        }
      },
      period: () => this.#closePeriod(till, tab, n),
      clock: () => vi.setSystemTime(Date.now() + [1, 40, 365, -3, -40][n % 5]! * DAY),
      update: () => this.#reopen(till, undefined, [n % 3, (n * 7) % 3]),
      backUp: () => this.#backUp(),
      restore: () => this.#restored(n % 2 > 0),
      lose: () => this.#lose(till),
      copy: async () => {
        const { series } = till
        const copy = { name: newName(), series, told: copyOf(told) }
        await this.#reopen(till, () => copyProfile(till.name, copy.name))
        till.copies.push(copy)
      },
      putBack: () =>
        till.copies.length > 0 && this.#lose(till, till.copies[n % till.copies.length]),
      clone: async () => {
        if (this.#tills.length > 4) return
        till.isCopied = true
        const { device, series } = till
        const copy = { name: newName(), device, series, isCopied: true, told: copyOf(told) }
        await this.#reopen(till, () => copyProfile(till.name, copy.name))
        this.#begin(copy)
      },
      handOver: async () => {
        const all = await this.#shop.ledger.series('default')
        if (all.length > 0 && this.#tills.length < 6)
          await this.#handOver(all[n % all.length]!.letter, n % 3)
      },
      close: async () => {
        const all = await this.#shop.ledger.series('default')
        if (all.length > 0) await this.#close(all[n % all.length]!.letter)
      },
      give: () => this.#give(till),
    }
    await steps[kind]!()
  }

  /** @returns whether it got a number */
  async #next(till: Device, { receipts }: Till, key: string, date?: Date): Promise<boolean> {
    const { told } = till
    const asked = { key, content: { key }, ...(date && { date }) }
    const answer = await receipts.next(asked).catch((error: HiloError) => error)
    if (!(answer instanceof Error)) {
      this.#judge.handsOut(told, key, answer, till.isCopied)
      return true
    }
    const isCancelled = told.states.get(key) === 'cancelled'
    if (told.given.has(key) && !isCancelled) throw answer
    const why = `${answer.code}: ${answer.message}`
    if (answer.code !== 'closed') expect(why).toMatch(isCancelled ? /and cancelled:/ : REFUSED)
    // The app gives the series another name when it starts next, or the one that it has after all.
    if (why.includes(' not free')) till.isNameTaken = true
    const [, has] = /this device has series (T\d+)/.exec(why) ?? []
    if (has) till.series = has
    return false
  }

  async #settle({ told }: Device, tab: Till, key: string, state: (typeof SETTLED)[number]) {
    const why = state === 'confirmed' ? {} : { reason: 'so it is' }
    const error = await tab.receipts.settle(key, state, why).catch((error: HiloError) => error)
    if (error) expect(error.code).toBe('invalid-argument')
    else told.states.set(key, state)
  }

  /** All tabs die at one commit: before it, or after it. */
  async #crash(till: Device, tab: Till, key: string, n: number): Promise<void> {
    const { commit } = IDBTransaction.prototype
    let left = n % 5
    const died = new Promise<void>((resolve) => {
      vi.spyOn(IDBTransaction.prototype, 'commit').mockImplementation(function (
        this: IDBTransaction,
      ) {
        const isNow = this.db.name.startsWith(`${till.name}-series`) && left-- === 0
        if (isNow && n > 4) this.abort()
        else commit.call(this)
        if (!isNow) return
        for (const { hilo } of till.tabs) void hilo.close()
        resolve()
      })
    })
    const { told } = till
    const dying = tab.receipts.next({ key, content: { key } }).then(
      (answer) => this.#judge.handsOut(told, key, answer, till.isCopied),
      () => {},
    )
    await Promise.race([dying, died])
    vi.mocked(IDBTransaction.prototype.commit).mockRestore()
    await this.#reopen(till)
  }

  async #closePeriod({ told }: Device, { receipts }: Till, n: number): Promise<void> {
    const current = await currentOf(receipts)
    if (this.#kind.counts !== 'per month' || !current) return
    const period = new Date(Date.now() - (n % 3) * 30 * DAY).toISOString().slice(0, 7)
    const name = `${current.series} ${period}`
    const asked = n > 5 ? { reopen: true, reason: 'late' } : {}
    const done = await receipts.closePeriod(period, asked).catch((error: HiloError) => error)
    // The series may have ended since.
    if (done instanceof Error) expect(done).toMatchObject({ code: 'invalid-argument' })
    else if (done) told.closed.add(name)
    else told.closed.delete(name)
  }

  /** What is stored goes, and perhaps a copy takes its place. */
  async #lose(till: Device, copy?: Device['copies'][0]): Promise<void> {
    const now = (await this.#judge.sees(till.tabs[0]!)).find(({ ended }) => !ended)
    const { made = 0, numbers = [] } = now ?? {}
    // A restored server may have forgotten what it had heard.
    const row = (await this.#shop.ledger.series('default')).find((s) => s.letter === now?.series)
    const heard = Math.min(now?.heard ?? 0, row?.last ?? 0)
    const unheard = made > heard ? numbers.slice(heard - made).map(({ id }) => id) : []
    const told = copy ? copyOf(copy.told) : nothing()
    for (const [key, receipt] of till.told.given)
      if (!told.given.has(key) && unheard.includes(receipt.id)) receipt.isForgotten = true
    await this.#reopen(till, async () => {
      Object.assign(till, { told, name: newName() })
      if (!copy) return
      Object.assign(till, { series: copy.series, isCopied: true })
      await copyProfile(copy.name, till.name)
    })
  }

  async #close(letter: string): Promise<void> {
    this.#done.push({ letter })
    const why = { by: 'anna', reason: 'stolen', at: Date.now() }
    await this.#shop.ledger.closeSeries({ ...WHERE, letter, ...why })
  }

  /** A person knows each receipt in a customer's hand. @param more to be on the safe side */
  async #handOver(letter: string, more: number): Promise<void> {
    const lasts = new Map<string, number>()
    for (const { series, period, number } of this.#judge.inHand)
      if (series === letter) lasts.set(period, Math.max(lasts.get(period) ?? 0, number))
    const period = [...lasts.keys()].at(-1)
    if (period === undefined) return
    const held = lasts.get(period)!
    if (this.#kind.counts !== 'in ranges') lasts.set(period, held + more)
    const to = `Till ${this.#tills.length + 1}`
    let isKnown = false
    for (let tries = 0; tries < 9; tries++) {
      const row = (await this.#shop.ledger.series('default')).find((s) => s.letter === letter)!
      isKnown ||= row.periods.some((each) => each.period === period)
      const all = [...lasts].map(([period, last]) => ({ period, last }))
      const done = await this.#shop.ledger.handOverSeries({
        ...{ ...WHERE, letter, to, by: 'anna', reason: 'lost', at: Date.now() },
        ...{ period, last: lasts.get(period)! },
        ...(period && !isKnown && { newPeriod: true }),
        otherPeriods: all.filter((each) => each.period !== period),
      })
      if (!('refused' in done)) {
        for (const { period: each, last } of all)
          for (let n = each === period ? held : last; n <= last; n++)
            this.#judge.explain(letter, each, n)
        this.#done.push({ letter, to })
        return this.#begin({ device: to, series: letter })
      }
      if (done.refused === 'periods') isKnown = done.known.includes(period)
      else if (done.refused === 'heard') lasts.set(done.period, done.least)
      else if (done.refused === 'untold')
        for (const each of done.missing)
          lasts.set(each, row.periods.find((of) => of.period === each)!.last)
      else break
    }
    throw new Error(`${letter} was not handed over`)
  }

  async #give({ tabs }: Device): Promise<void> {
    const letter = (await currentOf(tabs[0]!.receipts))?.series
    if (this.#kind.counts !== 'in ranges' || !letter) return
    const from = this.#gifts.length * 10 + 11
    const range = { from, to: from + 5 }
    const done = await this.#shop.ledger.giveRange({ ...WHERE, letter, range })
    if (!('refused' in done)) this.#gifts.push({ letter, ...range })
  }

  async #backUp(): Promise<void> {
    this.#restore = await this.#shop.backUp()
    this.#lost = 0
  }

  /**
   * docs/series-at-the-server.md, "After a restore".
   * @param isSafe a new backup is made. If not, the old one may be restored once more
   */
  async #restored(isSafe: boolean): Promise<void> {
    if (!this.#restore) return
    const server = this.#server
    this.#server = 'down'
    await this.#restore()
    this.#lost += 50
    await this.#shop.ledger.raiseFloors({ database: 'default', by: this.#lost })
    await this.#listed()
    // Of the storages that have gone, the server has forgotten what they told since the backup.
    const receipts = new Set(this.#tills.flatMap(({ told }) => [...told.given.values()]))
    for (const each of this.#judge.inHand) if (!receipts.has(each)) each.isForgotten = true
    for (const { letter, to } of this.#done.splice(0)) {
      const all = await this.#shop.ledger.series('default')
      const row = all.find((each) => each.letter === letter)
      const isThere = row?.handOvers.some((each) => each.to === to && each.isTaken)
      if (row && !to) await this.#close(letter)
      else if (isThere) this.#done.push({ letter, to: to! })
      else if (row) await this.#handOver(letter, 0)
    }
    if (isSafe) await this.#backUp()
    this.#server = server
  }

  /** Names and ranges that exist. */
  async #listed(): Promise<void> {
    const { ledger } = this.#shop
    const names = Array.from({ length: this.#names }, (_, i) => `T${i + 1}`)
    for (const letter of [...names, ...this.#gifts.map((gift) => gift.letter)])
      await ledger.noteSeries({ ...WHERE, letter, at: Date.now() })
    const known = (await ledger.series('default')).flatMap(({ ranges }) => ranges)
    for (const { letter, ...range } of this.#gifts)
      if (!known.some(({ from }) => from === range.from))
        await ledger.giveRange({ ...WHERE, letter, range, again: true })
    expect(await ledger.reopenSeries({ database: 'default' })).toBe(true)
  }

  /** The server answers, and a new month has come: each till makes numbers, and tells all. */
  async end(): Promise<void> {
    this.#server = 'up'
    vi.setSystemTime(Date.UTC(2040, 0, 1))
    for (let round = 0; round < 3; round++)
      for (const till of this.#tills) {
        let isMade = false
        for (let tries = 0; tries < 4 && !isMade; tries++) {
          await this.#reopen(till)
          isMade = await this.#next(till, till.tabs[0]!, `last sale ${this.#sales++}`)
          if (!isMade) await this.#give(till)
        }
        expect(isMade, `${till.device} makes a number`).toBe(true)
      }
    const holders = new Set<string>()
    for (const till of this.#tills) {
      const { receipts } = till.tabs[0]!
      const now = async () => (await currentOf(receipts))!
      const untold = async () => (await now()).made - (await now()).heard
      await expect.poll(untold).toBe(0)
      const { series, made } = await now()
      expect(holders).not.toContain(series)
      holders.add(series)
      const row = (await this.#shop.ledger.series('default')).find((s) => s.letter === series)!
      expect(row).toMatchObject({ device: till.device, last: made, closed: undefined })
      const { link, register } = row
      const kept = [
        link && { chain: series, ...link },
        register && { chain: 'register', ...register },
      ]
      const isKept = (each: (typeof kept)[0]) => each !== undefined && !till.isCopied
      const reports = await this.#judge.checks(till.tabs[0]!, till.told, kept.filter(isKept) as [])
      for (const { period = '', number } of reports.at(-1)!.numbers)
        expect(number).toBeLessThanOrEqual(
          row.periods.find((each) => each.period === period)?.last ?? row.last,
        )
    }
    this.#judge.noneIsInTwoHands()
    this.#judge.noneIsMissing()
  }
}

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

async function live(number: number): Promise<void> {
  const [drawn] = fc.sample(lifeOfShop, { numRuns: 1, seed: number })
  const { steps, ...kind } = drawn!
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 21) })
  const shop = await newShop()
  try {
    const life = new Life(shop, kind)
    for (const each of steps) await life.play(each)
    await life.end()
  } catch (cause) {
    throw new Error(`TEST_SEED=${number} TEST_TILL_LIVES=1 repeats it`, { cause })
  } finally {
    await shop.close()
  }
}

const first = Number(process.env.TEST_SEED ?? 1)
const numbers = Array.from({ length: sizeOf('TILL_LIVES') }, (_, index) => first + index)

test.each(numbers)('no number of life %i is in two hands, and none is missing', live)
