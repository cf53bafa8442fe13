/** What the commands `status` and `raise-floor` say. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type CollectionStatus, type Ledger, SQLITE_FILE } from '../ledger/ledger.js'
import { DEFAULT_DATA_DIR, openLedger } from '../open-ledger.js'
import type { ServeOptions } from '../serve.js'

/** The ledger that is there; a mistyped folder does not become a new one. */
export function openExisting({ dataDir, databaseUrl, collections }: ServeOptions): Promise<Ledger> {
  const folder = dataDir ?? DEFAULT_DATA_DIR
  if (databaseUrl === undefined && !existsSync(join(folder, SQLITE_FILE)))
    throw new Error(
      `There is no ledger in ${folder}. Give the server's --data or --database-url, or start ` +
        'it there once.',
    )
  return openLedger({ dataDir, databaseUrl, collections })
}

const COLUMNS: [title: string, read: (status: CollectionStatus) => string][] = [
  ['database', ({ database }) => database],
  ['collection', ({ collection }) => collection],
  ['max', ({ max }) => String(max)],
  ['outstanding', ({ outstanding }) => String(outstanding)],
  ['free', ({ free }) => String(free)],
  ['grants', ({ grants }) => String(grants)],
  [
    'last claim',
    ({ lastClaim }) => (lastClaim === undefined ? '-' : new Date(lastClaim).toISOString()),
  ],
]

/** A table, one line per collection. */
export function statusTable(statuses: readonly CollectionStatus[]): string {
  if (statuses.length === 0) return 'No collection yet.\n'
  const rows = [
    COLUMNS.map(([title]) => title),
    ...statuses.map((status) => COLUMNS.map(([, read]) => read(status))),
  ]
  const widths = COLUMNS.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)))
  const line = (row: string[]) =>
    row
      .map((cell, i) => (isText(i) ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ')
  return `${rows.map((row) => line(row).trimEnd()).join('\n')}\n`
}

const isText = (column: number): boolean => column < 2

/** @throws Error when the floor cannot be raised there */
export async function raiseFloor(
  ledger: Ledger,
  database: string,
  collection: string,
  floor: number,
): Promise<string> {
  const max = await ledger.raiseFloor({ database, collection, floor })
  if (max !== floor)
    throw new Error(
      `Max stays: '${collection}' of ${database} is at ${max} already. What comes back from up to ` +
        `${floor} is granted no more.`,
    )
  return (
    `'${collection}' of ${database} goes on at ${floor + 1}; numbers that were free below are granted ` +
    `no more.\n`
  )
}
