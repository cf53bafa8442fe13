/**
 * What requests cost the server's database: statements and commits, counted on the connection
 * itself. The counts are exact: a request that has become cheaper fails its test, too. Whoever
 * changes a count changes its line here, and says in the commit why.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { CheckInAnswer, NextAnswer, NextManyAnswer } from '../../src/core/wire.js'
import type { LedgerOptions } from '../src/index.js'
import { newFolder } from './folders.js'
import { type Ask, json, newHandler } from './handlers.js'
import { newDatabase } from './postgres.js'
import {
  ATTACKS,
  type Attack,
  checkInOf,
  claimOf,
  OF_THE_STOLEN,
  ROOT,
  times,
  waitedFor,
} from './stolen-token.js'
import { watchPostgres, watchSqlite } from './watched-statements.js'

/** `statements`: without those that begin and end transactions. */
interface Counts {
  statements: number
  commits: number
}

type Table = Record<string, Counts>

const IN_SQLITE = {
  // One statement of it keeps the ledger's node tag.
  'the first claim of a ledger': { statements: 19, commits: 4 },
  'a claim': { statements: 7, commits: 1 },
  'a claim that is sent again': { statements: 4, commits: 1 },
  'a claim that shows two tokens': { statements: 11, commits: 1 },
  'a claim of ten new collections': { statements: 18, commits: 4 },
  'a claim of ten collections': { statements: 7, commits: 1 },
  '64 claims at once': { statements: 7, commits: 1 },
  '64 claims at once, of ten collections': { statements: 7, commits: 1 },
  "a claim of RavenDB's client": { statements: 6, commits: 1 },
  '64 of them at once': { statements: 6, commits: 1 },
  'a check-in': { statements: 7, commits: 1 },
  'a check-in that is sent again': { statements: 7, commits: 1 },
  'a check-in of ten grants': { statements: 7, commits: 1 },
  '400 check-ins at once': { statements: 14, commits: 2 },
  'a give-back': { statements: 9, commits: 1 },
  'a give-back that is sent again': { statements: 6, commits: 1 },
  '400 give-backs at once': { statements: 18, commits: 2 },
  'a give-back of ten collections': { statements: 9, commits: 1 },
  "a give-back of RavenDB's client": { statements: 9, commits: 1 },
  'the first number of an identity': { statements: 15, commits: 4 },
  'a number of an identity': { statements: 5, commits: 1 },
  'a new series': { statements: 21, commits: 4 },
  'a check-in of a series': { statements: 9, commits: 1 },
  'a question after its health': { statements: 3, commits: 1 },
} satisfies Table

const IN_POSTGRES: Record<keyof typeof IN_SQLITE, Counts> = {
  ...IN_SQLITE,
  // A read alone is a transaction, too, which is committed.
  'a new series': { statements: 21, commits: 6 },
  'a question after its health': { statements: 4, commits: 2 },
}

const TEN = Array.from({ length: 10 }, (_, i) => `collection${i}`)

/** @param seen what the database was sent; it is emptied */
async function costsOf(ask: Ask, seen: string[]): Promise<Table> {
  const counts: Table = {}

  async function counted<T>(what: string, act: () => Promise<T>): Promise<T> {
    seen.length = 0
    const answer = await act()
    const commits = seen.filter((text) => text === 'COMMIT').length
    const begins = seen.filter((text) => text.startsWith('BEGIN')).length
    counts[what] = { statements: seen.length - begins - commits, commits }
    return answer
  }

  async function ok<T>(path: string, init?: RequestInit): Promise<T> {
    const { status, body } = await ask(path, init)
    expect(status).toBeLessThan(300)
    return body
  }

  const claimed = async (request: RequestInit) =>
    (await ok<NextManyAnswer>(`${ROOT}/next`, request)).collections as NextAnswer[]
  const claim = async (tags = ['orders'], shown: readonly NextAnswer[] = []) =>
    claimed(claimOf(tags, shown))
  const plainClaim = () => ok<NextAnswer>(`${ROOT}/next?tag=orders`)
  const checkIn = async (request: RequestInit) =>
    (await ok<CheckInAnswer>(`${ROOT}/checkin`, request)).grants as { token: string }[]
  const giveBack = (request: RequestInit) => ok(`${ROOT}/return`, request)

  await counted('the first claim of a ledger', () => claim())
  const repeated = claimOf(['orders'])
  const [first] = await counted('a claim', () => claimed(repeated))
  await counted('a claim that is sent again', () => claimed(repeated))
  const shown = [(await claim())[0]!, (await claim())[0]!]
  await counted('a claim that shows two tokens', () => claim(['orders'], shown))
  await counted('a claim of ten new collections', () => claim(TEN))
  const many = await counted('a claim of ten collections', () => claim(TEN))
  await counted('64 claims at once', () => times(64, () => claim()))
  await counted('64 claims at once, of ten collections', () =>
    times(64, (i) => claim([TEN[i % 10]!])),
  )
  const plain = await counted("a claim of RavenDB's client", plainClaim)
  await counted('64 of them at once', () => times(64, plainClaim))

  const showing = checkInOf([first!])
  const [renewed] = await counted('a check-in', () => checkIn(showing))
  await counted('a check-in that is sent again', () => checkIn(showing))
  await counted('a check-in of ten grants', () => checkIn(checkInOf(many)))
  const grants = (await times(400, () => claim())).flat()
  const tokens = await counted('400 check-ins at once', () =>
    times(400, (i) => checkIn(checkInOf([grants[i]!]))),
  )

  const returned = giveBackOf(first!, renewed!.token)
  await counted('a give-back', () => giveBack(returned))
  await counted('a give-back that is sent again', () => giveBack(returned))
  await counted('400 give-backs at once', () =>
    times(400, (i) => giveBack(giveBackOf(grants[i]!, tokens[i]![0]!.token))),
  )
  const together = await claim(TEN)
  await counted('a give-back of ten collections', () =>
    giveBack(
      json({
        returns: together.map(({ Low: last, High: end, Token: token }, i) => {
          return { tag: TEN[i], end, last, token }
        }),
      }),
    ),
  )
  const last = await plainClaim()
  expect(last.High).toBeGreaterThan(plain.High)
  await counted("a give-back of RavenDB's client", () =>
    ok(`${ROOT}/return?tag=orders&end=${last.High}&last=${last.Low}`, { method: 'PUT' }),
  )

  const nextIdentity = () => ok('/databases/Shop/identity/next?name=bills', { method: 'POST' })
  await counted('the first number of an identity', nextIdentity)
  await counted('a number of an identity', nextIdentity)
  const series = await counted('a new series', () =>
    ok<{ token: string }>(`${ROOT}/series`, json({ claim: randomUUID(), collection: 'receipts' })),
  )
  await counted('a check-in of a series', () =>
    ok(`${ROOT}/series/checkin`, json({ id: randomUUID(), token: series.token, last: 1 })),
  )
  await counted('a question after its health', () => ok('/healthz'))
  return counts
}

/** All but its first number. */
const giveBackOf = ({ Low: last, High: end }: NextAnswer, token: string) =>
  json({ tag: 'orders', end, last, token })

async function handlerOn(options: LedgerOptions): Promise<Ask> {
  return (await newHandler({}, options)).ask
}

afterEach(() => {
  vi.restoreAllMocks()
})

test('on SQLite', async () => {
  const seen: string[] = []
  const dataDir = newFolder()
  const ask = await handlerOn({ dataDir })
  watchSqlite(dataDir, (text) => seen.push(text))
  expect(await costsOf(ask, seen)).toEqual(IN_SQLITE)
})

test('on PostgreSQL', async () => {
  const seen: string[] = []
  const ask = await handlerOn({ databaseUrl: await newDatabase({ hasPath: true }) })
  watchPostgres((text) => seen.push(text))
  expect(await costsOf(ask, seen)).toEqual(IN_POSTGRES)
})

/** In SQLite, commits; in PostgreSQL, where they run beside each other, steps that wait. */
async function waitedIn(attack: Attack, options: LedgerOptions) {
  const { handler, ledger } = await newHandler(OF_THE_STOLEN, options)
  let waited = 0
  if (options.dataDir)
    watchSqlite(options.dataDir, (text) => {
      if (text === 'COMMIT') waited++
    })
  else
    watchPostgres(() => {
      waited = Math.max(waited, ledger.connections()!.waiting)
    })
  const begin = () => {
    waited = 0
  }
  return waitedFor(attack, handler, { begin, of: () => waited })
}

describe('a claim waits for few commits, beside one token that sends', () => {
  test.each(Object.entries(ATTACKS))('%s', async (_, attack) => {
    const inSqlite = await waitedIn(attack, { dataDir: newFolder() })
    expect(inSqlite.alone).toBe(1)
    // One that is under way, its own, and one that was begun for other requests meanwhile.
    expect(inSqlite.beside).toBeLessThanOrEqual(3)
    const databaseUrl = await newDatabase({ hasPath: true })
    const inPostgres = await waitedIn(attack, { databaseUrl })
    expect(inPostgres.alone).toBe(0)
    expect(inPostgres.beside).toBe(0)
  })
})
