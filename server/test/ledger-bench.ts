/**
 * What the ledger's tests share: one ledger, a new database per test, short ways to claim and give
 * back.
 */
import { expect, test } from 'vitest'
import { grantTokens, newGrantId, type TokenContent } from '../src/ledger/grant-token.js'
import type {
  CheckInResult,
  ClaimOutcome,
  ClaimRequest,
  Grant,
  Ledger,
  LedgerLimits,
} from '../src/ledger/ledger.js'
import { LedgerUnavailable } from '../src/ledger/ledger-errors.js'
import { type Table, writeSpans } from '../src/sql/tables.js'

/** Opens a ledger on the same storage each time. */
type OpenLedger = (limits?: Partial<LedgerLimits>) => Promise<Ledger>

export interface Storage {
  open: OpenLedger
  /** Of the grant tokens, as it is stored. */
  secret(): Promise<string>
  /** Changes a row behind the ledger's back. Undefined: it is gone. */
  edit(table: Table<never>, key: object, change: object | undefined): Promise<void>
}

/** The statement that edits a row. Its texts are those of tests. */
export function editing(...[table, key, change]: Parameters<Storage['edit']>): string {
  const written = (row: object, between: string) =>
    Object.entries(row)
      .map(([field, value]) => {
        const [column, type] = (table.columns as Record<string, readonly string[]>)[field]!
        const text = type === 'spans' ? writeSpans(value as never) : value
        return `${column} = ${typeof text === 'string' ? `'${text}'` : text}`
      })
      .join(between)
  const where = `WHERE ${written(key, ' AND ')}`
  return change
    ? `UPDATE ${table.name} SET ${written(change, ', ')} ${where}`
    : `DELETE FROM ${table.name} ${where}`
}

export interface Bench extends Storage {
  ledger: Ledger
  database: string
  /** 32 numbers of `orders`, unless changed; without a claim id. */
  wish(change?: Partial<ClaimRequest>): ClaimRequest
  claim(change?: Partial<ClaimRequest>): Promise<ClaimOutcome>
  /** A claim with an id. */
  take(change?: Partial<ClaimRequest>): Promise<Grant>
  /** A claim without one, as RavenDB's clients send it. */
  takePlain(change?: Partial<ClaimRequest>): Promise<Grant>
  giveBack(
    grant: Pick<Grant, 'token'>,
    end: number,
    last: number,
    collection?: string,
  ): Promise<number>
  giveBackPlain(end: number, last: number): Promise<number>
  /** Without a word of what was issued. */
  checkIn(id: string, ...tokens: string[]): Promise<CheckInResult[]>
  /** Of `orders`. */
  max(): Promise<number>
  /**
   * A token of the ledger's own that it cannot know, unless it is older than it was: of its 1,000th
   * grant of `orders`, unless changed.
   */
  lost(change?: Partial<TokenContent & { database: string }>): Promise<string>
}

/** Declares a test of one promise of the ledger. */
export type Promises = (title: string, body: (bench: Bench) => Promise<void>) => void

export const AT = Date.UTC(2026, 10, 21)
export const DAY_MS = 86_400_000
export const LIMITS = {
  collections: 50,
  databases: 1_000,
  maxJump: 10_000,
  maxId: Number.MAX_SAFE_INTEGER,
}
let lastId = 0

export const newId = () => `00000000-0000-4000-8000-${String(++lastId).padStart(12, '0')}`

type Opened = Pick<Bench, keyof Storage | 'ledger'>

export const promisesOf =
  (opened: () => Opened): Promises =>
  (title, body) =>
    test(title, () => body(newBench(opened())))

function newBench({ open, secret, edit, ledger }: Opened): Bench {
  const database = `db${++lastId}`
  const wish = (change: Partial<ClaimRequest> = {}): ClaimRequest => ({
    database,
    collection: 'orders',
    count: 32,
    lastMax: 0,
    serverTag: 'A',
    at: AT,
    ...change,
  })
  const claim = async (change: Partial<ClaimRequest> = {}) =>
    (await ledger.claim([wish(change)]))[0]!
  return {
    open,
    secret,
    edit,
    ledger,
    database,
    wish,
    claim,
    take: async (change) => grantOf(await claim({ id: newId(), ...change })),
    takePlain: async (change) => grantOf(await claim(change)),
    giveBack: ({ token }, end, last, collection = 'orders') =>
      ledger.giveBack({ database, collection, end, last, token, at: AT }),
    giveBackPlain: (end, last) =>
      ledger.giveBack({ database, collection: 'orders', end, last, at: AT }),
    checkIn: (id, ...tokens) =>
      ledger.checkIn({ database, id, at: AT, grants: tokens.map((token) => ({ token, next: 0 })) }),
    max: async () => (await ledger.read({ database, collection: 'orders' })).max,
    lost: async (change) =>
      grantTokens([await secret()]).write({
        database,
        collection: 'orders',
        id: newGrantId(),
        tokenVersion: 0,
        serial: 1_000,
        high: 64,
        ...change,
      }),
  }
}

export function grantOf(outcome: ClaimOutcome): Grant {
  if ('refused' in outcome) throw new Error(`refused: ${outcome.refused}`)
  return outcome.grant
}

/** A server that has closed its ledger may still get requests. */
export async function expectClosed(ledger: Ledger): Promise<void> {
  await ledger.close()
  const wish = { database: 'Shop', collection: 'orders', count: 32, lastMax: 0, serverTag: 'A' }
  const asked = [ledger.claim([{ ...wish, at: 0 }]), ledger.status(), ledger.ping()]
  const closed = { name: 'LedgerUnavailable', message: expect.stringContaining('was closed') }
  for (const each of await Promise.allSettled(asked))
    expect(each).toEqual({ status: 'rejected', reason: expect.objectContaining(closed) })
  await ledger.close()
}

export const span = ({ low, high }: Grant): [number, number] => [low, high]

/** The result of a grant that is still this device's. */
export function held(result: CheckInResult | undefined): Exclude<CheckInResult, string> {
  if (typeof result !== 'object') throw new Error(`The grant is ${result}.`)
  return result
}

/** Sends it again, as a device does: on a busy machine an upstream or a database may be late. */
export async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof LedgerUnavailable)) throw error
    }
}
