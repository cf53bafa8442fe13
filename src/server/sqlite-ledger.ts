/** The ledger in one SQLite file, for a single machine. Each step is one transaction; steps of other processes wait for it. */
import { allocate, raise, release } from './counter.js'
import { leaseTokens, newGrantId } from './lease-token.js'
import type { Claim, ClaimOutcome, Ledger, LedgerLimits, Mark } from './ledger.js'
import {
  allowed,
  type CounterRow,
  checkedIn,
  countFree,
  distrustQuery,
  FREE_QUERY,
  type GrantRow,
  isPlain,
  isSame,
  isTail,
  moved,
  newCounterRow,
  newGrantRow,
  normalized,
  provesOlderCopy,
  pruneQueries,
  repeatOutcome,
  STATUS_QUERY,
  type StatusRow,
  shortened,
  toCounter,
  toFate,
  toGrant,
  toMark,
  toStatus,
  withCounter,
  withIssued,
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
  const heldOf = one<{ high: number }>(
    'SELECT high FROM hilo_grants WHERE database = ? AND tag = ? AND high >= low ORDER BY low DESC LIMIT 1',
  )
  const outstandingOf = one<{ outstanding: number }>(
    'SELECT coalesce(sum(high - issued), 0) AS outstanding FROM hilo_grants WHERE holder = ? AND database = ? AND tag = ?',
  )
  const grantOfClaim = one<GrantRow>('SELECT * FROM hilo_grants WHERE database = ? AND tag = ? AND claim = ?')
  const grantOfLease = one<GrantRow>('SELECT * FROM hilo_grants WHERE id = ? AND rotation = ? AND database = ? AND tag = ?')
  const grantOfReturn = one<GrantRow>(
    'SELECT * FROM hilo_grants WHERE database = ? AND tag = ? AND low <= ? AND high >= low ORDER BY low DESC LIMIT 1',
  )
  const grantToCheckIn = one<GrantRow>('SELECT * FROM hilo_grants WHERE id = ? AND database = ?')
  const addGrant = one(
    `INSERT INTO hilo_grants (id, database, tag, claim, low, high, first_high, issued, count, server_tag, granted_at, rotation, check_in, holder)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const putGrant = one('UPDATE hilo_grants SET high = ?, issued = ?, rotation = ?, check_in = ?, holder = ? WHERE id = ?')
  const distrust = one(distrustQuery('?'))
  const prunings = pruneQueries('?').map((sql) => db.prepare(sql))
  const addReturn = one<{ found: number }>(
    `INSERT INTO hilo_returns (database, tag, range_end, range_last, returned_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING RETURNING 1 AS found`,
  )
  const save = ({ database, tag, max, peak, floor, free, version }: CounterRow) =>
    putCounter(database, tag, max, peak, floor, free, version)
  const saveGrant = ({ id, high, issued, rotation, check_in, holder }: GrantRow) => putGrant(high, issued, rotation, check_in, holder, id)

  function claimOne(claim: Claim): ClaimOutcome {
    const row = counterOf(claim.database, claim.tag)
    const answered = claim.id && grantOfClaim(claim.database, claim.tag, claim.id)
    if (row && answered) return repeatOutcome(answered, row.max, tokens)
    if (!row && countCounters(claim.database)!.count >= limits.collections) return { refused: 'full', max: 0 }
    const counter = row ?? newCounterRow(claim)
    const holder = claim.holder ? tokens.digest(claim.holder.name) : null
    const count = allowed(claim, holder === null ? 0 : outstandingOf(holder, claim.database, claim.tag)!.outstanding)
    if (count === 0) return { refused: 'holder', max: counter.max }
    const allocation = allocate(toCounter(counter), { ...claim, count, takesFree: claim.id !== undefined }, limits.maxJump)
    if ('refused' in allocation) return { refused: allocation.refused, max: counter.max }
    const grant = newGrantRow(claim, newGrantId(), allocation, holder)
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
        if (!token && (!isPlain(grant) || !addReturn(database, tag, end, last, at) || row.max !== end)) return 0
        saveGrant(shortened(token ? grant : withIssued(grant, last + 1), last))
        save(withCounter(row, release(toCounter(row), last + 1, end)))
        return end - last
      }),

    checkIn: async ({ database, id, leases, spent = [] }) =>
      write(db, () => {
        for (const token of spent.flatMap((lease) => tokens.read(lease) ?? [])) {
          const row = grantToCheckIn(token.id, database.toLowerCase())
          if (row?.rotation === token.rotation) saveGrant(withIssued(row, row.high + 1))
        }
        return leases.map(({ lease, next }) => {
          const token = tokens.read(lease)
          if (!token) return 'unknown'
          const row = grantToCheckIn(token.id, database.toLowerCase())
          if (provesOlderCopy(row, token.rotation)) distrust(database.toLowerCase())
          const step = checkedIn(row, token.rotation, next, id)
          if (step === 'superseded') return step
          saveGrant(step)
          return toFate(step, tokens)
        })
      }),

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
          const step = moved(row, mark, heldOf(mark.database, mark.tag)?.high ?? 0, limits)
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

    prune: async (before) => {
      for (const statement of prunings)
        while (write(db, () => statement.all([before] as never)).length > 0) await new Promise((resolve) => setImmediate(resolve))
    },

    ping: async () => {
      guard(() => db.prepare('SELECT value FROM hilo_meta LIMIT 1').all())
    },

    close: async () => {
      db.close()
    },
  }
}
