/**
 * `offline-hilo/consecutive`: consecutive numbers, made offline, in a series that this device holds
 * alone: `B-000001`, `B-000002`, `B-000003`.
 */
import type { Hilo, HiloAccess } from '../client/hilo.js'
import { HiloError } from '../core/errors.js'
import { plainHeaders } from '../core/headers.js'
import { type CollectionRef, collectionOf } from '../core/names.js'
import { checkDatabase } from '../core/options.js'
import type { HeldSeries, NumberRow, SeriesStore } from './numbers.js'
import {
  type Checked,
  type ConsecutiveOptions,
  checkKey,
  checkReason,
  checkSeriesOptions,
} from './options.js'
import { reportOf, type SeriesReport } from './report.js'
import { Series } from './series.js'
import { type SeriesServer, seriesServer } from './server.js'
import { SeriesStorage } from './storage.js'

export type { HeldSeries } from './numbers.js'
export type { ConsecutiveOptions } from './options.js'
export type { NumberState, ReportedNumber, SeriesReport } from './report.js'
export type { SeriesEnd } from './state.js'

/** A number of this device's series. */
export interface ConsecutiveNumber {
  /** `'B-000124'` */
  id: string
  /** `124` */
  number: number
}

/** A number that was taken, and neither confirmed nor cancelled. */
export interface OpenNumber extends ConsecutiveNumber {
  key: string
}

/** Made by {@link consecutive}. */
export interface Consecutive {
  /**
   * The number of `key`: the same key gets the same number, in every tab, after every crash. It
   * works offline once this device has its series; for that it needs the server once.
   * @param options `key` names what the number is for, best the id of the sale. Up to 256 bytes of
   * UTF-8
   * @throws HiloError `server-unreachable` and `server-refused` without a series,
   * `storage-failed`, `outdated`, `closed`; `invalid-argument` for a key that was cancelled
   */
  next(options: { key: string }): Promise<ConsecutiveNumber>
  /**
   * The number of `key` is on a receipt that is stored. Repeating it changes nothing.
   * @throws HiloError `invalid-argument` when the key has no number, or a cancelled one
   */
  confirm(key: string): Promise<void>
  /**
   * No receipt gets the number of `key`. It stays used, with the reason: a cancelled receipt.
   * Repeating it changes nothing.
   * @param reason up to 1024 bytes of UTF-8
   * @throws HiloError `invalid-argument` when the key has no number, or a confirmed one
   */
  cancel(key: string, reason: string): Promise<void>
  /** The series that the next number is made in. Undefined: the server has to give one first. */
  current(): Promise<HeldSeries | undefined>
  /** After a crash: what was taken and neither confirmed nor cancelled. */
  open(): Promise<OpenNumber[]>
  /**
   * All series of this device, oldest first, each from its first number to its last without a hole.
   */
  report(): Promise<SeriesReport[]>
}

/**
 * Consecutive numbers of a collection, made by this device alone.
 *
 * @example
 * const receipts = consecutive(hilo, 'receipts', { device: 'Till 3' })
 * const { id } = await receipts.next({ key: saleId }) // 'B-000124', also offline
 * await receipts.confirm(saleId) // the receipt is stored
 *
 * @throws HiloError `invalid-argument`, `invalid-collection`
 */
export function consecutive<Name extends string>(
  hilo: Hilo<Name>,
  collection: CollectionRef<NoInfer<Name>>,
  options?: ConsecutiveOptions,
): Consecutive {
  const { options: of, signal, series: inMemory } = accessOf(hilo)
  const checked = checkSeriesOptions(options)
  const name = collectionOf(collection, of)
  const database = checkDatabase(options?.database ?? of.database, of)
  const { headers = {} } = of
  const ofTest = inMemory?.(database, name)
  const storage = ofTest ?? new SeriesStorage(of.name, [of.url, database, name])
  const series = new Series({
    collection: name,
    device: checked.device,
    storage,
    server:
      ofTest ??
      seriesServer(of, database, async () =>
        plainHeaders(typeof headers === 'function' ? await headers() : headers),
      ),
    signal,
    isOnline: () => hilo.status().online,
    copied: () => hilo.dispatchEvent(new CustomEvent('fork', { detail: { collection: name } })),
  })
  // Node takes more than ten listeners of one signal for a leak, and warns.
  const ending = new AbortController()
  const end = () => {
    storage.close()
    ending.abort()
  }
  if (signal.aborted) end()
  signal.addEventListener('abort', end)
  const look = () => void series.look()
  const until = { signal: ending.signal }
  hilo.addEventListener('status', look, until)
  for (const type of ['online', 'offline']) globalThis.addEventListener?.(type, look, until)
  look()
  return methodsOf(series, storage, signal, checked)
}

function methodsOf(
  series: Series,
  storage: SeriesStore,
  signal: AbortSignal,
  { formatId, forgetKeysAfter }: Checked,
): Consecutive {
  return {
    async next(options) {
      signal.throwIfAborted()
      const key = checkKey(options?.key)
      const { state, id, number, reason } = await series.take(key, formatId)
      if (state !== 'cancelled') return { id, number }
      throw new HiloError(
        'invalid-argument',
        `${id} was made for the key ${JSON.stringify(key)} and cancelled: ${reason}. It stays ` +
          'used. Another receipt takes another key.',
      )
    },
    async confirm(key) {
      signal.throwIfAborted()
      const now = Date.now()
      await storage.settle(checkKey(key), (row) => confirmed(row, now), now - forgetKeysAfter)
    },
    async cancel(key, reason) {
      signal.throwIfAborted()
      checkReason(reason)
      await storage.settle(checkKey(key), (row) => cancelled(row, reason))
    },
    async current() {
      signal.throwIfAborted()
      return storage.current()
    },
    async open() {
      signal.throwIfAborted()
      return (await storage.open()).map(({ id, number, key }) => ({ id, number, key: key! }))
    },
    async report() {
      signal.throwIfAborted()
      const { state, numbers } = await storage.all()
      return reportOf(state, numbers)
    },
  }
}

function confirmed(row: NumberRow, now: number): NumberRow {
  if (row.state === 'confirmed') return row
  if (row.state === 'cancelled')
    throw new HiloError(
      'invalid-argument',
      `${row.id} was cancelled (${row.reason}), so it is on no receipt. Nothing was changed.`,
    )
  const { open, ...rest } = row
  return { ...rest, state: 'confirmed', confirmedAt: now }
}

function cancelled(row: NumberRow, reason: string): NumberRow {
  if (row.state === 'cancelled') return row
  if (row.state === 'confirmed')
    throw new HiloError(
      'invalid-argument',
      `${row.id} was confirmed: it is on a stored receipt, and cannot be cancelled here. Correct ` +
        'that receipt by another one. Nothing was changed.',
    )
  const { open, ...rest } = row
  return { ...rest, state: 'cancelled', reason }
}

/** What a `Hilo` gives; one of `offline-hilo/testing` also gives series in memory. */
export interface SeriesAccess extends HiloAccess {
  series?(database: string, collection: string): SeriesStore & SeriesServer
}

function accessOf(hilo: Hilo): SeriesAccess {
  const { access } = Object(hilo) as Partial<Hilo>
  if (access === undefined) throw invalid('it got something else than a Hilo of this version')
  if (access.options.source !== undefined)
    throw invalid(
      'the Hilo has a `source` of its own, and only an offline-hilo-server gives series',
    )
  return access
}

const invalid = (why: string): HiloError =>
  new HiloError('invalid-argument', `consecutive() makes no numbers here: ${why}.`)
