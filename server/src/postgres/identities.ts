/** Identities in PostgreSQL. Each step first locks the rows it moves, always in the same order. */
import {
  advanced,
  type IdentityClaimRow,
  type IdentityRow,
  newIdentityRow,
  normalizedIdentity,
  seeded,
  toIdentityClaimRow,
} from '../ledger/identities.js'
import type { IdentityKey, IdentityOutcome, Ledger, LedgerLimits } from '../ledger/ledger.js'
import { withRoomInPostgres } from '../ledger/room.js'
import type { PostgresPool, Query } from './pool.js'

/**
 * What is new and what is there wait in one line: two steps that meet in several rows meet in the
 * same order.
 */
const LOCK = `
  INSERT INTO hilo_identities SELECT * FROM jsonb_populate_recordset(NULL::hilo_identities, $1) ORDER BY database, name
  ON CONFLICT (database, name) DO UPDATE SET value = hilo_identities.value RETURNING *`
const SAVE = `
  UPDATE hilo_identities i SET value = n.value, peak = n.peak
  FROM jsonb_populate_recordset(NULL::hilo_identities, $1) n WHERE i.database = n.database AND i.name = n.name`
const KNOWN =
  'SELECT database, name FROM hilo_identities WHERE (database, name) IN (SELECT * FROM ' +
  'unnest($1::text[], $2::text[]))'
const ANSWERED = `
  SELECT * FROM hilo_identity_claims WHERE (database, name, claim) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`
const ADD_CLAIMS =
  'INSERT INTO hilo_identity_claims SELECT * FROM ' +
  'jsonb_populate_recordset(NULL::hilo_identity_claims, $1)'

export function postgresIdentities(
  pool: PostgresPool,
  limits: LedgerLimits,
): Pick<Ledger, 'nextIdentities' | 'seedIdentity'> {
  /**
   * The rows, locked until the transaction ends; those are missing that the database has no room
   * for.
   */
  async function lock(
    query: Query,
    keys: readonly IdentityKey[],
  ): Promise<Map<string, IdentityRow>> {
    const wanted = [...new Map(keys.map((key) => [textOf(key), key])).values()]
    const known = new Set(
      (await query<IdentityKey>(KNOWN, columns(wanted))).map((key) => textOf(key)),
    )
    const unknown = wanted.filter((key) => !known.has(textOf(key)))
    const added =
      unknown.length > 0 ? await withRoomInPostgres(query, 'hilo_identities', unknown, limits) : []
    const locked = wanted.filter((key) => known.has(textOf(key)) || added.includes(key))
    const rows = await query<IdentityRow>(LOCK, [JSON.stringify(locked.map(newIdentityRow))])
    return new Map(rows.map((row) => [textOf(row), row]))
  }

  return {
    nextIdentities: (claims) =>
      pool.transaction(async (query) => {
        const wishes = claims.map(normalizedIdentity)
        const rows = await lock(query, wishes)
        const repeatable = wishes.filter(({ id }) => id !== undefined)
        const answers = new Map<string, number>()
        if (repeatable.length > 0)
          for (const row of await query<IdentityClaimRow>(ANSWERED, [
            ...columns(repeatable),
            repeatable.map(({ id }) => id),
          ]))
            answers.set(textOf(row, row.claim), row.value)
        const added: IdentityClaimRow[] = []
        const outcomes = wishes.map((wish): IdentityOutcome => {
          const row = rows.get(textOf(wish))
          if (!row) return { refused: 'full', value: 0 }
          const known = wish.id === undefined ? undefined : answers.get(textOf(wish, wish.id))
          if (known !== undefined) return { value: known }
          const next = advanced(row)
          if ('refused' in next) return next
          rows.set(textOf(wish), next)
          if (wish.id !== undefined) {
            answers.set(textOf(wish, wish.id), next.value)
            added.push(toIdentityClaimRow(wish, next.value))
          }
          return { value: next.value }
        })
        if (added.length > 0) await query(ADD_CLAIMS, [JSON.stringify(added)])
        await query(SAVE, [JSON.stringify([...rows.values()])])
        return outcomes
      }),

    seedIdentity: (request) =>
      pool.transaction(async (query) => {
        const seed = normalizedIdentity(request)
        const row = (await lock(query, [seed])).get(textOf(seed))
        if (!row) return { refused: 'full', value: 0 }
        const next = seeded(row, seed, limits)
        if (!('refused' in next)) await query(SAVE, [JSON.stringify([next])])
        return 'refused' in next ? next : { value: next.value }
      }),
  }
}

const columns = (keys: readonly IdentityKey[]) => [
  keys.map(({ database }) => database),
  keys.map(({ name }) => name),
]

/** A key for maps; the separator is in no name. */
const textOf = ({ database, name }: IdentityKey, claim = '') => `${database}\n${name}\n${claim}`
