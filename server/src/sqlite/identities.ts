/** Identities in the SQLite file. */
import {
  advanced,
  type IdentityClaimRow,
  type IdentityRow,
  newIdentityRow,
  normalizedIdentity,
  seeded,
} from '../ledger/identities.js'
import type {
  IdentityClaim,
  IdentityKey,
  IdentityOutcome,
  Ledger,
  LedgerLimits,
} from '../ledger/ledger.js'
import { roomInSqlite } from '../ledger/room.js'
import { prepare, type Sqlite, write } from './file.js'

export function sqliteIdentities(
  db: Sqlite,
  limits: LedgerLimits,
): Pick<Ledger, 'nextIdentities' | 'seedIdentity'> {
  const identityOf = prepare<IdentityRow>(
    db,
    'SELECT * FROM hilo_identities WHERE database = ? AND name = ?',
  )
  const hasRoom = roomInSqlite(db, 'hilo_identities', limits)
  const put = prepare(
    db,
    `INSERT INTO hilo_identities (database, name, value, peak) VALUES (?, ?, ?, ?)
     ON CONFLICT (database, name) DO UPDATE SET value = excluded.value, peak = excluded.peak`,
  )
  const answered = prepare<IdentityClaimRow>(
    db,
    'SELECT * FROM hilo_identity_claims WHERE database = ? AND name = ? AND claim = ?',
  )
  const addClaim = prepare(
    db,
    'INSERT INTO hilo_identity_claims (database, name, claim, value, claimed_at) VALUES (?, ' +
      '?, ?, ?, ?)',
  )

  function change(
    key: IdentityKey,
    step: (row: IdentityRow) => IdentityRow | Extract<IdentityOutcome, { refused: string }>,
  ): IdentityOutcome {
    const row = identityOf(key.database, key.name)
    if (!row && !hasRoom(key.database)) return { refused: 'full', value: 0 }
    const next = step(row ?? newIdentityRow(key))
    if ('refused' in next) return next
    put(next.database, next.name, next.value, next.peak)
    return { value: next.value }
  }

  function nextOf(claim: IdentityClaim): IdentityOutcome {
    const { database, name, id, at } = claim
    const known = id === undefined ? undefined : answered(database, name, id)
    if (known) return { value: known.value }
    const outcome = change(claim, advanced)
    if (id !== undefined && !('refused' in outcome)) addClaim(database, name, id, outcome.value, at)
    return outcome
  }

  return {
    nextIdentities: async (claims) =>
      write(db, () => claims.map((claim) => nextOf(normalizedIdentity(claim)))),
    seedIdentity: async (request) =>
      write(db, () => {
        const seed = normalizedIdentity(request)
        return change(seed, (row) => seeded(row, seed, limits))
      }),
  }
}
