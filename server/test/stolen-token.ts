/**
 * One token, in whosever hands, sends from 64 connections the largest requests of each kind, beside
 * forty tills that claim. Each place counts by itself what a claim has waited for.
 */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { NextAnswer } from '../../src/core/wire.js'
import type { Handler } from '../src/http/handler.js'
import type { HandlerOptions } from '../src/index.js'
import { type Ask, json } from './handlers.js'

export const ROOT = '/databases/Shop/hilo'

export const times = <T>(count: number, act: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => act(i)))

const shownOf = (grants: readonly NextAnswer[]) =>
  grants.map(({ Token: token, Low: next }) => ({ token, next }))

export const claimOf = (tags: readonly string[], shown: readonly NextAnswer[] = [], lastMax = 0) =>
  json({
    claim: randomUUID(),
    collections: tags.map((tag) => ({ tag, count: 32, lastMax, grants: shownOf(shown) })),
  })

export const checkInOf = (grants: readonly NextAnswer[]) =>
  json({ id: randomUUID(), grants: shownOf(grants) })

const THIEF = 'the-token-that-was-stolen'
const ACTIONS = [
  'claim',
  'give-back',
  'check-in',
  'identity',
  'seed',
  'series',
  'series-list',
  'explain',
  'document-read',
  'document-write',
  'status',
] as const
const TILLS = Array.from({ length: 40 }, (_, i) => `the-token-of-another-till-${i}`)

/** As the thief. */
type Steal = (path: string, init?: RequestInit) => ReturnType<Ask>
/** Resolves with a request that is sent again and again. */
export type Attack = (steal: Steal) => Promise<() => ReturnType<Ask>>

const many = (name = (i: number) => `c${i}`) => Array.from({ length: 100 }, (_, i) => name(i))
const DOCUMENTS = many().map((tag) => `Raven/Hilo/${tag}`)
const reading =
  (path: string): Attack =>
  async (steal) =>
  () =>
    steal(path)

/** Each is the largest request of its kind. */
export const ATTACKS: Record<string, Attack> = {
  async 'check-ins of a hundred tokens'(steal) {
    const { body } = await steal(`${ROOT}/next`, claimOf(many()))
    return () => steal(`${ROOT}/checkin`, checkInOf(body.collections))
  },
  'claims of a hundred new names': async (steal) => () =>
    steal(`${ROOT}/next`, claimOf(many(() => randomUUID()))),
  async 'claims of a hundred counters that are to jump'(steal) {
    await steal(`${ROOT}/next`, claimOf(many()))
    return () => steal(`${ROOT}/next`, claimOf(many(), [], 9e6))
  },
  'give-backs without a token': async (steal) => async () => {
    const { High: end, Low: last } = (await steal(`${ROOT}/next?tag=orders`)).body
    return steal(`${ROOT}/return?tag=orders&end=${end}&last=${last}`, { method: 'PUT' })
  },
  'claims of series': async (steal) => () =>
    steal(`${ROOT}/series`, json({ claim: randomUUID(), collection: 'receipts' })),
  'check-ins of a series': async (steal) => {
    const asked = json({ claim: randomUUID(), collection: 'receipts' })
    const { token } = (await steal(`${ROOT}/series`, asked)).body
    return () => steal(`${ROOT}/series/checkin`, json({ id: randomUUID(), token, last: 1 }))
  },
  identities: async (steal) => () =>
    steal('/databases/Shop/identity/next?name=bills', { method: 'POST' }),
  seeds: async (steal) => () =>
    steal('/databases/Shop/identity/seed?name=bills&value=1', { method: 'POST' }),
  'reads of a hundred documents': reading(
    `/databases/Shop/docs?${DOCUMENTS.map((id) => `id=${id}`).join('&')}`,
  ),
  async 'writes of a hundred documents'(steal) {
    let max = 0
    return () => {
      const Document = { Max: ++max }
      const Commands = DOCUMENTS.map((Id) => ({ Type: 'PUT', Id, Document }))
      return steal('/databases/Shop/bulk_docs', json({ Commands }))
    }
  },
  'questions after a number': reading(`${ROOT}/explain?tag=orders&number=1`),
  'lists of series': reading(`${ROOT}/series`),
  'looks at the metrics': reading('/metrics'),
  'looks at the health': reading('/healthz'),
}

/** Its budget is no help, nor its share of the places: only the turns are. */
export const OF_THE_STOLEN: Omit<HandlerOptions, 'ledger'> = {
  open: false,
  databases: ['Shop'],
  tokens: [{ token: THIEF, actions: ACTIONS }, ...TILLS],
  limits: { rowsPerHour: 2 ** 40, requestsPerHour: 2 ** 40, waiting: 1_000_000 },
}

/** Counts for a claim. */
export interface Count {
  /** Forty claims come. */
  begin(): void
  /** What a claim with this answer has waited for. */
  of(answer: Response): number
}

/** What any of forty claims at once waits for, alone and beside one token that sends. */
export async function waitedFor(
  attack: Attack,
  handler: Handler,
  count: Count,
): Promise<{ alone: number; beside: number }> {
  const as = (token: string, path: string, init: RequestInit = {}) => {
    const headers = { ...init.headers, Authorization: `Bearer ${token}` }
    return handler(new Request(`http://ids.test${path}`, { ...init, headers }))
  }
  const steal: Steal = async (path, init) => {
    const answer = await as(THIEF, path, init)
    const text = await answer.text()
    const isJson = answer.headers.get('Content-Type')?.includes('json')
    const { status, headers } = answer
    return { status, headers, body: isJson && text ? JSON.parse(text) : text }
  }
  const othersClaim = async () => {
    count.begin()
    const waits = TILLS.map(async (token) => {
      const answer = await as(token, `${ROOT}/next`, claimOf(['orders']))
      expect(answer.status).toBe(201)
      return count.of(answer)
    })
    return Math.max(...(await Promise.all(waits)))
  }
  await othersClaim()
  const alone = await othersClaim()
  const request = await attack(steal)
  // What is made once is there.
  await request()

  let isOver = false
  let answered = 0
  let attacked = () => {}
  const isAttacked = new Promise<void>((resolve) => {
    attacked = resolve
  })
  // From 64 connections.
  const attacks = times(64, async () => {
    while (!isOver) {
      expect([200, 201, 204, 422, 429]).toContain((await request()).status)
      if (++answered > 3) attacked()
      await new Promise((resolve) => setImmediate(resolve))
    }
  })
  await isAttacked
  const beside = await othersClaim()
  isOver = true
  await attacks
  return { alone, beside }
}
