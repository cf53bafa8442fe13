/** Series in IndexedDB, those of a server's database in one of their own: strict transactions. */
import { HiloError } from '../../core/errors.js'
import type { StoreKey } from '../../device/device-store.js'
import type {
  Entry,
  Link,
  NumberRow,
  SeriesStore,
  SeriesTransaction,
} from '../../device/series-store.js'
import { Database, type DBSchema, type Transaction } from '../../store/database.js'

/** The collection. Empty: all of them share it. */
interface Of {
  of: string
}

interface Schema extends DBSchema {
  series: { key: string; value: object }
  numbers: {
    key: [of: string, letter: string, place: number]
    value: NumberRow & Of
    indexes: {
      key: [of: string, key: string]
      id: [of: string, id: string]
      open: [of: string, open: number]
      period: [of: string, letter: string, period: string, number: number]
    }
  }
  links: {
    key: [of: string, chain: string, at: number]
    value: Link & Of
    indexes: { key: [of: string, key: string] }
  }
  entries: { key: [of: string, place: number]; value: Entry & Of }
}

/** @param name of the `Hilo`'s own database */
export function seriesInIndexedDb(name: string, [url, database, of]: StoreKey): SeriesStore {
  if (!('indexedDB' in globalThis))
    return { transact: async () => Promise.reject(nowhere()), close() {} }
  const db = new Database<Schema>({
    name: `${name}-series${JSON.stringify([url, database])}`,
    version: 1,
    stores: ['series', 'numbers', 'links', 'entries'],
    create(db) {
      db.createObjectStore('series')
      const numbers = db.createObjectStore('numbers', { keyPath: ['of', 'letter', 'place'] })
      numbers.createIndex('key', ['of', 'key'], { unique: true })
      numbers.createIndex('id', ['of', 'id'], { unique: true })
      numbers.createIndex('open', ['of', 'open'])
      numbers.createIndex('period', ['of', 'letter', 'period', 'number'], { unique: true })
      const links = db.createObjectStore('links', { keyPath: ['of', 'chain', 'at'] })
      links.createIndex('key', ['of', 'key'], { unique: true })
      db.createObjectStore('entries', { keyPath: ['of', 'place'] })
    },
    meaning:
      'Consecutive numbers are not made in memory. Ask again with the same key: it gets the ' +
      'number that was taken, if one was.',
  })
  return {
    transact: (mode, work) =>
      db.transact(mode, async (tx) => {
        const writes: Promise<unknown>[] = []
        const series = transactionOf(tx as Transaction<Schema, 'readwrite'>, of, writes)
        const result = await work(series)
        // guard: H28 a number that is taken already stores nothing else
        // Firefox would store the rest, were one of them to fail after the commit was asked for.
        await Promise.all(writes)
        tx.commit()
        return result
      }),
    close: () => db.close(),
  }
}

/** @param writes gets those that are under way */
function transactionOf(
  tx: Transaction<Schema, 'readwrite'>,
  of: string,
  writes: Promise<unknown>[],
): SeriesTransaction {
  const [series, numbers, links, entries] = [
    tx.objectStore('series'),
    tx.objectStore('numbers'),
    tx.objectStore('links'),
    tx.objectStore('entries'),
  ]
  const begin = (write: Promise<unknown>) => {
    // One that fails after `work` has thrown is not waited for.
    write.catch(() => {})
    writes.push(write)
  }
  const under = (...key: (string | number)[]) => IDBKeyRange.bound(key, [...key, []])
  const withChain = (chain: string | undefined) => (chain === '' ? '' : of)
  return {
    state: () => series.get(of),
    numberOf: async (key) => bare(await numbers.index('key').get([of, key])),
    numberWith: async (id) => bare(await numbers.index('id').get([of, id])),
    async lastNumber(letter, period) {
      const row =
        period === undefined
          ? await numbers.openCursor(under(of, letter), 'prev')
          : await numbers.index('period').openCursor(under(of, letter, period), 'prev')
      return bare(row?.value)
    },
    numbersAfter: async (letter, place) =>
      (await numbers.getAll(IDBKeyRange.bound([of, letter, place + 1], [of, letter, []]))).map(
        bare,
      ),
    openNumbers: async () => (await numbers.index('open').getAll(under(of))).map(bare),
    linkOf: async (key, chain) => bare(await links.index('key').get([withChain(chain), key])),
    lastLink: async (chain) =>
      bare((await links.openCursor(under(withChain(chain), chain), 'prev'))?.value),
    numbers: async () => (await numbers.getAll(under(of))).map(bare),
    links: async () =>
      [...(await links.getAll(under(''))), ...(await links.getAll(under(of)))].map(bare),
    entries: async (after, most) =>
      (await entries.getAll(IDBKeyRange.bound([of, after + 1], [of, []]), most)).map(bare),
    saveState: (state) => begin(series.put(state, of)),
    addNumber: (row) => begin(numbers.add({ ...row, of })),
    saveNumber: (row) => begin(numbers.put({ ...row, of })),
    addEntry: (entry) => begin(entries.add({ ...entry, of })),
    addLink: (link) => begin(links.add({ ...link, of: withChain(link.chain) })),
  }
}

/** As it was saved. */
function bare<T extends Of | undefined>(stored: T): T extends Of ? Omit<T, 'of'> : undefined {
  if (!stored) return undefined as never
  const { of: _, ...row } = stored
  return row as never
}

const nowhere = (): HiloError =>
  new HiloError(
    'storage-failed',
    'No number was made: a series is stored in IndexedDB, and there is none here. Outside of ' +
      'browsers pass `store: sqliteStore({ database })` of offline-hilo/sqlite.',
  )
