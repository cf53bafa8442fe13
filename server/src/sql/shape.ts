/**
 * The shape of a ledger's tables. Guarantees that no server starts on other tables than it made: on
 * those that lack a column, a key or a check, that a crash would empty, or whose trigger, rule or
 * view may turn a statement into another one.
 */
import { LedgerTablesChanged } from '../ledger/ledger-errors.js'
import { META, partsOf, TABLES, type Table } from './tables.js'

/** A table of the ledger's, as the database has it. */
export interface FoundTable {
  name: string
  /** What is more than a plain table, with a way back: `is a view …`. */
  oddities: readonly string[]
  /** As `partsOf` has them. */
  parts: readonly string[]
}

const ALL: readonly Table<never>[] = [META, ...TABLES]

export const LEDGER_TABLES = ALL.map(({ name }) => name)

/** @throws LedgerTablesChanged with all that is wrong */
export function refuseChanged(found: readonly FoundTable[]): void {
  const faults = ALL.flatMap((table) => {
    const { name } = table
    const its = found.find((each) => each.name === name)
    if (!its) return `${name} is not there`
    if (its.oddities.length > 0) return its.oddities.map((oddity) => `${name} ${oddity}`)
    const lacking = partsOf(table).filter(
      (part) => !its.parts.includes(part) && !its.parts.includes(`${part} NOT NULL`),
    )
    return lacking.length > 0 ? `${name} lacks ${lacking.join(', ')}` : []
  })
  // guard: H31 a ledger starts on whole and plain tables
  if (faults.length > 0) throw new LedgerTablesChanged(faults.join('; '))
}

/**
 * The version of the tables; undefined: there is no ledger.
 * @param stored in the ledger's settings
 * @param isEmpty are there no tables but that of the settings?
 * @throws LedgerTablesChanged where the version of tables is lost
 */
export function versionIn(stored: string | undefined, isEmpty: boolean): number | undefined {
  if (stored === undefined && isEmpty) return undefined
  const isKnown = stored !== undefined && /^[1-9]\d{0,8}$/.test(stored)
  // guard: H31 a ledger that lost its version is not taken for none
  if (!isKnown)
    throw new LedgerTablesChanged(
      stored === undefined
        ? "hilo_meta is not there, or has no row 'version'"
        : `hilo_meta has '${stored}' in its row 'version'`,
    )
  return Number(stored)
}

/** For a table, a column or a key that is not there, and a number above 2^53. They have no code. */
const SQLITE_LACKS =
  /^(no such (table|column)|table \S+ has no column|cannot modify|ON CONFLICT clause|Value is too)/

export function refuseLacking(error: unknown): void {
  const message = (error as Error | undefined)?.message ?? ''
  if (SQLITE_LACKS.test(message)) throw new LedgerTablesChanged(message, { cause: error })
}
