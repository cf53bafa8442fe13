/**
 * Series of consecutive numbers in the store's SQLite file: the statements behind each step of a
 * transaction. The store begins and commits it, one at a time. Guarantees that a column which
 * somebody changes is changed for every reader: it stands above the record.
 */
import type { Entry, Link, NumberRow, SeriesTransaction } from '../../device/series-store.js'
import type { SqliteRow } from './driver.js'

export const SERIES_TABLES = [
  'CREATE TABLE IF NOT EXISTS offline_hilo_series (of TEXT PRIMARY KEY, record TEXT NOT NULL)',
  `CREATE TABLE IF NOT EXISTS offline_hilo_numbers (
    of TEXT NOT NULL, letter TEXT NOT NULL, place INTEGER NOT NULL, period TEXT NOT NULL,
    number INTEGER NOT NULL, id TEXT NOT NULL, key TEXT, open INTEGER, record TEXT NOT NULL,
    PRIMARY KEY (of, letter, place), UNIQUE (of, letter, period, number), UNIQUE (of, key),
    UNIQUE (of, id))`,
  `CREATE INDEX IF NOT EXISTS offline_hilo_open ON offline_hilo_numbers (of, open)
    WHERE open IS NOT NULL`,
  `CREATE TABLE IF NOT EXISTS offline_hilo_links (
    of TEXT NOT NULL, chain TEXT NOT NULL, at INTEGER NOT NULL, key TEXT, record TEXT NOT NULL,
    PRIMARY KEY (of, chain, at), UNIQUE (of, key))`,
  `CREATE TABLE IF NOT EXISTS offline_hilo_entries (
    of TEXT NOT NULL, place INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (of, place))`,
]

/** It fails where the table has lost its key. */
const SAVE_STATE = `INSERT INTO offline_hilo_series (of, record) VALUES (?, ?)
  ON CONFLICT (of) DO UPDATE SET record = excluded.record`
/** A driver passes texts only, and no key is empty. */
const ADD_NUMBER = `INSERT INTO offline_hilo_numbers
  (of, letter, place, period, number, id, key, open, record)
  VALUES (?, ?, ?, ?, ?, ?, NULLIF(?, ''), NULLIF(?, ''), ?)`
const SAVE_NUMBER = `${ADD_NUMBER} ON CONFLICT (of, letter, place) DO UPDATE
  SET key = excluded.key, open = excluded.open, record = excluded.record`
const ADD_LINK = `INSERT INTO offline_hilo_links (of, chain, at, key, record)
  VALUES (?, ?, ?, NULLIF(?, ''), ?)`
const ADD_ENTRY = 'INSERT INTO offline_hilo_entries (of, place, record) VALUES (?, ?, ?)'
const ENTRIES = `SELECT * FROM offline_hilo_entries WHERE of = ? AND place > ?
  ORDER BY place LIMIT ?`
const NUMBERS = 'SELECT * FROM offline_hilo_numbers WHERE of = ?'
const LINKS = 'SELECT * FROM offline_hilo_links WHERE of = ?'
const LAST_LINK = `${LINKS} AND chain = ? ORDER BY at DESC LIMIT 1`

export type Run = (sql: string, ...parameters: string[]) => Promise<readonly SqliteRow[]>

/**
 * @param of the series of which collection
 * @param ofDevice the part that all collections of its server's database share
 */
export async function seriesSteps<T>(
  run: Run,
  of: string,
  ofDevice: string,
  work: (tx: SeriesTransaction) => Promise<T>,
): Promise<T> {
  const writes: Promise<unknown>[] = []
  const read = async <T>(sql: string, ...parameters: string[]) =>
    (await run(sql, ...parameters)).map((row) => rowOf(row) as T)
  const all = <T>(sql: string, ...parameters: string[]) => read<T>(sql, of, ...parameters)
  const one = async <T>(sql: string, ...parameters: string[]) =>
    (await all<T>(`${sql} LIMIT 1`, ...parameters))[0]
  const withChain = (chain: string | undefined) => (chain === '' ? ofDevice : of)
  const begin = (sql: string, ...parameters: string[]) => {
    const write = run(sql, ...parameters)
    write.catch(() => {})
    writes.push(write)
  }
  const save = (sql: string, row: NumberRow) => {
    const { letter, place, period, number, id, key = '', open = '' } = row
    const columns = [letter, place, period, number, id, key, open].map(String)
    begin(sql, of, ...columns, JSON.stringify(row))
  }
  const tx: SeriesTransaction = {
    state: () => one('SELECT * FROM offline_hilo_series WHERE of = ?'),
    numberOf: (key) => one<NumberRow>(`${NUMBERS} AND key = ?`, key),
    numberWith: (id) => one<NumberRow>(`${NUMBERS} AND id = ?`, id),
    lastNumber: (letter, period) =>
      period === undefined
        ? one<NumberRow>(`${NUMBERS} AND letter = ? ORDER BY place DESC`, letter)
        : one<NumberRow>(
            `${NUMBERS} AND letter = ? AND period = ? ORDER BY number DESC`,
            letter,
            period,
          ),
    numbersAfter: (letter, place) =>
      all<NumberRow>(`${NUMBERS} AND letter = ? AND place > ? ORDER BY place`, letter, `${place}`),
    openNumbers: () => all<NumberRow>(`${NUMBERS} AND open IS NOT NULL ORDER BY letter, place`),
    linkOf: async (key, chain) =>
      (await read<Link>(`${LINKS} AND key = ?`, withChain(chain), key))[0],
    lastLink: async (chain) => (await read<Link>(LAST_LINK, withChain(chain), chain))[0],
    numbers: () => all<NumberRow>(`${NUMBERS} ORDER BY letter, place`),
    links: async () => [
      ...(await read<Link>(`${LINKS} ORDER BY at`, ofDevice)),
      ...(await all<Link>(`${LINKS} ORDER BY chain, at`)),
    ],
    entries: (after, most) => all<Entry>(ENTRIES, `${after}`, `${most}`),
    saveState: (state) => begin(SAVE_STATE, of, JSON.stringify(state)),
    addNumber: (row) => save(ADD_NUMBER, row),
    saveNumber: (row) => save(SAVE_NUMBER, row),
    addEntry: (entry) => begin(ADD_ENTRY, of, `${entry.place}`, JSON.stringify(entry)),
    addLink(link) {
      const { chain, at, key = '' } = link
      begin(ADD_LINK, withChain(chain), chain, `${at}`, key, JSON.stringify(link))
    },
  }
  const result = await work(tx)
  await Promise.all(writes)
  return result
}

const INTEGERS = ['place', 'number', 'open', 'at']

/** A driver may answer with a bigint. */
function rowOf({ of: _, record, ...columns }: SqliteRow): object {
  const row = recordIn(record)
  for (const [name, value] of Object.entries(columns))
    if (value === null) delete row[name]
    else row[name] = INTEGERS.includes(name) ? Number(value) : value
  return row
}

/** Of a record that is no object only the columns are left: the check of the register names it. */
function recordIn(text: unknown): Record<string, unknown> {
  try {
    return { ...JSON.parse(text as string) }
  } catch {
    return {}
  }
}
