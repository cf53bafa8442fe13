/** What the tests of series share: devices with a series, copies of them, and what they stored. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeEach, describe, expect, onTestFinished } from 'vitest'
import {
  type Consecutive,
  consecutive,
  type ExportOptions,
} from '../../../src/addons/consecutive/index.js'
import type { HeldSeries } from '../../../src/addons/consecutive/numbers.js'
import type { ConsecutiveOptions } from '../../../src/addons/consecutive/options.js'
import type { SeriesReport } from '../../../src/addons/consecutive/report.js'
import { type SqliteDatabase, sqliteStore } from '../../../src/addons/sqlite/index.js'
import type { ListedSeries } from '../../../src/core/wire.js'
import type { HiloOptions } from '../../../src/device/hilo-options.js'
import { openRaw, requested } from '../../support/idb.js'
import type { Shop } from '../../support/shop.js'

export interface Till {
  receipts: Consecutive
  hilo: ReturnType<Shop['open']>['hilo']
}

/** Set while the series of devices are in SQLite files of this folder. */
let folder: string | undefined

/** Runs the tests with each store that can hold a series. */
export function inEachStore(tests: () => void): void {
  describe('in IndexedDB', tests)
  describe('in SQLite', () => {
    const made = mkdtempSync(join(tmpdir(), 'hilo-series-'))
    afterAll(() => rmSync(made, { recursive: true, force: true }))
    beforeEach(() => {
      folder = made
      return () => {
        folder = undefined
      }
    })
    tests()
  })
}

function open(file: string) {
  const database = new DatabaseSync(file)
  onTestFinished(() => database.close())
  return database
}

/** The device of a shop's pages that name none. */
const unnamed = new WeakMap<Shop, string>()

function fileOf(shop: Shop, name: string | undefined): string {
  const own = unnamed.get(shop) ?? crypto.randomUUID()
  unnamed.set(shop, own)
  return join(folder!, `${name ?? own}.db`)
}

/**
 * A page of a device; the device is named by `name`. A number waits as long as it may until the
 * server has heard of it: a test says `wait` where no answer comes.
 */
export function openTill(
  shop: Shop,
  options: Omit<HiloOptions, 'worker'> & { series?: ConsecutiveOptions } = {},
): Till {
  const { series: ofSeries, ...ofHilo } = options
  const series = { wait: 60_000, ...ofSeries }
  const database = folder && (open(fileOf(shop, ofHilo.name)) as unknown as SqliteDatabase)
  const { hilo } = shop.open({ ...ofHilo, ...(database && { store: sqliteStore({ database }) }) })
  return { hilo, receipts: consecutive(hilo, 'receipts', series) }
}

/** The series that the next number is made in. */
export async function currentOf(receipts: Consecutive): Promise<HeldSeries | undefined> {
  const report = (await receipts.report({ numbers: false })).find(({ ended }) => !ended)
  if (!report) return undefined
  const { numbers, ranges, ...held } = report
  return held as HeldSeries
}

/** All that `export` writes. */
export async function exportOf(receipts: Consecutive, options?: ExportOptions): Promise<string> {
  let text = ''
  for await (const line of receipts.export(options)) text += line
  return text
}

/** Makes numbers for these keys, one after another. */
export async function idsOf(receipts: Consecutive, ...keys: string[]): Promise<string[]> {
  const ids: string[] = []
  for (const key of keys) ids.push((await receipts.next({ key })).id)
  return ids
}

/**
 * Each series is 1 … n: no hole, no number twice, and no key with two numbers.
 * @param expected the numbers of ranges
 */
export function expectWhole(reports: readonly SeriesReport[], expected?: readonly number[]): void {
  for (const { numbers } of reports) {
    expect(numbers.map(({ number }) => number)).toEqual(
      numbers.map((_, i) => (expected ? expected[i] : i + 1)),
    )
    for (const { state, key, reason } of numbers) {
      expect(reason !== undefined).toBe(state === 'cancelled')
      if (state !== 'cancelled') expect(key).toBeDefined()
    }
  }
  const keys = reports.flatMap(({ numbers }) => numbers.flatMap(({ key }) => key ?? []))
  expect(keys).toEqual([...new Set(keys)])
}

/** What the server lists. */
export async function registry(): Promise<ListedSeries[]> {
  const answer = await fetch('https://shop.example.com/databases/default/hilo/series')
  return (await answer.json()).series
}

const STORES = ['series', 'numbers', 'links', 'entries'] as const

/** Where a device stores its receipts. */
export const databaseOf = (name: string): string =>
  `${name}-series["https://shop.example.com","default"]`

/** Everything that a device has stored of its series. */
export async function copyProfile(from: string, to: string): Promise<void> {
  if (folder) {
    open(join(folder, `${from}.db`)).exec(`VACUUM INTO '${join(folder, `${to}.db`)}'`)
    return
  }
  const stored = await indexedDB.databases()
  if (!stored.some(({ name }) => name === databaseOf(from))) return
  const source = await openRaw(databaseOf(from))
  const target = await new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(databaseOf(to), source.version)
    request.onerror = () => reject(request.error)
    request.onsuccess = () => resolve(request.result)
    request.onupgradeneeded = () => {
      const read = source.transaction(STORES)
      for (const name of STORES) {
        const { keyPath, indexNames } = read.objectStore(name)
        const made = request.result.createObjectStore(name, keyPath ? { keyPath } : {})
        for (const index of indexNames) {
          const { keyPath, unique } = read.objectStore(name).index(index)
          made.createIndex(index, keyPath, { unique })
        }
      }
    }
  })
  for (const name of STORES) {
    const from = source.transaction(name).objectStore(name)
    const [keys, values] = [await requested(from.getAllKeys()), await requested(from.getAll())]
    for (const [i, value] of values.entries()) {
      const store = target
        .transaction(name, 'readwrite', { durability: 'strict' })
        .objectStore(name)
      await requested(store.keyPath ? store.put(value) : store.put(value, keys[i]!))
    }
  }
  source.close()
  target.close()
}
