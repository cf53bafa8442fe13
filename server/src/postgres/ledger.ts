/**
 * The ledger in PostgreSQL, for several servers. Each step first locks the rows of the collections
 * it touches, always in the same order; so steps on one collection follow each other, and each
 * reads what the one before has committed.
 */
import { authorityOf, type Bindings, refuseChanged } from '../bound/bindings.js'
import { postgresCounters, startBindings } from '../bound/orm/orm-counters.js'
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
import { type Room, withRoomInPostgres } from '../ledger/room.js'
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
import { postgresIdentities } from './identities.js'
import { migratePostgres } from './migrations.js'
import { openPool, type Query, type Write } from './pool.js'
import * as sql from './statements.js'

export async function openPostgresLedger(
  databaseUrl: string,
  limits: LedgerLimits,
  bindings: Bindings,
): Promise<Ledger> {
  const pool = openPool(databaseUrl)
  const start = async () => {
    const secret = await migratePostgres(pool)
    await startBindings(pool, bindings)
    return secret
  }
  const secret = await start().catch(async (error) => {
    await pool.close()
    throw error
  })
  const tokens = leaseTokens(secret)
  const ormCounters = postgresCounters(bindings)
  const authority = (key: CollectionKey) => authorityOf(bindings, key)
  const isBound = (key: CollectionKey) => authority(key) !== 'ledger'

  /**
   * Runs `step` with the locked rows of `keys`, of which those are missing that the database has no
   * room for. What else it needs is read on the same way to the database, as it is once the rows
   * are locked.
   */
  async function withCounters<R, T>(
    keys: readonly CollectionKey[],
    room: Room,
    read: (query: Query) => Promise<R>,
    step: (counters: Map<string, CounterRow>, found: R, query: Query, write: Write) => Promise<T>,
  ): Promise<T> {
    const lockAndRead = (query: Query) =>
      Promise.all([lockCounters(query, keys, bindings), read(query)])
    const first = await pool.transaction(async (query, write) => {
      const [counters, found] = await lockAndRead(query)
      const unknown = keys.filter((key) => !counters.has(textOf(key)))
      return unknown.length > 0 ? { unknown } : { done: await step(counters, found, query, write) }
    })
    if ('done' in first) return first.done
    await pool.transaction((query) => addCounters(query, first.unknown, room))
    return pool.transaction(async (query, write) =>
      step(...(await lockAndRead(query)), query, write),
    )
  }

  /** Grants of claims that were answered before. */
  async function readAnswered(
    query: Query,
    claims: readonly ClaimRequest[],
  ): Promise<Map<string, GrantRow>> {
    const repeatable = claims.filter(({ id }) => id !== undefined)
    if (repeatable.length === 0) return new Map()
    const rows = await query<GrantRow>(sql.GRANTS_OF_CLAIMS, [
      ...columns(repeatable),
      repeatable.map(({ id }) => id),
    ])
    return new Map(rows.map((row) => [textOf(row, row.claim), row]))
  }

  /** Fills the stock of a bound collection, and tells what each of its claims may take there. */
  async function stockUp(
    query: Query,
    row: CounterRow,
    claims: readonly ClaimRequest[],
    received: readonly UpstreamRange[] | undefined,
  ): Promise<{ row: CounterRow; tickets: Ticket[] }> {
    const { counter, ...rest } = order(toCounter(row), claims, limits.maxJump)
    let fresh = received && spansFor(row, received)
    if (authority(row) === 'counter') {
      if (counter.peak > row.peak) await ormCounters.raise(query, row, counter.peak)
      fresh = rest.missing > 0 ? await ormCounters.take(query, row, counter, rest.missing) : []
    }
    const filled = fill({ counter, ...rest }, claims, fresh)
    return { row: withCounter(row, filled.counter), tickets: filled.tickets }
  }

  async function claimAll(
    counters: Map<string, CounterRow>,
    answered: Map<string, GrantRow>,
    claims: readonly ClaimRequest[],
    received: readonly UpstreamRange[] | undefined,
    query: Query,
    write: Write,
  ): Promise<ClaimOutcome[]> {
    const tickets = new Map<ClaimRequest, Ticket>()
    for (const key of distinct(claims).filter(isBound)) {
      const row = counters.get(textOf(key))
      const open = claims.filter(
        (claim) => isSame(claim, key) && !answered.has(textOf(claim, claim.id ?? null)),
      )
      if (!row || open.length === 0) continue
      const stocked = await stockUp(query, row, open, received)
      counters.set(textOf(key), stocked.row)
      for (const [i, claim] of open.entries()) tickets.set(claim, stocked.tickets[i]!)
    }

    const added: GrantRow[] = []
    const outcomes = claims.map((claim): ClaimOutcome => {
      const counter = counters.get(textOf(claim))
      if (!counter) return { refused: 'full', max: 0 }
      const known = claim.id === undefined ? undefined : answered.get(textOf(claim, claim.id))
      if (known) return repeatOutcome(known, counter.max, tokens)
      const ticket = tickets.get(claim)
      const allocation = ticket
        ? redeem(
            toCounter(counter),
            claim,
            ticket,
            authority(claim) === 'counter' ? 'overflow' : 'short',
          )
        : allocate(
            toCounter(counter),
            { ...claim, takesFree: claim.id !== undefined },
            limits.maxJump,
          )
      if ('refused' in allocation) return { refused: allocation.refused, max: counter.max }
      const grant = newGrantRow(claim, newGrantId(), allocation)
      added.push(grant)
      if (claim.id !== undefined) answered.set(textOf(claim, claim.id), grant)
      counters.set(textOf(claim), withCounter(counter, allocation.counter))
      return { grant: toGrant(grant, tokens), isRepeat: false }
    })
    if (added.length > 0) write(sql.ADD_GRANTS, [JSON.stringify(added)])
    if (added.length > 0 || tickets.size > 0)
      write(sql.SAVE_COUNTERS, [JSON.stringify([...counters.values()])])
    return outcomes
  }

  return {
    claim: (claims, received) => {
      const wishes = claims.map(normalized)
      return withCounters(
        distinct(wishes),
        limits,
        (query) => readAnswered(query, wishes),
        (counters, found, query, write) =>
          claimAll(counters, found, wishes, received, query, write),
      )
    },

    isBound,

    withdraw: ({ end, node, ...key }) =>
      pool.transaction(async (query) => {
        const { database, collection: tag } = normalized(key)
        const [row] = await query<CounterRow>(sql.LOCK_COUNTERS, [[database], [tag]])
        const piece = row && unstock(toCounter(row), end, node)
        if (!piece) return undefined
        await query(sql.SAVE_COUNTERS, [JSON.stringify([withCounter(row, piece.counter)])])
        return piece.span[0]
      }),

    giveBack: (request) =>
      pool.transaction(async (query, write) => {
        const { database, collection: tag, end, last, token: lease, at } = normalized(request)
        const token = lease === undefined ? undefined : tokens.read(lease)
        if (lease !== undefined && !token) return 0
        const [row] = await query<CounterRow>(sql.LOCK_COUNTERS, [[database], [tag]])
        if (!row) return 0
        const [grant] = token
          ? await query<GrantRow>(sql.GRANTS, [[token.id]])
          : await query<GrantRow>(sql.GRANT_OF_RETURN, [database, tag, end])
        if (!grant || !isSame(grant, row) || !isTail(grant, { end, last })) return 0
        if (token && token.rotation !== grant.rotation) return 0
        if (!token) {
          if (!isPlain(grant)) return 0
          const isFirst = (await query(sql.ADD_RETURN, [database, tag, end, last, at])).length > 0
          if (!isFirst || !mayReturn(row, end, authority(row))) return 0
        }
        write(sql.SAVE_GRANTS, [
          JSON.stringify([shortened(token ? grant : withIssued(grant, last + 1), last)]),
        ])
        write(sql.SAVE_COUNTERS, [JSON.stringify([cameBack(row, grant, last, authority(row))])])
        return end - last
      }),

    checkIn: ({ database, id, grants: leases, spent = [] }) =>
      pool.transaction(async (query, write) => {
        const shown = leases.map(({ token: lease, next }) => ({ token: tokens.read(lease), next }))
        const used = spent.flatMap((lease) => tokens.read(lease) ?? [])
        const rows = await query<GrantRow>(sql.GRANTS, [
          [...shown.flatMap(({ token }) => token ?? []), ...used].map((token) => token.id),
        ])
        const grants = new Map(
          rows.filter((row) => row.database === database.toLowerCase()).map((row) => [row.id, row]),
        )
        for (const { id, rotation } of used) {
          const row = grants.get(id)
          if (row?.rotation === rotation) grants.set(id, withIssued(row, row.high + 1))
        }
        let isOlderCopy = false
        const copied: GrantRow[] = []
        const fates = shown.map(({ token, next }) => {
          if (!token) return 'unknown'
          const row = grants.get(token.id)
          isOlderCopy ||= provesOlderCopy(row, token.rotation)
          const step = checkedIn(row, token.rotation, next, id)
          if (step === 'superseded') {
            if (row) copied.push(row)
            return step
          }
          grants.set(token.id, step)
          return toFate(step, tokens)
        })
        if (isOlderCopy) write(distrustQuery('$1'), [database.toLowerCase()])
        if (copied.length > 0) {
          const counters = await lockCounters(query, distinct(copied), bindings)
          for (const row of copied)
            counters.set(textOf(row), withoutCopied(counters.get(textOf(row))!, row))
          write(sql.SAVE_COUNTERS, [JSON.stringify([...counters.values()])])
        }
        write(sql.SAVE_GRANTS, [JSON.stringify([...grants.values()])])
        return fates
      }),

    read: async (key) => {
      const { database, collection: tag } = normalized(key)
      const [row] = await pool.query<CounterRow>(sql.COUNTER, [database, tag])
      return toMark(row)
    },

    write: (writes) => {
      const wishes = writes.map(normalized)
      const keys = distinct(wishes)
      const readHeld = (query: Query) =>
        query<CollectionKey & { high: number }>(sql.HELD, columns(keys))
      return withCounters(keys, limits, readHeld, async (counters, rows, _, write) => {
        const held = new Map(rows.map((row) => [textOf(row), row.high]))
        const marks: Mark[] = []
        for (const wish of wishes) {
          const step = moved(
            counters.get(textOf(wish)),
            wish,
            held.get(textOf(wish)) ?? 0,
            limits,
            authority(wish),
          )
          if ('refused' in step) return step
          counters.set(textOf(wish), step)
          marks.push(toMark(step))
        }
        write(sql.SAVE_COUNTERS, [JSON.stringify([...counters.values()])])
        return marks
      })
    },

    raiseFloor: (request) => {
      const { floor, ...key } = normalized(request)
      const readNothing = async () => undefined
      return withCounters([key], NO_LIMITS, readNothing, async (counters, _, query, write) => {
        const row = counters.get(textOf(key))!
        const raised = withCounter(row, raise(toCounter(row), floor))
        if (authority(key) === 'counter' && !(await ormCounters.raise(query, key, floor)))
          throw new CounterUnusable(
            `No block of '${key.collection}' is left above ${floor}: the id column ends before ` +
              '(maxId). Nothing was changed.',
          )
        write(sql.SAVE_COUNTERS, [JSON.stringify([raised])])
        return raised.max
      })
    },

    ...postgresIdentities(pool, limits),

    status: async () => (await pool.query<StatusRow>(STATUS_QUERY)).map(toStatus),

    countFree: async () => countFree(await pool.query<CounterRow>(FREE_QUERY)),

    prune: async (before) => {
      for (const statement of pruneQueries('$1'))
        while ((await pool.query(statement, [before])).length > 0);
    },

    ping: async () => {
      await pool.query('SELECT 1')
    },

    close: () => pool.close(),
  }
}

/**
 * New counters are added in a step of their own, while the database has room for them: who waits
 * here for another's new row holds nothing yet.
 */
async function addCounters(query: Query, keys: CollectionKey[], limits: Room): Promise<void> {
  const added = await withRoomInPostgres(query, 'hilo_counters', keys, limits)
  await query(sql.ADD_COUNTERS, [JSON.stringify(added.map(newCounterRow))])
}

const NO_LIMITS: Room = {
  collections: Number.POSITIVE_INFINITY,
  databases: Number.POSITIVE_INFINITY,
}

/** The counters' rows, locked until the transaction ends. */
async function lockCounters(
  query: Query,
  keys: readonly CollectionKey[],
  bindings: Bindings,
): Promise<Map<string, CounterRow>> {
  const rows = await query<CounterRow & { binding: string | null }>(
    sql.LOCK_COUNTERS,
    columns(keys),
  )
  for (const row of rows) refuseChanged(bindings, row, row.binding)
  return new Map(rows.map((row) => [textOf(row), row]))
}

const distinct = <K extends CollectionKey>(keys: readonly K[]): K[] => [
  ...new Map(keys.map((key) => [textOf(key), key])).values(),
]
const columns = (keys: readonly CollectionKey[]) => [
  keys.map(({ database }) => database),
  keys.map(({ collection: tag }) => tag),
]

/** A key for maps; the separator cannot be in a database's name or a tag. */
const textOf = ({ database, collection: tag }: CollectionKey, which: string | null = '') =>
  `${database}\n${tag}\n${which}`
