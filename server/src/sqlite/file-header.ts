/**
 * The first bytes of a ledger's file, as they are on the disk: by them the server notices that
 * somebody writes over the file in its place, as `cp backup hilo.db` does. SQLite would go on with
 * the pages in its memory and in its log, and write them into the other file.
 */
import { closeSync, openSync, readSync } from 'node:fs'

/** https://sqlite.org/fileformat.html#the_database_header */
export interface FileHeader {
  /** The file has a write-ahead log. A copy that `backup` makes has none yet. */
  hasLog: boolean
  /** Grows when the file gets a page, or gives one back. */
  changes: number
  /** One more at each start. */
  starts: number
  /** Drawn for each ledger. */
  ledger: number
}

export interface HeaderReader {
  /** Undefined: it is no file of SQLite. */
  read(): FileHeader | undefined
  /** Not before SQLite has closed the file: its locks would go with this handle. */
  close(): void
}

const LENGTH = 100
const MAGIC = 'SQLite format 3\0'

/** @param file that SQLite does not have open in this process */
export function headerReader(file: string): HeaderReader {
  const handle = openSync(file, 'r')
  const bytes = Buffer.alloc(LENGTH)
  return {
    read() {
      const isWhole = readSync(handle, bytes, 0, LENGTH, 0) === LENGTH
      if (!isWhole || bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return undefined
      return {
        hasLog: bytes[18] === 2 && bytes[19] === 2,
        changes: bytes.readUInt32BE(24),
        starts: bytes.readUInt32BE(60),
        ledger: bytes.readUInt32BE(68),
      }
    },
    close: () => closeSync(handle),
  }
}

/** Can the file have come from the other state by commits alone? */
export const isLater = (found: FileHeader | undefined, before: FileHeader): found is FileHeader =>
  found?.hasLog === true &&
  found.ledger === before.ledger &&
  found.starts >= before.starts &&
  found.changes >= before.changes
