/**
 * The ledger in one SQLite file, for a single machine. Each step is one transaction; steps of other
 * processes wait for it.
 */
import {
  authorityOf,
  BINDING_PREFIX,
  type Bindings,
  bindingKey,
  changedBindings,
  descriptionOf,
  refuseChanged,
} from '../bound/bindings.js'
import { leaseTokens, newGrantId } from '../ledger/grant-token.js'
import {
  type ClaimOutcome,
  type ClaimRequest,
  type CollectionKey,
  CounterUnusable,
  type Ledger,
  type LedgerLimits,
  type Mark,
  type UpstreamRange,
} from '../ledger/ledger.js'
import { allocate, raise } from '../ledger/number-line.js'
import { roomInSqlite } from '../ledger/room.js'
import {
  type CounterRow,
  cameBack,
  checkedIn,
  countFree,
  distrustQuery,
  FREE_QUERY,
  type GrantRow,
  isPlain,
  isSame,
  isTail,
  mayReturn,
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
  withoutCopied,
} from '../ledger/rows.js'
import { fill, order, redeem, spansFor, type Ticket, unstock } from '../ledger/stock.js'
import { guard, openSqliteFile, prepare, type Sqlite, write } from './file.js'
import { sqliteIdentities } from './identities.js'

/** @param bindings to upstreams only */
export function openSqliteLedger(
  dataDir: string,
  limits: LedgerLimits,
  bindings: Bindings,
): Ledger {
  const { db, secret } = openSqliteFile(dataDir)
  try {
    rememberBindings(db, bindings)
  } catch (error) {
    db.close()
    throw error
  }
  const tokens = leaseTokens(secret)
  const one = <T>(sql: string) => prepare<T>(db, sql)
  const counterOf = one<CounterRow>(
    'SELECT *, tag AS collection FROM hilo_counters WHERE database = ? AND tag = ?',
  )
  const bindingOf = one<{ value: string }>('SELECT value FROM hilo_meta WHERE key = ?')
  const hasRoom = roomInSqlite(db, 'hilo_counters', limits)
  const putCounter = one(
    `INSERT INTO hilo_counters (database, tag, max, peak, floor, free, version) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (database, tag) DO UPDATE SET max = excluded.max, peak = excluded.peak, floor = excluded.floor,
       free = excluded.free, version = excluded.version`,
  )
  const heldOf = one<{ high: number }>(
    'SELECT high FROM hilo_grants WHERE database = ? AND tag = ? AND high >= low ORDER BY ' +
      'low DESC LIMIT 1',
  )
  const grantOfClaim = one<GrantRow>(
    'SELECT *, tag AS collection FROM hilo_grants WHERE database = ? AND tag = ? AND claim = ?',
  )
  const grantOfLease = one<GrantRow>(
    'SELECT *, tag AS collection FROM hilo_grants WHERE id = ? AND rotation = ? AND database = ? AND tag = ?',
  )
  const grantOfReturn = one<GrantRow>(
    'SELECT *, tag AS collection FROM hilo_grants WHERE database = ? AND tag = ? AND low <= ? AND high >= low ' +
      'ORDER BY low DESC LIMIT 1',
  )
  const grantToCheckIn = one<GrantRow>(
    'SELECT *, tag AS collection FROM hilo_grants WHERE id = ? AND database = ?',
  )
  const addGrant = one(
    `INSERT INTO hilo_grants (id, database, tag, claim, low, high, first_high, issued, count, server_tag, granted_at, rotation, check_in)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const putGrant = one(
    'UPDATE hilo_grants SET high = ?, issued = ?, rotation = ?, check_in = ? WHERE id = ?',
  )
  const distrust = one(distrustQuery('?'))
  const prunings = pruneQueries('?').map((sql) => db.prepare(sql))
  const addReturn = one<{ found: number }>(
    `INSERT INTO hilo_returns (database, tag, range_end, range_last, returned_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING RETURNING 1 AS found`,
  )
  const save = ({ database, tag, max, peak, floor, free, version }: CounterRow) =>
    putCounter(database, tag, max, peak, floor, free, version)
  const saveGrant = ({ id, high, issued, rotation, check_in }: GrantRow) =>
    putGrant(high, issued, rotation, check_in, id)

  const authority = (key: CollectionKey) => authorityOf(bindings, key)

  /** Fills the stock of bound collections, and tells what each of their claims may take there. */
  function stockUp(
    claims: readonly ClaimRequest[],
    received: readonly UpstreamRange[] | undefined,
  ): Map<ClaimRequest, Ticket> {
    const open = claims.filter(
      (claim) =>
        authority(claim) === 'upstream' &&
        !(claim.id && grantOfClaim(claim.database, claim.collection, claim.id)),
    )
    const tickets = new Map<ClaimRequest, Ticket>()
    for (const claim of open) {
      if (tickets.has(claim)) continue
      const row = counterOf(claim.database, claim.collection) ?? newCounterRow(claim)
      const same = open.filter((other) => isSame(other, claim))
      const filled = fill(
        order(toCounter(row), same, limits.maxJump),
        same,
        received && spansFor(claim, received),
      )
      save(withCounter(row, filled.counter))
      for (const [i, other] of same.entries()) tickets.set(other, filled.tickets[i]!)
    }
    return tickets
  }

  function claimOne(claim: ClaimRequest, ticket: Ticket | undefined): ClaimOutcome {
    refuseChanged(bindings, claim, bindingOf(BINDING_PREFIX + bindingKey(claim))?.value)
    const row = counterOf(claim.database, claim.collection)
    const answered = claim.id && grantOfClaim(claim.database, claim.collection, claim.id)
    if (row && answered) return repeatOutcome(answered, row.max, tokens)
    if (!row && !hasRoom(claim.database)) return { refused: 'full', max: 0 }
    const counter = row ?? newCounterRow(claim)
    const allocation = ticket
      ? redeem(toCounter(counter), claim, ticket, 'short' as const)
      : allocate(
          toCounter(counter),
          { ...claim, takesFree: claim.id !== undefined },
          limits.maxJump,
        )
    if ('refused' in allocation) return { refused: allocation.refused, max: counter.max }
    const grant = newGrantRow(claim, newGrantId(), allocation)
    const { collection: _, ...columns } = grant
    addGrant(...Object.values(columns))
    save(withCounter(counter, allocation.counter))
    return { grant: toGrant(grant, tokens), isRepeat: false }
  }

  return {
    claim: async (claims, received) =>
      write(db, () => {
        const wishes = claims.map(normalized)
        const tickets = stockUp(wishes, received)
        return wishes.map((wish) => claimOne(wish, tickets.get(wish)))
      }),

    isBound: (key) => authority(key) !== 'ledger',

    withdraw: async ({ end, node, ...key }) =>
      write(db, () => {
        const { database, collection: tag } = normalized(key)
        const row = counterOf(database, tag)
        const piece = row && unstock(toCounter(row), end, node)
        if (!piece) return undefined
        save(withCounter(row, piece.counter))
        return piece.span[0]
      }),

    giveBack: async (request) =>
      write(db, () => {
        const { database, collection: tag, end, last, token: lease, at } = normalized(request)
        const row = counterOf(database, tag)
        const token = lease === undefined ? undefined : tokens.read(lease)
        if (!row || (lease !== undefined && !token)) return 0
        const grant = token
          ? grantOfLease(token.id, token.rotation, database, tag)
          : grantOfReturn(database, tag, end)
        if (!grant || !isTail(grant, { end, last })) return 0
        if (
          !token &&
          (!isPlain(grant) ||
            !addReturn(database, tag, end, last, at) ||
            !mayReturn(row, end, authority(row)))
        )
          return 0
        saveGrant(shortened(token ? grant : withIssued(grant, last + 1), last))
        save(cameBack(row, grant, last, authority(row)))
        return end - last
      }),

    checkIn: async ({ database, id, grants: leases, spent = [] }) =>
      write(db, () => {
        for (const token of spent.flatMap((lease) => tokens.read(lease) ?? [])) {
          const row = grantToCheckIn(token.id, database.toLowerCase())
          if (row?.rotation === token.rotation) saveGrant(withIssued(row, row.high + 1))
        }
        return leases.map(({ token: lease, next }) => {
          const token = tokens.read(lease)
          if (!token) return 'unknown'
          const row = grantToCheckIn(token.id, database.toLowerCase())
          if (provesOlderCopy(row, token.rotation)) distrust(database.toLowerCase())
          const step = checkedIn(row, token.rotation, next, id)
          if (step === 'superseded') {
            if (row) save(withoutCopied(counterOf(row.database, row.tag)!, row))
            return step
          }
          saveGrant(step)
          return toFate(step, tokens)
        })
      }),

    read: async (key) => {
      const { database, collection: tag } = normalized(key)
      return toMark(guard(() => counterOf(database, tag)))
    },

    write: async (writes) =>
      write(db, () => {
        const marks: Mark[] = []
        const rows: CounterRow[] = []
        for (const mark of writes.map(normalized)) {
          const row =
            rows.findLast((other) => isSame(other, mark)) ??
            counterOf(mark.database, mark.collection) ??
            (hasRoom(mark.database) ? newCounterRow(mark) : undefined)
          const step = moved(
            row,
            mark,
            heldOf(mark.database, mark.collection)?.high ?? 0,
            limits,
            authority(mark),
          )
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
        const row = counterOf(key.database, key.collection) ?? newCounterRow(key)
        const raised = withCounter(row, raise(toCounter(row), floor))
        save(raised)
        return raised.max
      }),

    ...sqliteIdentities(db, limits),

    status: async () =>
      guard(() => db.prepare(STATUS_QUERY).all([] as never) as StatusRow[]).map(toStatus),

    countFree: async () =>
      countFree(guard(() => db.prepare(FREE_QUERY).all([] as never) as CounterRow[])),

    prune: async (before) => {
      for (const statement of prunings)
        while (write(db, () => statement.all([before] as never)).length > 0)
          await new Promise((resolve) => setImmediate(resolve))
    },

    ping: async () => {
      guard(() => db.prepare('SELECT value FROM hilo_meta LIMIT 1').all())
    },

    close: async () => {
      db.close()
    },
  }
}

/** @throws CounterUnusable when the ledger remembers another binding */
function rememberBindings(db: Sqlite, bindings: Bindings): void {
  write(db, () => {
    const remembering = prepare<{ value: string }>(db, 'SELECT value FROM hilo_meta WHERE key = ?')
    const remembered = new Map(
      [...bindings.keys()].flatMap((key): [string, string][] => {
        const row = remembering(BINDING_PREFIX + key)
        return row ? [[key, row.value]] : []
      }),
    )
    const problems = changedBindings(bindings, remembered)
    if (problems.length > 0) throw new CounterUnusable(problems.join('\n'))
    const remember = prepare(
      db,
      'INSERT INTO hilo_meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING',
    )
    for (const [key, bound] of bindings) remember(BINDING_PREFIX + key, descriptionOf(bound))
  })
}
