/** Series in IndexedDB, each collection's in a database of its own: strict transactions. */
import { HiloError } from '../core/errors.js'
import type { SeriesKey } from '../core/page-exit.js'
import type { Link, NumberRow, SeriesStore, SeriesTransaction } from '../core/series-store.js'
import { Database, type DBSchema, type Transaction } from '../store/database.js'

interface Schema extends DBSchema {
  series: { key: typeof STATE; value: object }
  numbers: {
    key: [letter: string, place: number]
    value: NumberRow
    indexes: { key: string; open: number; period: [letter: string, period: string, number: number] }
  }
  links: { key: [chain: string, at: number]; value: Link; indexes: { key: string } }
}

/** The only key of the store `series`. */
const STATE = 'state'

/** @param name of the `Hilo`'s own database */
export function seriesInIndexedDb(name: string, of: SeriesKey): SeriesStore {
  if (!('indexedDB' in globalThis))
    return { transact: async () => Promise.reject(nowhere()), close() {} }
  const db = new Database<Schema>({
    name: `${name}-series${JSON.stringify(of)}`,
    version: 1,
    stores: ['series', 'numbers', 'links'],
    create(db) {
      db.createObjectStore('series')
      const numbers = db.createObjectStore('numbers', { keyPath: ['letter', 'place'] })
      numbers.createIndex('key', 'key', { unique: true })
      numbers.createIndex('open', 'open')
      numbers.createIndex('period', ['letter', 'period', 'number'], { unique: true })
      const links = db.createObjectStore('links', { keyPath: ['chain', 'at'] })
      links.createIndex('key', 'key', { unique: true })
    },
    meaning:
      'Consecutive numbers are not made in memory. Ask again with the same key: it gets the ' +
      'number that was taken, if one was.',
  })
  return {
    transact: (mode, work) =>
      db.transact(mode, async (tx) => {
        const result = await work(transactionOf(tx as Transaction<Schema, 'readwrite'>))
        tx.commit()
        return result
      }),
    close: () => db.close(),
  }
}

function transactionOf(tx: Transaction<Schema, 'readwrite'>): SeriesTransaction {
  const [series, numbers, links] = [
    tx.objectStore('series'),
    tx.objectStore('numbers'),
    tx.objectStore('links'),
  ]
  // A write that fails aborts the transaction, which says so.
  const begin = (write: Promise<unknown>) => void write.catch(() => {})
  return {
    state: () => series.get(STATE),
    numberOf: (key) => numbers.index('key').get(key),
    async lastNumber(letter, period) {
      const [source, of] =
        period === undefined ? [numbers, [letter]] : [numbers.index('period'), [letter, period]]
      return (await source.openCursor(IDBKeyRange.bound(of, [...of, []]), 'prev'))?.value
    },
    numbersAfter: (letter, place) =>
      numbers.getAll(IDBKeyRange.bound([letter, place + 1], [letter, []])),
    openNumbers: () => numbers.index('open').getAll(),
    linkOf: (key) => links.index('key').get(key),
    async lastLink(chain) {
      const of = IDBKeyRange.bound([chain], [chain, []])
      return (await links.openCursor(of, 'prev'))?.value
    },
    numbers: () => numbers.getAll(),
    links: () => links.getAll(),
    saveState: (state) => begin(series.put(state, STATE)),
    addNumber: (row) => begin(numbers.add(row)),
    saveNumber: (row) => begin(numbers.put(row)),
    addLink: (link) => begin(links.add(link)),
  }
}

const nowhere = (): HiloError =>
  new HiloError(
    'storage-failed',
    'No number was made: a series is stored in IndexedDB, and there is none here. In Node, Bun, ' +
      'Deno, Electron or Capacitor pass `store: sqliteStore({ database })` of ' +
      'offline-hilo/sqlite to createHilo(). A store of your own needs `series`.',
  )
