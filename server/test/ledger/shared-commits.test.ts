/** Steps that share a commit: each has its answer, works on the ones before, and fails alone. */
import { randomUUID as newId } from 'node:crypto'
import { expect, test } from 'vitest'
import { atFileEnd } from '../../../test/support/file-end.js'
import { createLedger } from '../../src/ledger/create-ledger.js'
import type { ClaimOutcome, Grant } from '../../src/ledger/ledger.js'
import { HeldOfAnother, LedgerUnavailable } from '../../src/ledger/ledger-errors.js'
import { openSqliteStore } from '../../src/sqlite/sqlite-store.js'
import { newFolder } from '../folders.js'

type Granted = Extract<ClaimOutcome, { grant: Grant }>

const database = 'Shop'
const LIMITS = { maxJump: 1e6, maxId: 1e9, collections: 100, databases: 10 }

/** A ledger, and how many transactions its store was asked for. */
function newLedger(fail?: () => Error | undefined) {
  const store = openSqliteStore(newFolder(), new Map(), { create: true })
  atFileEnd(() => store.close())
  let changes = 0
  const counted: typeof store = {
    ...store,
    async change(transaction) {
      changes++
      const failure = fail?.()
      if (failure) throw failure
      return store.change(transaction)
    },
  }
  const ledger = createLedger(counted, LIMITS, new Map())
  const claim = async (collection = 'orders'): Promise<Grant> => {
    const asked = {
      database,
      collection,
      id: newId(),
      count: 32,
      lastMax: 0,
      serverTag: 'A',
      at: 0,
    }
    const [outcome] = (await ledger.claim([asked])) as [Granted]
    return outcome.grant
  }
  const changesOf = async <T>(act: () => Promise<T>) => {
    changes = 0
    const answer = await act()
    return { answer, changes }
  }
  const checkIn = ({ token, low: next }: Grant, id: string = newId()) =>
    ledger.checkIn({ database, id, at: 0, grants: [{ token, next }] })
  const giveBack = ({ token, high: end, low: last }: Grant, collection = 'orders') =>
    ledger.giveBack({ database, collection, end, last, token, at: 0 })
  return { ledger, claim, changesOf, checkIn, giveBack }
}

test('check-ins and give-backs that arrive together are one commit', async () => {
  const { claim, changesOf, checkIn, giveBack, ledger } = newLedger()
  const [a, b, c, bills] = [await claim(), await claim(), await claim(), await claim('bills')]
  const { answer, changes } = await changesOf(() =>
    Promise.all([checkIn(a!), giveBack(b!), giveBack(c!), checkIn(bills!), giveBack(bills!, 'x')]),
  )
  expect(changes).toBe(1)
  const [ofA, ofB, ofC, ofBills, nothing] = answer
  expect([ofA, ofBills]).toEqual([
    [{ token: expect.any(String), high: 32 }],
    [{ token: expect.any(String), high: 32 }],
  ])
  expect([ofB, ofC, nothing]).toEqual([31, 31, 0])
  const status = await ledger.status()
  expect(status.find(({ collection }) => collection === 'orders')).toMatchObject({
    max: 65,
    free: 31,
    outstanding: 34,
  })
})

test('a step works on what those before it in the commit have changed', async () => {
  const { claim, changesOf, checkIn, giveBack } = newLedger()
  const grant = await claim()
  const id = newId()
  const { answer, changes } = await changesOf(() =>
    Promise.all([checkIn(grant, id), giveBack(grant), checkIn(grant, id), giveBack(grant)]),
  )
  expect(changes).toBe(1)
  expect(answer[1]).toBe(0)
  expect(answer[3]).toBe(0)
  expect(answer[2]).toEqual(answer[0])
})

test('a copy that is found among steps of another collection keeps its numbers', async () => {
  const { claim, checkIn, giveBack } = newLedger()
  const [copied, other] = [await claim(), await claim('bills')]
  const [renewed] = await checkIn(copied)
  expect(await giveBack({ ...copied, ...(renewed as { token: string }) })).toBe(31)
  const answers = await Promise.all([giveBack(other, 'bills'), checkIn(copied)])
  expect(answers).toEqual([31, ['superseded']])
  // The copy may have issued what the other one gave back.
  expect((await claim()).low).toBeGreaterThan(copied.high)
})

test('a step with more rows than a commit is to have is one of its own', async () => {
  const { ledger, changesOf } = newLedger()
  const asked = { database, collection: 'orders', count: 1, lastMax: 0, serverTag: 'A', at: 0 }
  const outcomes = await ledger.claim(
    Array.from({ length: 501 }, () => ({ ...asked, id: newId() })),
  )
  const grants = outcomes.map((outcome) => ({ token: (outcome as Granted).grant.token, next: 1 }))
  const { answer, changes } = await changesOf(() =>
    ledger.checkIn({ database, id: newId(), at: 0, grants }),
  )
  expect(answer).toHaveLength(501)
  expect(changes).toBe(1)
})

test('a step that cannot be done fails alone', async () => {
  const { claim, changesOf, checkIn, ledger } = newLedger()
  const grant = await claim()
  const foreign = { database, id: newId(), at: 0, grants: [], ledgers: { A: 'k' }, serverTag: 'A' }
  const { answer, changes } = await changesOf(() =>
    Promise.allSettled([checkIn(grant), ledger.checkIn(foreign), checkIn(grant)]),
  )
  expect(changes).toBe(1)
  expect(answer.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect((answer[1] as PromiseRejectedResult).reason).toBeInstanceOf(HeldOfAnother)
})

test('a commit that fails for one of its rows is tried again one by one', async () => {
  let failures = 1
  const { claim, checkIn, changesOf } = newLedger(() =>
    failures-- > 0 ? new TypeError('of one row') : undefined,
  )
  failures = 0
  const grants = [await claim(), await claim()]
  failures = 1
  const { answer, changes } = await changesOf(() =>
    Promise.all(grants.map((each) => checkIn(each))),
  )
  expect(answer.flat()).toHaveLength(2)
  expect(changes).toBe(3)
})

test('an outage is the outcome of all that share the commit', async () => {
  let isGone = false
  const gone = new LedgerUnavailable('gone')
  const { claim, checkIn, changesOf } = newLedger(() => (isGone ? gone : undefined))
  const grants = [await claim(), await claim()]
  isGone = true
  const { answer, changes } = await changesOf(() =>
    Promise.allSettled(grants.map((each) => checkIn(each))),
  )
  expect(answer).toEqual(Array(2).fill({ status: 'rejected', reason: gone }))
  expect(changes).toBe(1)
})
