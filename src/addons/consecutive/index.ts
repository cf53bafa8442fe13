/**
 * `offline-hilo/consecutive`: consecutive numbers, made offline, in a series that this device holds
 * alone: `B-000001`, `B-000002`, `B-000003`.
 */
import type { Hilo, HiloAccess } from '../../client/hilo.js'
import { brief, shown } from '../../core/brief.js'
import { HiloError } from '../../core/errors.js'
import type { CollectionRef } from '../../core/names.js'
import { isSignal, onAbort, onEvent } from '../../core/on-abort.js'
import type { StoreKey } from '../../device/device-store.js'
import type {
  ChainFlag,
  Closing,
  NumberRow,
  SeriesStore,
  SettledState,
} from '../../device/series-store.js'
import type { ExportOptions } from './chain-export.js'
import type { Known, Verified } from './chain-verify.js'
import { checkCall, checkDate, checkKey, checkName, checkWhy, frozen, must } from './checks.js'
import { seriesInIndexedDb } from './indexeddb.js'
import { LivingPage } from './living.js'
import type { HeldSeries } from './numbers.js'
import {
  type Checked,
  type ClosePeriodOptions,
  type ConsecutiveOptions,
  checkSeriesOptions,
} from './options.js'
import { aboveOf, dataOf, isEnding, rangesOf, restOf } from './ranges.js'
import type { SeriesReport } from './report.js'
import { numberOf, settledAs } from './rows.js'
import { Series, type TakenNumber, untilAborted } from './series.js'
import type { SeriesServer } from './server.js'
import { contentOf, SeriesStorage } from './storage.js'

export type { StatedPeriod } from '../../core/series-marks.js'
export type { SeriesHandedOver } from '../../core/wire.js'
export type { Closing, NumberRange, Reopened, SettledState } from '../../device/series-store.js'
export type { ExportOptions } from './chain-export.js'
export type { LocalDate } from './moment.js'
export type { HeldSeries } from './numbers.js'
export type { ClosePeriodOptions, ConsecutiveOptions } from './options.js'
export type {
  NumberState,
  ReportedNumber,
  ReportedRange,
  SeriesReport,
  Settlement,
} from './report.js'
export type { SeriesEnd, SeriesLedgers } from './state.js'

/** A number of this device's series. */
export interface ConsecutiveNumber {
  /** `'B-000124'` */
  id: string
  /** `124` */
  number: number
  /** `'2027'`, or its range: `'1001-2000'`. Absent: the series has neither. */
  period?: string
  /** Of its range. */
  data?: unknown
  /** Its date is more than a minute before that of the number before. */
  isBack?: true
  /**
   * The server had heard of this number before it was handed out, so no copy of this device makes
   * it. False: it was made offline, or the server was late. Two copies of this device that were
   * both offline may have made it; then one says so in its report.
   */
  heard: boolean
  /** Of its record in the chain. Absent: the series has no chain. */
  hash?: string
  /** Why the number did not fit into the chain when it was made. Absent: it did. */
  flags?: ChainFlag[]
}

/** A record of a chain that has no number. */
export interface ChainedRecord {
  /** 1, 2, 3 …: its place in the chain. */
  at: number
  hash: string
  flags?: ChainFlag[]
}

/** A number that was taken, and nothing else yet. */
export interface UnfinishedNumber extends Pick<ConsecutiveNumber, 'id' | 'number' | 'period'> {
  key: string
  /** The page that asked last lives: it may be in the middle of the sale. */
  isLiving?: true
}

export interface SettleOptions {
  /** Why. Each state but `confirmed` needs one. Up to 1024 bytes of UTF-8. */
  reason?: string
  /** The person that does it. Up to 256 bytes of UTF-8. */
  by?: string
  /** The other document: the one that voids this one. Up to 256 bytes of UTF-8. */
  ref?: string
}

/** Made by {@link consecutive}. */
export interface Consecutive {
  /**
   * The number of `key`: the same key gets the same number, in every tab, after every crash. It
   * works offline once this device has its series; for that it needs the server once. Online, the
   * server hears of the number first.
   * @param options `key` names the document of the number, best by the id of the sale. Up to 256
   * bytes of UTF-8. `date` is the document's, for its period and its record: now, unless you give
   * it. A key that has a number is refused with another date. `by` names the person that takes it.
   * `signal` ends the call; a number that was taken stays with its key. `content` is the
   * document's content, as JSON has it: the key gets no other one. With a chain, `kind` is the
   * app's name for the kind of record: the key gets no other one
   * @throws HiloError `server-unreachable`, `no-hilo-server` without a series; `server-refused`
   * without a series, or while the server refuses this device; `other-ledger` once another ledger
   * has answered; `storage-failed`, `outdated`, `closed`, `aborted`; `exhausted` where its ranges
   * have no number left; `invalid-argument` for a key that was cancelled, or where this device has
   * another series than the option `series` says
   */
  next(options: {
    key: string
    date?: Date
    by?: string
    signal?: AbortSignal
    content?: unknown
    kind?: string
  }): Promise<ConsecutiveNumber>
  /**
   * A record of the chain without a number: a cancellation, an event. The same key gets the same
   * record. The server hears of it with the next number.
   * @throws HiloError `invalid-argument` without a chain, or where the key has a record of another
   * kind, content or collection; `server-unreachable`, `server-refused` where the chain is the
   * series', and there is none
   */
  record(options: { key: string; kind: string; content?: unknown }): Promise<ChainedRecord>
  /**
   * Checks the register and the chains that are stored here, and names all that does not fit.
   * @param options `known` is a link that was kept elsewhere: a `last` of an earlier result
   * @throws HiloError `invalid-argument` when `known` is no link
   */
  verify(options?: { known?: Known }): Promise<Verified>
  /**
   * All series, chains and the register of this device, line by line: a head, each number, record
   * and entry, and the totals with the result of the check. Or the numbers as a table.
   * @throws HiloError `invalid-argument`
   */
  export(options?: ExportOptions): AsyncIterable<string>
  /**
   * Sets the state of the number of `key`. It stays used, and repeating this changes nothing; only
   * a `refused` with another reason, `by` or `ref` is one more refusal.
   *
   * - `confirmed`: it is on a receipt that is stored. Also after `refused`, once the receipt was
   *   corrected and accepted.
   * - `cancelled`: no receipt gets it.
   * - `voided`: a later record has voided the confirmed receipt.
   * - `refused`: the authority has refused the receipt.
   *
   * @throws HiloError `invalid-argument` when the key has no number, or one whose state forbids it
   */
  settle(key: string, state: SettledState, options?: SettleOptions): Promise<void>
  /**
   * Gets the series before the first number is needed: from then on numbers are made offline.
   * @throws HiloError `server-unreachable`, `no-hilo-server`, `server-refused`; `other-ledger` once
   * another ledger has answered; `invalid-argument` where this device has another series than the
   * option `series` says
   */
  prepare(): Promise<HeldSeries>
  /**
   * The rest of sales that nobody ended, as after a crash: numbers that were taken by a page that
   * lives no more. A page lives until it is closed, crashes, leaves for another page, or closes its
   * `Hilo`. Where there are no Web Locks (Node 20, a page without HTTPS), nobody can
   * tell whether a page lives, and its numbers are listed.
   * @param options `all`: those of pages that live, too, also of this one. Default: false
   */
  unfinished(options?: { all?: boolean }): Promise<UnfinishedNumber[]>
  /**
   * Closes a period of the series that goes on: no number of it is made any more. Its first and
   * last number, their count and the sums that the app gives are an entry of the register: a daily
   * closing. Repeating it changes nothing. Only `reopen`, with a reason, opens it again.
   * A period without a number is closed, too.
   * @returns the record of the closing. Undefined: it is open
   * @throws HiloError `invalid-argument` where the series has no such period
   */
  closePeriod(period: string, options?: ClosePeriodOptions): Promise<Closing | undefined>
  /**
   * All series of this device, oldest first, each from its first number to its last without a hole.
   * The last one says in which series the next number is made, unless it has ended.
   * @param options `numbers: false`: without the numbers, to ask often. Default: true
   */
  report(options?: { numbers?: boolean }): Promise<SeriesReport[]>
}

/**
 * Consecutive numbers of a collection, made by this device alone.
 *
 * @example
 * const receipts = consecutive(hilo, 'receipts', { device: 'Till 3' })
 * const { id } = await receipts.next({ key: saleId }) // 'B-000124', also offline
 * await receipts.settle(saleId, 'confirmed') // the receipt is stored
 *
 * @throws HiloError `invalid-argument`, `invalid-collection`
 */
export function consecutive<Name extends string>(
  hilo: Hilo<Name>,
  collection: CollectionRef<NoInfer<Name>>,
  options?: ConsecutiveOptions,
): Consecutive {
  const access = accessOf(hilo)
  const { name, database } = access.find(collection)
  const checked = checkSeriesOptions(name, options)
  const tell: Tell = (type, detail) =>
    hilo.dispatchEvent(new CustomEvent(type, { detail: { collection: name, ...detail } }))
  return methodsOf(openedOf(hilo, access, database, name), access.signal, checked, tell)
}

type Tell = (type: 'ending' | 'exhausted', detail: object) => void

interface Opened {
  series: Series
  page: LivingPage | undefined
  storage: SeriesStorage
}

/** One connection and one check-in for all that share a `Hilo`, a database and a collection. */
const opened = new WeakMap<Hilo, Map<string, Opened>>()

function openedOf(hilo: Hilo, access: SeriesAccess, database: string, collection: string): Opened {
  const ofHilo = opened.get(hilo) ?? new Map<string, Opened>()
  opened.set(hilo, ofHilo)
  const name = JSON.stringify([database, collection])
  const known = ofHilo.get(name) ?? open(hilo, access, database, collection)
  ofHilo.set(name, known)
  return known
}

function open(hilo: Hilo, access: SeriesAccess, database: string, collection: string): Opened {
  const { options: of, signal, series: inMemory } = access
  const ofTest = inMemory?.(database, collection)
  const key: StoreKey = [of.url, database, collection]
  const store = ofTest ?? of.store?.series?.(key) ?? seriesInIndexedDb(of.name, key)
  const storage = new SeriesStorage(store)
  // Node takes more than ten listeners of one signal for a leak, and warns.
  const ending = new AbortController()
  const page = ofTest ? undefined : new LivingPage(ending.signal)
  const context = { collection, storage, signal, isSwitchedOn: () => access.isSwitchedOn() }
  const tell = (type: string, detail?: object) =>
    hilo.dispatchEvent(new CustomEvent(type, { detail: { collection, ...detail } }))
  const online = onceLoaded(async () => {
    const { onlineSeries, seriesServer } = await import('./online.js')
    return onlineSeries({
      ...context,
      url: of.url,
      database,
      server: ofTest ?? seriesServer(of, database),
      copied: () => tell('fork'),
      otherLedger: (change) =>
        tell('ledger', { ...change, since: new Date(change.since), numbers: 0 }),
    })
  })
  // While there is a network, and the files of this page's build are still deployed.
  online().catch(() => {})
  reading().catch(() => {})
  access.startOvers.push(async (name = database) => {
    if (name === database) await (await online()).startOver()
  })
  const series = new Series({ ...context, online })
  let wasOn = access.isSwitchedOn()
  const switched = () => {
    const isOn = access.isSwitchedOn()
    if (isOn && !wasOn) series.look()
    wasOn = isOn
  }
  const ignore = onEvent(hilo, 'status', switched)
  const end = () => {
    storage.close()
    ending.abort()
    ignore()
  }
  if (signal.aborted) end()
  onAbort(signal, end)
  globalThis.addEventListener?.('online', () => series.look(), { signal: ending.signal })
  series.look()
  return { series, page, storage }
}

const reading = onceLoaded(() => import('./reading.js'))

/** @returns loads it; after a failure the next call tries again */
function onceLoaded<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined
  return () => {
    loading ??= load().catch((cause) => {
      loading = undefined
      const why = 'ServiceWorkerGlobalScope' in globalThis ? ONE_FILE : RELOAD
      throw new HiloError('server-unreachable', NOT_LOADED + why, { cause })
    })
    return loading
  }
}

const NOT_LOADED =
  'Nothing was made or changed: a part of offline-hilo/consecutive could not be loaded. '
const RELOAD = 'Reload the page when there is a network.'
const ONE_FILE =
  'A service worker may load no code later: bundle it into one file, without dynamic imports.'

function methodsOf(
  { series, storage, page }: Opened,
  closing: AbortSignal,
  { collection, holder, chain, ranges, period: kind, dayAt, makeOf, sealedOf, wait }: Checked,
  tell: Tell,
): Consecutive {
  /** The series that goes on, and the rest of its ranges. */
  const now = async () => {
    const { given, ...of } = await storage.current()
    const { state, last } = of
    const list = state.current && ranges && rangesOf(ranges, given)
    const rest = list && restOf(list, aboveOf(state.current!, last, list), dayAt)
    return { ...of, ranges: list, dayAt, rest }
  }
  const stored = async () => {
    const { allIn } = await reading()
    return { ...(await allIn(storage)), ranges: (await now()).ranges, dayAt }
  }
  let isEndTold = false
  const tellEnd = async (series: string) => {
    const { ranges, rest } = await now()
    const isNow = rest !== undefined && isEnding(ranges!, rest, dayAt)
    if (isNow && !isEndTold) tell('ending', { series, ...rest })
    isEndTold = isNow
  }
  return {
    async next(options) {
      closing.throwIfAborted()
      const asked = checkCall(options, 'key', 'date', 'by', 'signal', 'content', 'kind')
      const key = checkKey(asked.key)
      const { signal, content, kind } = asked
      const date = asked.date === undefined ? undefined : checkDate(asked.date)
      const by = checkName('`by`', asked.by)
      must(signal === undefined || isSignal(signal), '`signal` is an AbortSignal', signal)
      if (signal?.aborted) throw aborted(signal)
      const isSealed = chain !== undefined || kind !== undefined
      const sealed = isSealed ? sealedOf(kind ?? 'number', content) : undefined
      const hash = contentOf(sealed ? sealed.content : frozen(content))
      const { row, heard } = await inSale(page, key, async (name) => {
        const taking = series.take({
          ...makeOf(key, date),
          by,
          page: name,
          content: hash,
          kind,
          sealed,
          holder,
          wait,
        })
        return signal ? untilAborted(signal, taking, () => aborted(signal)) : taking
      }).catch((error) => {
        if (error.code === 'exhausted') tell('exhausted', { error })
        throw error
      })
      const { state, id, reason, isBack, range } = row
      if (ranges) await tellEnd(row.letter)
      if (state !== 'cancelled')
        return {
          id,
          ...numberOf(row),
          ...dataOf(range),
          ...(isBack && { isBack: true }),
          heard,
          ...hashOf(row),
        }
      throw new HiloError(
        'invalid-argument',
        `${id} was made for the key ${shown(key)} and cancelled: ${brief(`${reason}`, 12)}. It ` +
          'stays used. Another receipt takes another key.',
      )
    },
    async record(options) {
      closing.throwIfAborted()
      const { key, kind, content } = checkCall(options, 'key', 'kind', 'content')
      const sealed = sealedOf(kind, content)
      for (;;) {
        const link = await storage.record(checkKey(key), sealed)
        if (link) return { at: link.at, ...hashOf({ ...link, link }) } as ChainedRecord
        await series.prepare(holder)
      }
    },
    async verify(options) {
      closing.throwIfAborted()
      const { known } = checkCall(options, 'known')
      const { verified } = await reading()
      return verified(await stored(), known, chain?.rule)
    },
    async *export(options) {
      closing.throwIfAborted()
      const { exported } = await reading()
      yield* exported(await stored(), { collection, ...holder }, options, chain?.rule)
    },
    async prepare() {
      closing.throwIfAborted()
      await series.prepare(holder)
      const { held, rest } = await now()
      return { ...held!, ...rest }
    },
    async settle(key, state, options) {
      closing.throwIfAborted()
      const why = checkWhy(state, options)
      await storage.settle(checkKey(key), (row) => settledAs(row, state, why))
      page?.settled(key)
    },
    async closePeriod(period, options) {
      closing.throwIfAborted()
      const asked = checkCall(options, 'sums', 'by', 'reopen', 'reason')
      const sums = frozen(asked.sums, 'sums')
      const { closePeriod } = await reading()
      const done = await closePeriod(storage, kind, period, { ...asked, sums })
      void series.tell()
      return done
    },
    async unfinished(options) {
      closing.throwIfAborted()
      const { unfinished } = await reading()
      return unfinished(storage, options)
    },
    async report(options) {
      closing.throwIfAborted()
      const { numbers = true } = checkCall(options, 'numbers')
      must(typeof numbers === 'boolean', 'numbers is true or false', numbers)
      const { reportOf } = await reading()
      if (numbers) return reportOf(await stored())
      const { last, ...of } = await now()
      return reportOf({ ...of, numbers: [], entries: [] }, last)
    },
  }
}

/** The page lives while the number that it takes is open. */
async function inSale(
  page: LivingPage | undefined,
  key: string,
  take: (page: string | undefined) => Promise<TakenNumber>,
): Promise<TakenNumber> {
  let isOpen = false
  try {
    const taken = await take(await page?.takes(key))
    isOpen = taken.row.state === 'open'
    return taken
  } catch (error) {
    // A number may have been taken: the app asks again with the same key.
    isOpen = ['storage-failed', 'aborted'].includes((error as HiloError).code)
    throw error
  } finally {
    if (!isOpen) page?.settled(key)
  }
}

const hashOf = ({ link, flags }: Pick<NumberRow, 'link' | 'flags'>) => ({
  ...(link && { hash: link.hash }),
  ...(flags && { flags }),
})

const aborted = ({ reason }: AbortSignal): HiloError =>
  new HiloError(
    'aborted',
    'The call was aborted by its signal. If a number was taken, the key has it: ask again with ' +
      'the same key.',
    { cause: reason },
  )

/**
 * The parts of a `Hilo` that series need; one of `offline-hilo/testing` also brings series in
 * memory.
 */
export interface SeriesAccess extends HiloAccess {
  series?(database: string, collection: string): SeriesStore & SeriesServer
}

function accessOf(hilo: Hilo): SeriesAccess {
  const { access } = Object(hilo) as Partial<Hilo>
  must(
    access?.options !== undefined,
    'consecutive() got something else than a Hilo of this version',
    hilo,
  )
  must(
    access.options.source === undefined,
    'the Hilo has a `source` of its own, and only an offline-hilo-server gives series',
    hilo,
  )
  return access
}
