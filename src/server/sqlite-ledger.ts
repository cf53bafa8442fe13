/** The ledger in one SQLite file, for a single machine. Each step is one transaction; steps of other processes wait for it. */
import { allocate, raise, release } from './counter.js'
import { leaseTokens, newGrantId } from './lease-token.js'
import type { Claim, ClaimOutcome, Ledger, LedgerLimits, Mark } from './ledger.js'
import {
  type CounterRow,
  checkInStep,
  countFree,
  distrustQuery,
  FREE_QUERY,
  type GrantRow,
  isSame,
  isTail,
  moved,
  newCounterRow,
  newGrantRow,
  normalized,
  PRUNE_GRANTS,
  PRUNE_RETURNS,
  provesOlderCopy,
  repeatOutcome,
  rotated,
  STATUS_QUERY,
  type StatusRow,
  toCounter,
  toGrant,
  toMark,
  toStatus,
  withCounter,
} from './rows.js'
import { guard, openSqliteFile, prepare, write } from './sqlite-file.js'
import { sqliteIdentities } from './sqlite-identities.js'

export function openSqliteLedger(dataDir: string, limits: LedgerLimits): Ledger {
  const { db, secret } = openSqliteFile(dataDir)
  const tokens = leaseTokens(secret)
  const one = <T>(sql: string) => prepare<T>(db, sql)
  const counterOf = one<CounterRow>('SELECT * FROM hilo_counters WHERE database = ? AND tag = ?')
  const countCounters = one<{ count: number }>('SELECT count(*) AS count FROM hilo_counters WHERE database = ?')
  const putCounter = one(
    `INSERT INTO hilo_counters (database, tag, max, peak, floor, free, version) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (database, tag) DO UPDATE SET max = excluded.max, peak = excluded.peak, floor = excluded.floor,
       free = excluded.free, version = excluded.version`,
  )
  const heldOf = one<{ held: number | null }>('SELECT max(high) AS held FROM hilo_grants WHERE database = ? AND tag = ? AND high >= low')
  const grantOfClaim = one<GrantRow>('SELECT * FROM hilo_grants WHERE database = ? AND tag = ? AND claim = ?')
  const grantOfLease = one<GrantRow>('SELECT * FROM hilo_grants WHERE id = ? AND rotation = ? AND database = ? AND tag = ?')
  const grantOfReturn = one<GrantRow>(
    'SELECT * FROM hilo_grants WHERE database = ? AND tag = ? AND first_high = ? AND high = first_high AND claim IS NULL AND rotation = 0',
  )
  const grantToCheckIn = one<GrantRow>('SELECT * FROM hilo_grants WHERE id = ? AND database = ?')
  const addGrant = one(
    `INSERT INTO hilo_grants (id, database, tag, claim, low, high, first_high, count, server_tag, granted_at, rotation, check_in)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const shorten = one('UPDATE hilo_grants SET high = ? WHERE id = ?')
  const distrust = one(distrustQuery('?'))
  const rotate = one('UPDATE hilo_grants SET rotation = rotation + 1, check_in = ? WHERE id = ?')
  const addReturn = one<{ found: number }>(
    `INSERT INTO hilo_returns (database, tag, range_end, range_last, returned_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING RETURNING 1 AS found`,
  )
  const save = ({ database, tag, max, peak, floor, free, version }: CounterRow) =>
    putCounter(database, tag, max, peak, floor, free, version)

  function claimOne(claim: Claim): ClaimOutcome {
    const row = counterOf(claim.database, claim.tag)
    const answered = claim.id && grantOfClaim(claim.database, claim.tag, claim.id)
    if (row && answered) return repeatOutcome(answered, row.max, tokens)
    if (!row && countCounters(claim.database)!.count >= limits.collections) return { refused: 'full', max: 0 }
    const counter = row ?? newCounterRow(claim)
    const allocation = allocate(toCounter(counter), { ...claim, takesFree: claim.id !== undefined }, limits.maxJump)
    if ('refused' in allocation) return { refused: allocation.refused, max: counter.max }
    const grant = newGrantRow(claim, newGrantId(), allocation.low, allocation.high)
    addGrant(...Object.values(grant))
    save(withCounter(counter, allocation.counter))
    return { grant: toGrant(grant, tokens), isRepeat: false }
  }

  return {
    claim: async (claims) => write(db, () => claims.map((claim) => claimOne(normalized(claim)))),

    giveBack: async (request) =>
      write(db, () => {
        const { database, tag, end, last, lease, at } = normalized(request)
        const row = counterOf(database, tag)
        const token = lease === undefined ? undefined : tokens.read(lease)
        if (!row || (lease !== undefined && !token)) return 0
        const grant = token ? grantOfLease(token.id, token.rotation, database, tag) : grantOfReturn(database, tag, end)
        if (!grant || !isTail(grant, { end, last })) return 0
        if (!token && (!addReturn(database, tag, end, last, at) || row.max !== end)) return 0
        shorten(last, grant.id)
        save(withCounter(row, release(toCounter(row), last + 1, end)))
        return end - last
      }),

    checkIn: async ({ database, id, leases }) =>
      write(db, () =>
        leases.map((lease) => {
          const token = tokens.read(lease)
          if (!token) return 'unknown'
          const row = grantToCheckIn(token.id, database.toLowerCase())
          if (provesOlderCopy(row, token.rotation)) distrust(database.toLowerCase())
          const step = checkInStep(row, token.rotation, id)
          if (step === 'superseded') return step
          if (step === 'rotate') rotate(id, row!.id)
          return rotated(row!, token.rotation, tokens)
        }),
      ),

    read: async (key) => {
      const { database, tag } = normalized(key)
      return toMark(guard(() => counterOf(database, tag)))
    },

    write: async (writes) =>
      write(db, () => {
        const marks: Mark[] = []
        const rows: CounterRow[] = []
        for (const mark of writes.map(normalized)) {
          const isFull = () => countCounters(mark.database)!.count >= limits.collections
          const row =
            rows.findLast((other) => isSame(other, mark)) ??
            counterOf(mark.database, mark.tag) ??
            (isFull() ? undefined : newCounterRow(mark))
          const step = moved(row, mark, heldOf(mark.database, mark.tag)!.held ?? 0, limits)
          if ('refused' in step) return step
          rows.push(step)
          marks.push(toMark(step))
        }
        for (const row of rows) save(row)
        return marks
      }),

    raiseFloor: async (request) =>
      write(db, () => {
        const { floor, ...key } = normalized(request)
        const row = counterOf(key.database, key.tag) ?? newCounterRow(key)
        const raised = withCounter(row, raise(toCounter(row), floor))
        save(raised)
        return raised.max
      }),

    ...sqliteIdentities(db, limits),

    status: async () => guard(() => db.prepare(STATUS_QUERY).all([] as never) as StatusRow[]).map(toStatus),

    countFree: async () => countFree(guard(() => db.prepare(FREE_QUERY).all([] as never) as CounterRow[])),

    prune: async (before) =>
      write(db, () => {
        for (const sql of [PRUNE_GRANTS, PRUNE_RETURNS]) db.prepare(`${sql} ?`).run([before] as never)
      }),

    ping: async () => {
      guard(() => db.prepare('SELECT value FROM hilo_meta LIMIT 1').all())
    },

    close: async () => {
      db.close()
    },
  }
}
