/**
 * Adds new grants, each only where no other grant holds a number that has to be free. The statement
 * that adds a grant looks for such another one. If there is one, it writes no `high`, and the
 * column refuses the row. So the look costs no statement of its own, and the commit waits for no
 * answer.
 */
import type { CounterWentBack } from '../ledger/ledger-errors.js'
import { MAX_NUMBER } from '../ledger/number-line.js'
import { grantedBefore, meets, type NewGrant } from '../ledger/overlap.js'
import type { GrantRow } from '../ledger/rows.js'
import {
  adding,
  type Dialect,
  finding,
  givenRows,
  type SqlConnection,
  statement,
} from './statements.js'
import { decoded, GRANTS, nameIn } from './tables.js'

/** A new grant, besides its row. */
const MORE = [
  ['clearTo', 'BIGINT'],
  ['node', 'TEXT'],
] as const

const CLEAR_TO = `coalesce(n."clearTo", ${MAX_NUMBER})`

/** Of the collection of a new grant `n`. */
const ofCollection = (dialect: Dialect): string =>
  `FROM ${nameIn(dialect, GRANTS)} g
    WHERE g.database = n."database" AND g.collection = n."collection"`

/**
 * Of the grants that hold numbers, the one that begins nearest to a number, or at it, from below.
 * They do not overlap, so no other one that begins there reaches higher.
 */
const nearest = (dialect: Dialect, what: string, number: string | number): string =>
  `(SELECT g.${what} ${ofCollection(dialect)} AND g.high >= g.low AND g.low <= ${number}
    AND g.server_tag = coalesce(n."node", g.server_tag) ORDER BY g.low DESC LIMIT 1)`

/** Adds the grants that are given. */
export const granting = (dialect: Dialect): string =>
  adding(dialect, GRANTS, {
    more: MORE,
    instead: {
      // guard: H20 no number is granted that another grant holds
      high:
        `CASE WHEN ${nearest(dialect, 'high', CLEAR_TO)} >= n."low" THEN NULL ELSE ` +
        'n."high" END',
    },
  })

interface Around {
  /** Ids of grants. Null: there is none. */
  nearest: string | null
  newest: string | null
  /** That a grant holds. */
  highest: number | null
}

/** Why these grants could not be added. Undefined: not because of other grants. */
export async function whyNotAdded(
  { dialect, read }: Pick<SqlConnection, 'dialect' | 'read'>,
  grants: readonly NewGrant[],
): Promise<CounterWentBack | undefined> {
  if (grants.length === 0) return undefined
  const around = await read<Around>(
    statement(
      `SELECT ${nearest(dialect, 'id', CLEAR_TO)} AS "nearest",
         (SELECT g.id ${ofCollection(dialect)} ORDER BY g.serial DESC LIMIT 1) AS "newest",
         ${nearest(dialect, 'high', MAX_NUMBER)} AS "highest"
       FROM ${givenRows(dialect, GRANTS, MORE)}`,
      ...dialect.given(grants),
    ),
  )
  const ids = new Set(around.flatMap(({ nearest, newest }) => [nearest, newest]))
  const found = await read(
    statement(finding(dialect, GRANTS, ['id']), ...dialect.given([...ids].map((id) => ({ id })))),
  )
  const rows = new Map(decoded<GrantRow>(GRANTS, found).map((row) => [row.id, row]))
  for (const [i, grant] of grants.entries()) {
    const { nearest, newest, highest } = around[i]!
    const last = rows.get(newest ?? '')
    const other = [rows.get(nearest ?? ''), last].find((row) => row && meets(grant, row))
    if (other) {
      const { low, firstHigh: high } = other
      return grantedBefore(grant, grant, { low, high }, Math.max(highest ?? 0, last!.firstHigh))
    }
  }
  return undefined
}
