/**
 * An app that makes receipts in a series, and the truth about every number of it. Each series is
 * 1 … n, or goes through ranges that an authority gave. Each number is confirmed, cancelled or
 * open. A number that two copies of a device both made is reported to one of them.
 */
import { markOf } from '../../server/src/ledger/heard.js'
import type { Series as ListedSeries } from '../../server/src/ledger/ledger.js'
import type { SeriesRow } from '../../server/src/ledger/rows.js'
import { chain } from '../../src/addons/consecutive/chain.js'
import { closePeriod } from '../../src/addons/consecutive/closing.js'
import type { StoredSeries } from '../../src/addons/consecutive/numbers.js'
import { onlineSeries, seriesServer } from '../../src/addons/consecutive/online.js'
import { endOf } from '../../src/addons/consecutive/rows.js'
import { Series } from '../../src/addons/consecutive/series.js'
import { doubtfulIn } from '../../src/addons/consecutive/state.js'
import { SeriesStorage } from '../../src/addons/consecutive/storage.js'
import { HiloError } from '../../src/core/errors.js'
import { marksOf } from '../../src/core/series-marks.js'
import type { Link, NumberRow } from '../../src/device/series-store.js'
import type { Device, Page } from './device.js'
import { changeStored, DiskSeries, storedSeries } from './disk-series.js'
import { comeOnline, killBrowser } from './faults.js'
import { OwnServer } from './own-servers.js'
import type { Profile } from './profile.js'
import type { Random } from './random.js'
import type { Simulation } from './simulation.js'

/** One seed in this many has such an app. */
const EVERY = 5
const SALES = 12
/** In every second one an authority gave these. */
const RANGES = [
  { from: 2, to: 4 },
  { from: 11, to: 14 },
  { from: 101, to: 1_000 },
]
const IN_RANGES = RANGES.flatMap(({ from, to }) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i),
)
const PERIOD_MS = 60_000
/** Where periods are closed, a sale's number says which it is of. */
const PERIODS = 3
const ALL_PERIODS = Array.from({ length: PERIODS }, (_, i) => `P${i}`)
/** A device that is taken for lost makes numbers offline meanwhile. */
const SELLS_ON_MS = 5_000
/** No digest that withstands anybody: it shows who follows whom. */
const digest = (text: string): Uint8Array => {
  const sum = [...text].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) >>> 0, 7)
  return new Uint8Array([24, 16, 8, 0].map((bits) => (sum >>> bits) & 255))
}
const CHAIN = chain({ text: ({ id, kind }, previous) => `${kind} ${id} ${previous}`, digest })
const EXPECTED = new Set([
  'server-unreachable',
  'server-refused',
  'no-hilo-server',
  'invalid-response',
  'timeout',
])

export interface Made {
  device: string
  key: string
  /** The server had heard of it before it was handed out. */
  heard?: boolean
  /** A server that was restored, with nobody's knowledge, has forgotten that it heard of it. */
  isForgotten?: boolean
  /** Its device lost the series with its storage, and got it back by a hand-over. */
  isLost?: true
  /** Which gave the series to its device. */
  ledger?: string | undefined
  /** A restored server had heard of the device that goes on before the number was asked for. */
  isLate?: boolean | undefined
}

/** A restore lets two devices make the same numbers of this series. */
interface Repeated {
  letter: string
  /** Of each period: up to here, only the lost device made any. */
  lasts: ReadonlyMap<string, number>
  /** Who got the series after the backup. */
  takers: Set<string>
  isForgotten: boolean
}

export class Receipts {
  readonly #simulation: Simulation
  readonly #url: string
  /** The series of each page's present instance. */
  readonly #series = new WeakMap<object, Series>()
  /** By id: the devices that made it, and for which key. */
  readonly #made = new Map<string, Made[]>()
  /** By device: what it had stored when it had heard of two ledgers. It makes no more. */
  readonly #stopped = new Map<string, ReadonlySet<string>>()
  /** Letters of series that were handed over. */
  readonly #handedOver = new Set<string>()
  /** By letter: the last place of which the server had heard before it was restored. */
  readonly #heardBefore = new Map<string, number>()
  /** What two devices may make because of a restore: it forgot a hand-over, or what it is of. */
  readonly #repeated: Repeated[] = []
  /** By letter: the device that it was handed over to last. */
  readonly #takers = new Map<string, string>()
  /** What a device that gets a series handed over makes no more. */
  readonly #lasts = new Map<string, Repeated['lasts']>()
  /**
   * By letter of a series whose hand-over a restore has forgotten: the device that had got it, and
   * the token that it had then.
   */
  readonly #forgotten = new Map<string, { device: Device; token: string | undefined }>()
  /** By letter: the record that somebody has changed behind its device's back. */
  readonly #rewritten = new Map<string, { place: number; hash: string; isForgotten?: true }>()

  /** Where periods are closed: the first device, and those that a series goes to. */
  readonly #sellers = new Set(['d1'])
  /** What devices that had a series have closed. */
  readonly #closed: { letter: string; to: string; periods: string[] }[] = []

  /** How often devices sold some. */
  #rounds = 0

  readonly #ranges: typeof RANGES | undefined
  /** By device: an older copy of what it has stored. */
  readonly #older = new Map<string, StoredSeries>()
  /** Devices in whose place such a copy was put: a copy of them is found. */
  readonly #wentBack = new Set<string>()
  /** Numbers that are stored no more: `d1 A-P0-3`. */
  readonly #deleted = new Set<string>()
  /** Pages whose form leaves the period out. */
  readonly #withoutPeriod = new WeakSet<Page>()

  /** @param hasRanges did an authority give the numbers? */
  constructor(simulation: Simulation, url: string, hasRanges = false) {
    this.#ranges = hasRanges ? RANGES : undefined
    this.#simulation = simulation
    this.#url = url
  }

  /** In every second schedule that has such an app. */
  static haveRanges = (seed: number, { closesPeriods }: Profile): boolean =>
    !closesPeriods && seed % (2 * EVERY) !== 0

  /**
   * A restored server may give a letter again until its floors are raised. A region gives none.
   */
  static areMade(seed: number, profile: Profile): boolean {
    const { authority, nodes, counts, hasRestore, goesBack, closesPeriods } = profile
    const isOne = authority === 'own' && nodes.length === 1 && counts !== 'a root'
    if (closesPeriods) return isOne
    return seed % EVERY === 0 && isOne && !hasRestore && !goesBack
  }

  /** What the app does next: it takes a number, or confirms or cancels one. */
  act(page: Page): void {
    const { random, profile } = this.#simulation
    if (!makes(page)) return
    if (profile.closesPeriods && !this.#sellers.has(page.device.name)) return
    const key = `sale ${random.between(1, SALES)}`
    const act = random.weighted({ next: 6, confirm: 2, cancel: 1 })
    page.run(`${act} ${key}`, () => {
      if (!page.isAlive) return
      const storage = new SeriesStorage(new DiskSeries(page.device.databases, page.actor))
      const series = this.#of(page, storage)
      if (act === 'next') void this.#take(page, series, key)
      else
        storage
          .settle(key, ({ open: _, ...row }) =>
            row.state === 'open'
              ? {
                  ...row,
                  ...(act === 'confirm'
                    ? { state: 'confirmed' }
                    : { state: 'cancelled', reason: 'card declined' }),
                }
              : row,
          )
          .catch(() => {})
    })
  }

  /**
   * A person takes this device for lost, and hands its series over to another one, which gets it if
   * it has none. The lost one is offline and sells on, so its documents have more numbers than the
   * server has heard of, and the person may find some of them.
   * @param then what happens afterwards. Absent: the lost device comes back
   */
  handOver(lost: Device, then?: (other: Device) => void): void {
    const { random, scheduler, networkActor, servers, devices } = this.#simulation
    const { database, profile } = this.#simulation
    const { letter } = storedSeries(lost.disk).state.current ?? {}
    const others = devices.filter(
      ({ name, disk }) => name !== lost.name && !storedSeries(disk).state.current,
    )
    const server = servers.get(lost.node)
    if (letter === undefined || others.length === 0 || !(server instanceof OwnServer)) return
    // Who does not know of the forgotten hand-over cannot say what its device made.
    if (this.#forgotten.has(letter)) return
    if (this.#rewritten.get(letter)?.hash === 'deleted' || this.#wentBack.has(lost.name)) return
    const other = random.pick(others)
    const { name } = other
    const known = {
      period: this.#period(),
      more: Number(random.weighted({ '0': 2, '1': 1, '3': 1 })),
      paper: () => {
        this.#simulation.hit('a series stated as a whole')
        const { numbers } = storedSeries(lost.disk)
        return marksOf(numbers.filter((row) => row.letter === letter))
      },
    }
    if (then || profile.faults.has('offline')) lost.isOnline = false
    for (const page of lost.pages.filter(({ isAlive }) => isAlive))
      for (const n of [1, 2, 3]) this.#sell(page, `sale ${n} of a lost device`)
    scheduler.post(
      networkActor,
      SELLS_ON_MS,
      `${letter} of ${lost.name} goes to ${name}`,
      async () => {
        const series =
          !this.#forgotten.has(letter) && (await server.handOver(database, letter, name, known))
        if (series) this.handedOver(lost, series)
        if (then) then(other)
        else if (!lost.isOnline) comeOnline(lost)
      },
    )
  }

  /** New sales, one of each period. */
  sellSome({ name, pages }: Device): void {
    this.#rounds++
    for (const page of pages.filter(({ isAlive }) => isAlive))
      for (const n of ALL_PERIODS.keys()) this.#sell(page, `sale ${n} of ${name}, ${this.#rounds}`)
  }

  /**
   * Somebody changes the last record, of which the server has heard, and its number, so that all
   * that is stored fits.
   */
  rewrite(device: Device): void {
    const stored = storedSeries(device.disk)
    const { letter, heard, checkIn } = stored.state.current ?? {}
    const isHeard = (row: NumberRow) => row.letter === letter && row.place === heard
    const row = stored.numbers.find(isHeard)
    // A check-in that is under way says what was stored when it was formed.
    const isLast = row !== undefined && stored.links.findLast(isOf(letter))?.id === row.id
    if (!row?.link || !isLast || checkIn || letter === undefined || heard === undefined) return
    if (this.#heardBefore.get(letter) === heard) return
    killBrowser(this.#simulation, device)
    const text = `${row.id}, rewritten`
    const hash = Buffer.from(digest(text)).toString('hex')
    changeStored(device.disk, {
      ...stored,
      numbers: stored.numbers.map((each) =>
        isHeard(each) ? { ...each, link: { ...row.link!, hash } } : each,
      ),
      links: stored.links.map((each) => (each.id === row.id ? { ...each, text, hash } : each)),
    })
    this.#rewritten.set(letter, { place: heard, hash })
    this.#simulation.hit('past rewritten')
  }

  /** Has it a series whose record somebody may change, and which nobody else had? */
  mayEdit({ disk }: Device): boolean {
    const { letter } = storedSeries(disk).state.current ?? {}
    return letter !== undefined && !this.#handedOver.has(letter) && !this.#rewritten.has(letter)
  }

  /** Somebody deletes the last numbers of a series. It makes no more then. */
  cut({ name, disk }: Device, count: number): void {
    const { state, numbers, links, entries } = storedSeries(disk)
    const { letter } = state.current!
    const rows = numbers.filter((row) => row.letter === letter).slice(-count)
    if (rows.length === 0) return
    const isKept = ({ id }: { id?: string }) => !rows.some((row) => row.id === id)
    changeStored(disk, {
      state,
      entries,
      numbers: numbers.filter(isKept),
      links: links.filter(isKept),
    })
    for (const { id } of rows) this.#deleted.add(`${name} ${id}`)
    this.#rewritten.set(letter, { place: state.current!.heard, hash: 'deleted' })
    this.#simulation.hit('receipts deleted')
  }

  /** An older copy of all that is stored of its series takes its place. */
  goBack(device: Device): void {
    const { name, disk } = device
    const stored = storedSeries(disk)
    const { begun } = stored.state.current!
    const older = this.#older.get(name)
    this.#older.set(name, stored)
    if (!older || older.state.current?.begun !== begun) return
    changeStored(disk, older)
    this.forgot(device)
    this.#older.delete(name)
    this.#wentBack.add(name)
    this.#simulation.hit('receipts went back')
  }

  /** An older copy of what this device has stored took its place. */
  forgot({ name, disk }: Device): void {
    const { numbers } = storedSeries(disk)
    for (const [id, all] of this.#made)
      if (all.some(({ device }) => device === name) && !numbers.some((row) => row.id === id))
        this.#deleted.add(`${name} ${id}`)
  }

  /** What the server has heard of, as a backup of it keeps it. */
  heard(): ReadonlySet<Made> {
    return new Set([...this.#made.values()].flat().filter(({ heard }) => heard))
  }

  /**
   * The server may have forgotten what these devices know it has heard of.
   * @param kept what it had heard of at its backup. Absent: its floors are raised first
   */
  restored(devices: readonly Device[], kept?: ReadonlySet<Made>): void {
    if (kept)
      for (const each of [...this.#made.values()].flat())
        if (each.heard && !kept.has(each)) each.isForgotten = true
    for (const { disk } of devices) {
      const { letter, heard } = storedSeries(disk).state.current ?? {}
      if (letter !== undefined && heard !== undefined) this.#heardBefore.set(letter, heard)
    }
    for (const changed of this.#rewritten.values()) changed.isForgotten = true
  }

  /** The server has forgotten that these series went to these devices. */
  forgets(
    series: readonly { letter: string; takers: string[] }[],
    devices: readonly Device[],
  ): void {
    for (const { letter, takers } of series) {
      const device = devices.find(({ name }) => name === takers.at(-1))
      // A hand-over of which the server heard by a token has no name.
      if (!device) continue
      // Each of them made what the one before it made, too.
      for (const [i, taker] of takers.entries()) {
        const lasts = this.#lasts.get(`${letter} ${taker}`) ?? new Map()
        this.#repeated.push({ letter, lasts, takers: new Set(takers.slice(i)), isForgotten: true })
      }
      this.#simulation.hit('a hand-over forgotten')
      this.#forgotten.set(letter, { device, token: tokenOf(device) })
    }
  }

  /** Has the restored server heard of the device that goes on? */
  #isKnownAgain(letter: string): boolean {
    const forgotten = this.#forgotten.get(letter)
    return forgotten !== undefined && tokenOf(forgotten.device) !== forgotten.token
  }

  /** This device has heard of two ledgers. */
  mustStop({ name, disk }: Pick<Device, 'name' | 'disk'>): void {
    if (this.#stopped.has(name)) return
    this.#simulation.hit('a series heard two ledgers')
    this.#stopped.set(name, new Set(storedSeries(disk).numbers.map(({ id }) => id)))
  }

  /** A person closes a period, or opens it again. */
  close(page: Page, random: Random): void {
    if (!makes(page)) return
    const period = random.pick(ALL_PERIODS)
    const reopen = random.chance(0.2)
    page.run(`${reopen ? 'opens' : 'closes'} ${period}`, () => {
      if (!page.isAlive) return
      const storage = new SeriesStorage(new DiskSeries(page.device.databases, page.actor))
      const options = reopen ? { reopen, reason: 'one more sale' } : {}
      const done = () => {
        this.#simulation.hit(reopen ? 'period opened again' : 'period closed')
        void this.#of(page, storage).tell()
      }
      closePeriod(storage, () => period, period, options).then(done, () => {})
    })
  }

  /** The periods that the lost device has closed stay closed, if the server has confirmed them. */
  #promise({ disk }: Device, { letter, device: to, periods }: ListedSeries): void {
    const { devices, wasRestored } = this.#simulation
    const { state, numbers } = storedSeries(disk)
    const { current } = state
    const other = devices.find(({ name }) => name === to)!
    const hadIt = storedSeries(other.disk).numbers.some((row) => row.letter === letter)
    if (current?.letter !== letter || hadIt) return
    // A restored server has forgotten until it hears of this device again.
    const isBehind = current.mark !== markOf({ periods: JSON.stringify(periods) } as SeriesRow)
    if (wasRestored && isBehind) return
    const isTold = (period: string) => !current.closings?.some((each) => each.period === period)
    const rows = numbers.filter((row) => row.letter === letter)
    const closed = ALL_PERIODS.filter((period) => {
      const last = rows.findLast((row) => row.period === period)
      return isTold(period) && endOf(current, period, last).closing !== undefined
    })
    if (closed.length > 0) this.#simulation.hit('a closing handed over')
    this.#closed.push({ letter, to, periods: closed })
  }

  /** After a closing no number of the period: here, or on the device that goes on. */
  #accountClosings(name: string, { state, numbers, entries }: StoredSeries): void {
    const { checker } = this.#simulation
    const { letter, empty = {} } = state.current ?? {}
    for (const row of numbers) {
      const isOf = (each: Pick<NumberRow, 'letter' | 'period'>) =>
        each.letter === row.letter && each.period === row.period
      const before = numbers.find((each) => isOf(each) && each.closing && each.place < row.place)
      const end = before ?? (row.letter === letter ? empty[row.period] : undefined)
      if (end?.closing) checker.complain(`${name} made ${row.id} after its period was closed`)
      const wasClosed = this.#closed.some(
        ({ letter, to, periods }) =>
          to === name && letter === row.letter && periods.includes(row.period),
      )
      const isReopened = entries?.some(
        ({ what, series, period }) =>
          what === 'reopened' && isOf({ letter: series!, period: period! }),
      )
      if (wasClosed && !isReopened)
        checker.complain(`${name} made ${row.id}, whose period another device had closed`)
    }
  }

  /** A person has handed this series of a lost device over. */
  handedOver(lost: Device, series: ListedSeries): void {
    const { letter, device: name, periods } = series
    this.#promise(lost, series)
    this.#handedOver.add(letter)
    // Who had it already goes on where it stood.
    const hadIt = this.#takers.get(letter) === name
    const known = hadIt ? this.#lasts.get(`${letter} ${name}`) : undefined
    const lasts = known ?? new Map(periods.map(({ period, last }) => [period, last]))
    this.#lasts.set(`${letter} ${name}`, lasts)
    this.#takers.set(letter, name)
    for (const { takers } of this.#repeated.filter((each) => each.letter === letter))
      takers.add(name)
    if (this.#simulation.unawareOfRestore.has(lost.node))
      this.#repeated.push({ letter, lasts, takers: new Set([name]), isForgotten: false })
    this.#sellers.add(name)
    this.#simulation.hit('series handed over')
    for (const [id, made] of this.#made)
      for (const each of made)
        if (id.startsWith(`${letter}-`) && each.device === name) each.isLost = true
  }

  #period(key = 'sale 0'): string {
    if (this.#simulation.profile?.closesPeriods) {
      const [, sale] = /^sale (\d+)/.exec(key) ?? []
      return sale ? ALL_PERIODS[Number(sale) % PERIODS]! : 'last'
    }
    if (this.#ranges) return '2-4'
    // So short that the clock goes back into one now and then.
    return String(Math.floor(Date.now() / PERIOD_MS))
  }

  /** This page was opened with another form of its numbers. */
  changeForm(page: Page): void {
    this.#withoutPeriod.add(page)
  }

  /** Its form makes one text of two numbers, and the second was not made. */
  #isOneText({ message }: HiloError): boolean {
    const is = /^No number was made: formatId makes \S+-any-\d+ of two/.test(message)
    if (is) this.#simulation.hit('two receipts would have one text')
    return is
  }

  /** The last sale of a device: it finds out what became of its series. */
  last(page: Page): void {
    this.#sell(page, `last sale ${page.name}`)
    if (this.#simulation.profile.closesPeriods)
      for (const n of ALL_PERIODS.keys()) this.#sell(page, `sale ${n} at last`)
  }

  #sell(page: Page, key: string): void {
    if (!makes(page)) return
    page.run(`next ${key}`, () => {
      const storage = new SeriesStorage(new DiskSeries(page.device.databases, page.actor))
      void this.#take(page, this.#of(page, storage), key)
    })
  }

  async #take(page: Page, series: Series, key: string): Promise<void> {
    const { checker, scheduler } = this.#simulation
    try {
      const format = (number: number, letter: string, period?: string) =>
        `${letter}-${this.#withoutPeriod.has(page) ? 'any' : (period ?? 'range')}-${number}`
      const period = this.#period(key)
      const { current } = storedSeries(page.device.disk).state
      const isLate = this.#isKnownAgain(current?.letter ?? '')
      const { row, heard } = await series.take({
        key,
        format,
        moment: (now = new Date()) => ({ now, date: now, period }),
        dayAt: (at) => at.toISOString().slice(0, 10),
        ranges: this.#ranges,
        sealed: {
          links: CHAIN,
          kind: 'number',
          content: key,
          collection: 'receipts',
          timeZone: undefined,
        },
        holder: { device: page.device.name },
        wait: 1_000,
      })
      const { id } = row
      scheduler.note(page.actor, `prints ${id} for ${key}`)
      this.printed(id, { device: page.device.name, key, heard, isLate })
    } catch (error) {
      const { code, stack } = error as HiloError
      const isExpected =
        error instanceof HiloError &&
        (EXPECTED.has(code) ||
          code === 'storage-failed' ||
          code === 'closed' ||
          (code === 'invalid-argument' && /^No number was made: the period/.test(error.message)) ||
          this.#isOneText(error) ||
          (code === 'other-ledger' && this.#simulation.twoLedgers.areThere))
      if (!isExpected) checker.complain(`${page.name}: no receipt: ${stack}`)
    }
  }

  printed(id: string, made: Made): void {
    const { checker, twoLedgers } = this.#simulation
    const { device, key } = made
    if (this.#stopped.get(device)?.has(id) === false)
      checker.complain(`${device} made ${id} of ${key}, and had heard two ledgers`)
    const ledger = twoLedgers.giverOf(device, id.split('-')[0]!)
    this.#made.set(id, [...(this.#made.get(id) ?? []), { ...made, ledger }])
  }

  #of({ hilo, device, actor }: Page, storage: SeriesStorage): Series {
    const known = this.#series.get(hilo)
    if (known) return known
    const { options, signal } = hilo.access
    const of = {
      collection: 'receipts',
      storage,
      signal,
      isSwitchedOn: () => hilo.access.isSwitchedOn(),
    }
    const online = onlineSeries({
      ...of,
      url: this.#url,
      database: options.database,
      otherLedger: () => {},
      server: seriesServer({ ...options, url: this.#url }, options.database),
      copied: () => {
        this.#simulation.hit('series of a copy ended')
        if (!this.#simulation.profile.hasClones && !this.#wentBack.has(device.name))
          this.#simulation.checker.complain(`${device.name} was taken for a copy (${actor.name})`)
      },
    })
    const made = new Series({ ...of, online: async () => online })
    this.#series.set(hilo, made)
    return made
  }

  /** At the end: compares what each device has stored with what its pages were told. */
  account(devices: readonly Device[]): void {
    const { checker, twoLedgers } = this.#simulation
    for (const { name, disk } of devices) {
      const stored = storedSeries(disk)
      const { state, numbers, links } = stored
      this.#accountClosings(name, stored)
      const letters = [...state.ended.map(({ letter }) => letter), state.current?.letter]
      // Nobody closes a series here, but the server that finds another past than it heard of.
      for (const { letter, reason } of state.ended)
        if (
          reason.kind === 'closed' &&
          !this.#rewritten.has(letter) &&
          !this.#forgotten.has(letter)
        )
          checker.complain(`${name}: ${letter}: ${reason.reason}`)
      const { letter = '', heard = 0 } = state.current ?? {}
      const changed = this.#rewritten.get(letter)
      const isHeard = changed && !changed.isForgotten && heard > changed.place
      if (isHeard && isStored(stored, changed.hash))
        checker.complain(`${name} goes on with ${letter}, whose past was rewritten`)
      for (const letter of letters) {
        this.#accountChain(
          name,
          links.filter(({ chain }) => chain === letter),
          numbers.filter((row) => row.letter === letter),
        )
        const rows = numbers.filter((row) => row.letter === letter)
        const last = new Map<string, number>()
        // Who got the series of another device goes on where that one stood.
        const isOurs = !this.#handedOver.has(letter ?? '')
        const first = isOurs ? 1 : rows[0]?.place
        const begin = isOurs ? IN_RANGES[0]! : (rows[0]?.number ?? 0)
        const isHole = ({ place, period, number }: NumberRow, i: number) => {
          if (this.#ranges)
            return place !== i + first! || number !== IN_RANGES[IN_RANGES.indexOf(begin) + i]
          const before = last.get(period) ?? (isOurs ? 0 : number - 1)
          last.set(period, number)
          return place !== i + first! || number !== before + 1
        }
        if (rows.some(isHole))
          checker.complain(`${name}: ${letter} has a hole: ${rows.map(({ id }) => id).join(' ')}`)
        if (rows.some(({ period }) => period === '11-14')) this.#simulation.hit('a range gave way')
        if (rows.some(({ isBack }) => isBack)) this.#simulation.hit('a period went on again')
      }
      for (const { id, key, state: is, reason } of numbers)
        if (
          (key === undefined && is !== 'cancelled') ||
          (reason !== undefined) !== (is === 'cancelled')
        )
          checker.complain(`${name}: ${id} is ${is}, of ${key}, because of ${reason}`)
      for (const [id, made] of this.#made)
        for (const { device, key, isLost, ledger } of made) {
          const [letter = ''] = id.split('-')
          // Another ledger gives the same letter to a device that has lost its storage.
          const isOfToday = ledger === twoLedgers.giverOf(name, letter)
          if (!isLost && device === name && letters.includes(letter) && isOfToday)
            if (
              !this.#deleted.has(`${name} ${id}`) &&
              !numbers.some((row) => row.id === id && row.key === key)
            )
              checker.complain(`${name} has lost ${id} of ${key}`)
        }
    }
    const { areThere } = twoLedgers
    for (const [id, all] of this.#made) {
      // A copy was given nothing. Where there are two ledgers, nobody makes one.
      const ledgers = new Set(areThere ? all.map(({ ledger }) => ledger) : [undefined])
      if (isTwice(all) && ledgers.size > 1) checker.tolerate('issued by devices of two ledgers')
      const [letter, period = '', number] = id.split('-')
      // A hand-over is of one ledger.
      for (const { device, key } of areThere ? [] : all) {
        const last = this.#lasts.get(`${letter} ${device}`)?.get(period) ?? 0
        // One that it made before it lost the series, it tells again.
        const isOfBefore = all.some(
          (each) => each.isLost && each.device === device && each.key === key,
        )
        if (!isOfBefore && Number(number) <= last)
          checker.complain(`${device} made ${id}, and got its series from ${last + 1} on`)
      }
      for (const ledger of ledgers) {
        const made = areThere ? all.filter((each) => each.ledger === ledger) : all
        this.#accountMakers(id, made, devices)
      }
    }
  }

  /**
   * @param made by devices that have their series of one ledger
   * @param restores after which one of them may have made it, and one that had the series before
   */
  #accountMakers(
    id: string,
    made: readonly Made[],
    devices: readonly Device[],
    restores: readonly Repeated[] = this.#repeated.filter((each) => mayRepeat(each, id)),
  ): void {
    const { checker } = this.#simulation
    const [restore, ...others] = restores
    if (restore) {
      const isTaker = ({ device }: Made) => restore.takers.has(device)
      const parts = [made.filter((each) => !isTaker(each)), made.filter(isTaker)]
      const isOfBoth = parts.every(({ length }) => length > 0)
      if (isOfBoth && isTwice(made)) this.#accountRepeated(id, made, devices, restore)
      for (const part of parts) this.#accountMakers(id, part, devices, others)
      return
    }
    const isOfCopies =
      this.#handedOver.has(id.split('-')[0]!) || new Set(made.map(originalOf)).size < 2
    if (!isOfCopies) checker.complain(`${id} was made by devices that are no copies`)
    if (isTwice(made) && made.some(({ isForgotten }) => isForgotten)) {
      checker.tolerate('a receipt of a server that did not know of its restore')
      return
    }
    const keys = this.#keysKnown(id, made, devices)
    const isKnownTwice = keys.size > 1
    if (isTwice(made.filter(({ heard }) => heard)))
      checker.complain(`${id} was made twice although the server had heard of both`)
    if (isKnownTwice && !this.#isHeard(id, devices))
      checker.complain(`${id} was made for ${[...keys].join(' and ')}, and nobody was told`)
    else if (isKnownTwice) checker.tolerate('a receipt of two copies, one of which was told')
    else if (isTwice(made) && this.#areLost(id, made, devices))
      checker.tolerate('a receipt of a device that lost its storage')
    else if (isTwice(made))
      checker.complain(`${id} was made twice, and no device had lost its storage`)
  }

  /** Two devices made this number, because a restore had forgotten who goes on, or where. */
  #accountRepeated(
    id: string,
    made: readonly Made[],
    devices: readonly Device[],
    { letter, isForgotten }: Repeated,
  ): void {
    const { checker } = this.#simulation
    if (!isForgotten) {
      checker.tolerate('a receipt of a server that did not know of its restore')
      return
    }
    const heard = made.filter((each) => each.heard)
    const isKnownTwice = this.#keysKnown(id, made, devices).size > 1
    const isTold = this.#isHeard(id, devices) || hasEnded(letter, devices)
    if (isTwice(heard) && heard.some(({ isLate }) => isLate))
      checker.complain(`${id} was made twice, and the server had heard who goes on`)
    // While the device that goes on is silent, nobody can know.
    else if (isKnownTwice && this.#isKnownAgain(letter) && !isTold)
      checker.complain(`${id} was made twice after a restore, and nobody was told`)
    else checker.tolerate('a receipt of a hand-over that a restore had forgotten')
  }

  /** Keys of those that remember it: a device cannot tell what it has lost with its storage. */
  #keysKnown(id: string, made: readonly Made[], devices: readonly Device[]): Set<string> {
    const remembered = made.filter((each) => this.#isRemembered(id, each, devices))
    return new Set(remembered.map(({ key }) => key))
  }

  #isRemembered(id: string, { device, isLost }: Made, devices: readonly Device[]): boolean {
    return !isLost && this.#hasSeries(id, device, devices)
  }

  /** Has each that does not remember it lost its storage? */
  #areLost(id: string, made: readonly Made[], devices: readonly Device[]): boolean {
    return made
      .filter((each) => !this.#isRemembered(id, each, devices))
      .every((each) => each.isLost || hasLostStorage(each, devices))
  }

  /** Each number has its record, in the order of making, and each holds the link of the last. */
  #accountChain(name: string, links: readonly Link[], rows: readonly NumberRow[]): void {
    const { checker } = this.#simulation
    if (links.map(({ id }) => id).join() !== rows.map(({ id }) => id).join())
      checker.complain(`${name} has numbers without their links`)
    links.forEach(({ at, id, previous, flags = [] }, i) => {
      if (at !== i + 1 || previous !== (links[i - 1]?.hash ?? '') || flags.includes('broken'))
        checker.complain(`${name}: the chain is broken at ${id}`)
    })
  }

  #hasSeries(id: string, device: string, devices: readonly Device[]): boolean {
    const { disk } = devices.find(({ name }) => name === device)!
    const { state } = storedSeries(disk)
    const letters = [...state.ended.map(({ letter }) => letter), state.current?.letter]
    return letters.includes(id.split('-')[0])
  }

  /** Does a copy say of this number that the other one may have made it, too? */
  #isHeard(id: string, devices: readonly Device[]): boolean {
    const [letter] = id.split('-')
    return devices.some(({ disk }) => {
      const { state, numbers } = storedSeries(disk)
      const place = numbers.find((row) => row.id === id)?.place
      return state.ended.some(({ letter: ended, reason }) => {
        const doubtful = doubtfulIn(reason)
        if (ended !== letter || !doubtful) return false
        return place !== undefined && doubtful.from <= place && place <= doubtful.to
      })
    })
  }
}

/** The other tenant has none. */
const makes = ({ device, tenant }: Page): boolean => device.traits.hasIndexedDb && !tenant

const isTwice = (made: readonly Made[]): boolean => new Set(made.map(({ key }) => key)).size > 1

const originalOf = ({ device }: Made): string => device.split('-')[0]!

/** Is this a number that the lost device made after the backup, or before it was heard again? */
function mayRepeat({ letter, lasts }: Repeated, id: string): boolean {
  const [ofLetter, period = '', number] = id.split('-')
  return ofLetter === letter && Number(number) > (lasts.get(period) ?? 0)
}

/** Was a device told that the server has closed the series, so that documents are compared? */
const hasEnded = (letter: string, devices: readonly Device[]): boolean =>
  devices.some(({ disk }) =>
    storedSeries(disk).state.ended.some(
      (ended) => ended.letter === letter && ended.reason.kind === 'closed',
    ),
  )

const hasLostStorage = ({ device }: Made, devices: readonly Device[]): boolean =>
  devices.some(({ name, losses }) => name === device && losses.has('storage evicted'))

const tokenOf = ({ disk }: Device): string | undefined => storedSeries(disk).state.current?.token

/** Has this device the changed record, or is it an honest copy? */
const isStored = ({ links }: StoredSeries, changed: string): boolean =>
  links.some(({ hash }) => hash === changed)

const isOf =
  (letter: string | undefined) =>
  ({ chain }: Link): boolean =>
    chain === letter
