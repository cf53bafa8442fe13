/** The errors of a ledger: it is not there, its database fails, or another authority's counter. */
import type { IdParts, OtherLedger } from './ledger.js'

/** The database did not answer, or gave up. The same request may be sent again later. */
export class LedgerUnavailable extends Error {
  override name = 'LedgerUnavailable'
}

/**
 * The database holds another ledger than this process has used, or an older state of it. Nothing
 * happened.
 */
export class LedgerReplaced extends LedgerUnavailable {
  constructor(why: string) {
    super(
      `The ledger is not the one that this server has used: ${why}. Nothing is granted. Lead the ` +
        'address of the database back to where it led. If that one is lost, raise the floors of ' +
        'this one, and start the server again.',
    )
  }
}

/** A newer server has stored what this one would misread. Nothing happened. */
export class LedgerUpgraded extends LedgerUnavailable {
  override name = 'LedgerUpgraded'

  /** @param known the version that this program knows */
  constructor(what: string, version: string | number, known: number) {
    super(
      `A newer offline-hilo-server has brought ${what} to version ${version}, and this server ` +
        `knows version ${known}. Nothing is granted. Start the newer version here, too.`,
    )
  }
}

const PARTS_OF_IDS: Readonly<Record<keyof IdParts, string>> = {
  nodeTag: 'node tag (--node-tag, HILO_NODE_TAG, nodeTag; of an etcd: its tag)',
  serverPrefix: 'prefix for documents (serverPrefix)',
}

/** This server would make ids that may be another ledger's. Nothing happened. */
export class OtherIds extends LedgerUnavailable {
  override name = 'OtherIds'

  /** @param key of the row where the ledger keeps it */
  constructor(part: keyof IdParts, key: string, kept = 'none', given = 'none') {
    super(
      `The ${PARTS_OF_IDS[part]} of this ledger is ${kept}, and this server has ${given}. ` +
        'Nothing is granted: another ledger may have given the same ids. Start this server with ' +
        `${kept}. If no other ledger ever made ids like this server's, you may change it: stop ` +
        `all servers of this ledger, and change the row '${key}' of hilo_meta.`,
    )
  }
}

/** The advice before a server starts on a backup. */
export const RAISE_FLOORS =
  'raise its floors before a server starts on it: npx offline-hilo-server raise-floor <database> ' +
  '--all --by <numbers>. What was granted after the backup is not in it, and would be granted ' +
  'again.'

/** The advice where the newest state of a ledger is lost. */
export const RESTORE = `restore the newest backup, and ${RAISE_FLOORS}`

const FILE_CHANGES = {
  moved:
    ', or its -wal, was moved, replaced or deleted while the server runs. Until it is back in ' +
    `its place, nothing is granted. If nobody can put it back, stop the server, ${RESTORE}`,
  alone:
    ': its -shm was deleted or replaced while the server runs. By it, processes take turns with ' +
    'the file. So that no other one gives the same numbers, this one grants nothing any more. ' +
    'Nothing is lost, and nothing has to be put back: start the server again.',
  overwritten:
    ' was written over while the server runs: something else stands in its place. Nothing is ' +
    'granted. Stop the server, and move the file, its -wal and its -shm to another folder. Put ' +
    'the ledger back there from the newest backup, or from a later copy of file and -wal ' +
    `together. If it is a backup, ${RAISE_FLOORS}`,
  damaged:
    ' is damaged. Nothing is granted. Stop the server, and keep the file, its -wal and its -shm ' +
    `in another folder. Look after the disk, ${RESTORE}`,
} as const

/** Something happened to the file of the ledger. Whether the last commit is in it is unknown. */
export class LedgerFileChanged extends LedgerUnavailable {
  override name = 'LedgerFileChanged'
  readonly what: keyof typeof FILE_CHANGES

  constructor(what: keyof typeof FILE_CHANGES, file: string, options?: ErrorOptions) {
    super(`${file}${FILE_CHANGES[what]}`, options)
    this.what = what
  }
}

/** A table of the ledger is gone, or is not as the server made it. Nothing happened. */
export class LedgerTablesChanged extends LedgerUnavailable {
  override name = 'LedgerTablesChanged'

  /** @param what is wrong with which table */
  constructor(what: string, options?: ErrorOptions) {
    super(
      `The tables of the ledger are not as offline-hilo-server made them: ${what}. Nothing was ` +
        'changed, and nothing is granted, because the same numbers could be granted again. If a ' +
        'newer offline-hilo-server has upgraded them, start that version here, too. Otherwise ' +
        `put the tables back as they were. If rows of them are lost, ${RESTORE}`,
      options,
    )
  }
}

/** A device holds numbers of another ledger. Nothing happened. */
export class HeldOfAnother extends Error {
  override name = 'HeldOfAnother'
  readonly database: string
  readonly other: OtherLedger

  constructor(database: string, other: OtherLedger) {
    super('The device holds numbers of another ledger.')
    this.database = database
    this.other = other
  }
}

/** No ledger was made yet in the place that was named. */
export class LedgerMissing extends Error {
  override name = 'LedgerMissing'
}

/** Another server, from which the numbers come, did not answer. */
export class UpstreamUnavailable extends LedgerUnavailable {}

/** Another transaction holds a row that the step wanted to lock. Nothing happened. */
export class RowLocked extends LedgerUnavailable {}

/**
 * The counter or upstream of a bound collection is not as configured, went backwards, or does not
 * answer. Nothing was granted.
 */
export class CounterUnusable extends Error {
  override name = 'CounterUnusable'
}

/**
 * The row of a counter went back: it would give numbers that it has given. Nothing was granted, and
 * nothing changed. The message names the numbers and a remedy.
 */
export class CounterWentBack extends Error {
  override name = 'CounterWentBack'
}

/**
 * The message of a failure without its dot. Where several addresses were tried, each has an error
 * of its own, and all their messages are given.
 */
export function reasonOf(error: unknown): string {
  const errors: Error[] = error instanceof AggregateError ? error.errors : [error]
  return errors.map(({ message }) => message.replace(/\.$/, '')).join('; ')
}
