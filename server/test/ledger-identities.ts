/**
 * What a ledger promises about identities: numbers one by one, none twice, no gap from allocation.
 */
import { expect } from 'vitest'
import type { IdentityOutcome } from '../src/ledger/ledger.js'
import { AT, LIMITS, newId, type Promises } from './ledger-bench.js'

const numberOf = (outcome: IdentityOutcome | undefined): number => {
  if (!outcome || 'refused' in outcome) throw new Error(`refused: ${outcome?.refused}`)
  return outcome.value
}

export function describeIdentities(promise: Promises): void {
  promise(
    'an identity counts from 1, one by one; names are compared lower-cased, and each ' +
      'database has its own',
    async ({ ledger, database }) => {
      const claims = ['orders|', 'Orders|', 'lines|', 'orders|'].map((name) => ({
        database,
        name,
        at: AT,
      }))
      expect((await ledger.nextIdentities(claims)).map(numberOf)).toEqual([1, 2, 1, 3])
      expect(
        (
          await ledger.nextIdentities([{ ...claims[0]!, database: `${database}-b` }, claims[0]!])
        ).map(numberOf),
      ).toEqual([1, 4])
    },
  )

  promise(
    'the same id gets the same number, in one commit and later; it is that of its name only',
    async ({ ledger, database }) => {
      const claim = { database, name: 'orders|', id: newId(), at: AT }
      expect(
        (await ledger.nextIdentities([claim, claim, { ...claim, name: 'lines|' }])).map(numberOf),
      ).toEqual([1, 1, 1])
      const other = { database, name: 'orders|', at: AT }
      expect(
        (
          await ledger.nextIdentities([other, { ...claim, name: 'ORDERS|', at: AT + 1 }, other])
        ).map(numberOf),
      ).toEqual([2, 1, 3])
    },
  )

  promise(
    'pruning forgets the ids of claims that are old, and no number',
    async ({ ledger, database }) => {
      const [old, young] = [AT, AT + 1].map((at) => ({
        database,
        name: 'orders|',
        id: newId(),
        at,
      }))
      const next = async () => (await ledger.nextIdentities([old!, young!])).map(numberOf)
      expect(await next()).toEqual([1, 2])
      await ledger.prune({ settledBefore: AT, heardBefore: AT })
      expect(await next()).toEqual([1, 2])
      await ledger.prune({ settledBefore: AT + 1, heardBefore: AT })
      expect(await next()).toEqual([3, 2])
    },
  )

  promise(
    'servers on one storage leave no gap and take no number twice',
    async ({ open, database }) => {
      const ledgers = await Promise.all([open(), open(), open()])
      const ids = Array.from({ length: 30 }, newId)
      // Each id is sent to two servers at once, as by a client that has given up on the first.
      const work = ids.flatMap((id, i) =>
        [0, 1].map((offset) =>
          ledgers[(i + offset) % 3]!.nextIdentities([
            { database, name: 'b|', id, at: AT },
            { database, name: 'a|', at: AT },
          ]),
        ),
      )
      const outcomes = await Promise.all(work)
      const numbers = outcomes.map(([first]) => numberOf(first))
      for (let i = 0; i < ids.length; i++) expect(numbers[2 * i]).toBe(numbers[2 * i + 1])
      expect([...new Set(numbers)].sort((a, b) => a - b)).toEqual(
        Array.from({ length: 30 }, (_, i) => i + 1),
      )
      expect(outcomes.map(([, second]) => numberOf(second)).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 60 }, (_, i) => i + 1),
      )
      await Promise.all(ledgers.map((each) => each.close()))
    },
  )

  promise(
    'a seed only raises, unless it is forced; then down to the highest number handed out, no lower',
    async ({ ledger, database }) => {
      const key = { database, name: 'orders|', at: AT }
      const seed = async (value: number, isForced = false) =>
        numberOf(await ledger.seedIdentity({ ...key, value, isForced }))
      const next = async () => numberOf((await ledger.nextIdentities([key]))[0])
      expect(await seed(100)).toBe(100)
      expect(await next()).toBe(101)
      expect(await seed(50)).toBe(101)
      expect(await seed(5000)).toBe(5000)
      expect(await seed(200, true)).toBe(200)
      expect(await next()).toBe(201)
      expect(await seed(7, true)).toBe(201)
      expect(await next()).toBe(202)
    },
  )

  promise(
    'an absurd seed is refused, and so is a number above 2^53−1',
    async ({ ledger, database, open }) => {
      const key = { database, name: 'orders|', at: AT }
      expect(
        await ledger.seedIdentity({ ...key, value: LIMITS.maxJump + 1, isForced: true }),
      ).toEqual({ refused: 'jump', value: 0 })
      const generous = await open({ ...LIMITS, maxJump: Number.MAX_SAFE_INTEGER })
      const last = Number.MAX_SAFE_INTEGER
      await generous.seedIdentity({ ...key, value: last - 1, isForced: false })
      expect(await generous.nextIdentities([key, key])).toEqual([
        { value: last },
        { refused: 'overflow', value: last },
      ])
      await generous.close()
    },
  )

  promise(
    'identities have no more databases than allowed; those there are go on',
    async ({ ledger, database, open }) => {
      const key = { database, name: 'orders|', at: AT }
      await ledger.nextIdentities([key, { ...key, database: `${database}-other` }])
      const strict = await open({ ...LIMITS, databases: 2 })
      const outcomes = await strict.nextIdentities([
        { ...key, database: `${database}-new` },
        { ...key, name: 'lines|' },
      ])
      expect(outcomes).toEqual([{ refused: 'full', value: 0 }, { value: 1 }])
      await strict.close()
    },
  )

  promise(
    'a database has no more identities than allowed; those there are go on',
    async ({ ledger, database }) => {
      const claims = Array.from({ length: LIMITS.collections + 1 }, (_, i) => ({
        database,
        name: `t${i}|`,
        at: AT,
      }))
      const outcomes = await ledger.nextIdentities(claims)
      expect(outcomes.at(-1)).toEqual({ refused: 'full', value: 0 })
      expect(outcomes.slice(0, -1).map(numberOf)).toEqual(claims.slice(1).map(() => 1))
      expect(
        await ledger.seedIdentity({ database, name: 'new|', value: 5, isForced: false }),
      ).toEqual({ refused: 'full', value: 0 })
      expect((await ledger.nextIdentities([claims[0]!])).map(numberOf)).toEqual([2])
    },
  )
}
