/**
 * Where the file of a SQLite ledger is, on the disk. Guarantees that nobody closes it here while
 * SQLite has it open, and tells when SQLite has another file open than the next start will find.
 */
import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { RAISE_FLOORS, RESTORE } from '../ledger/ledger-errors.js'
import { SQLITE_FILE } from '../sql/schema.js'
import type { FileHeader } from './file-header.js'

/**
 * @throws Error where SQLite would begin a new file in the place of a lost one, and remove its log;
 * or where a pipe or a device stands there, which would keep a start waiting for ever
 */
export function refuseLost(folder: string): void {
  const found = statSync(join(folder, SQLITE_FILE), { bigint: true, throwIfNoEntry: false })
  if (found && !found.isFile() && !found.isDirectory())
    throw new Error(
      `${join(folder, SQLITE_FILE)} is no file, but a pipe or a device. Nothing was changed. Put ` +
        'the file of the ledger there, or correct the folder.',
    )
  const sizeOf = (name: string) => statSync(join(folder, name), { throwIfNoEntry: false })?.size
  // The log first: another process may be making both, the file before its log.
  const hasLog = Boolean(sizeOf(`${SQLITE_FILE}-wal`))
  // guard: H20 a log without its file is not begun anew
  if (hasLog && !sizeOf(SQLITE_FILE))
    throw new Error(
      `${join(folder, SQLITE_FILE)} is empty or missing, but ${SQLITE_FILE}-wal has commits of ` +
        `it. Nothing was changed. Put the file back. If it is lost, move the -wal away, ${RESTORE}`,
    )
  // guard: H20 a file that was emptied is not begun anew
  if (found?.size === 0n && wasWritten(found))
    throw new Error(
      `${join(folder, SQLITE_FILE)} is empty, and was not always: a ledger is lost. Nothing was ` +
        `changed. To go on with it, ${RESTORE} If none was ever there, delete the file.`,
    )
}

/**
 * Since it was made: a start that is cut off, or that another process is in, leaves an empty file
 * as it was made. A file system that does not know when that was tells 0, or the last change.
 */
const wasWritten = ({ birthtimeNs, mtimeNs }: BigIntStats) =>
  birthtimeNs > 0n && mtimeNs !== birthtimeNs

/**
 * SQLite would write the log into the file, and neither would be a ledger any more.
 * @throws Error where the file was put beside the log of another one
 */
export function refuseOtherLog(file: string, header: FileHeader | undefined): void {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  // guard: H30 a log is not written into a file that was put in its place
  if (log > 0 && header && !header.hasLog)
    throw new Error(
      `${file} was put in the place of another file, and ${file}-wal has commits of that one. ` +
        'Nothing was changed. Move the -wal and the -shm to another folder, and keep them. The ' +
        `file is a backup: ${RAISE_FLOORS}`,
    )
}

/**
 * With those above it. Node's own `recursive` never ends where the folder above is there and takes
 * none, as in /proc.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  const above = dirname(folder)
  if (above !== folder) makeFolder(above)
  try {
    // Only its owner may read it: the secret of the grant tokens is in the file.
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * SQLite itself would make a file that everybody may read. One that is there is not opened: where
 * this process has it open in SQLite, too, a `close` would drop all locks that SQLite holds on it.
 */
export function createMissing(file: string): void {
  try {
    // guard: H30 nobody opens the file but SQLite
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * SQLite makes a log that has the rights of its file. One that cannot be written to would stay in
 * the way of every start, also once the file can be written to again.
 * @throws Error of the file system, which names the file
 */
export function requireWritable(file: string): void {
  for (const name of [file, `${file}-wal`, `${file}-shm`])
    if (existsSync(name)) accessSync(name, constants.W_OK)
}

/**
 * SQLite names the log of a file after the file. So each name of a file would have a log of its
 * own, and two servers would grant the same numbers.
 */
export function requireOneName(file: string): void {
  const path = realpathSync(file)
  const found = statSync(path)
  // guard: H30 a file with two names has no ledger
  if (found.isFile() && found.nlink > 1)
    throw new Error(
      `${path} has ${found.nlink} names on its disk, as hard links of cp --link or rsync ` +
        '--link-dest. Under each name it would be another ledger, with the same numbers. ' +
        'Nothing was changed. Keep one name: replace the others by copies that the command ' +
        'backup makes.',
    )
  // guard: H30 a file that is mounted alone has no ledger
  if (found.dev !== statSync(dirname(path)).dev)
    throw new Error(
      `${path} is mounted alone, without its folder. Its newest commits would be in a file ` +
        'beside it that is not mounted. Nothing was changed. Mount the folder.',
    )
}

/** The identity of a file, under any name. */
export function identityOf(file: string): string {
  const { dev, ino } = statSync(file, { bigint: true })
  return `${dev}/${ino}`
}

/**
 * SQLite syncs the file, not the entries that lead to it: a power cut could lose a new folder with
 * everything in it.
 */
export function syncEntries(folder: string): void {
  for (const parent of [folder, dirname(folder)]) syncFolder(parent)
}

export function syncFolder(folder: string): void {
  // Windows cannot open a folder; NTFS journals its entries.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
