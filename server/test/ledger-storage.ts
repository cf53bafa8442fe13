/** What a ledger promises about what it keeps, and to several servers on one storage. */
import { expect } from 'vitest'
import { RowLocked } from '../src/ledger/ledger-errors.js'
import { AT, grantOf, LIMITS, newId, type Promises, span } from './ledger-bench.js'

export function describeStorage(promise: Promises): void {
  promise(
    'status counts the numbers that grants hold, and those that are free',
    async ({ ledger, database, take, giveBack }) => {
      const grant = await take({ at: AT + 5 })
      await take()
      await giveBack(grant, 32, 10)
      await take({ collection: 'lines' })
      const statuses = (await ledger.status()).filter((status) => status.database === database)
      expect(statuses).toEqual([
        {
          database,
          collection: 'lines',
          max: 32,
          free: 0,
          outstanding: 32,
          grants: 1,
          lastClaim: AT,
        },
        {
          database,
          collection: 'orders',
          max: 64,
          free: 22,
          outstanding: 42,
          grants: 2,
          lastClaim: AT + 5,
        },
      ])
    },
  )

  promise(
    'a claim that is refused leaves no name, and none that was dropped comes back by it',
    async ({ ledger, database, wish, take, checkIn, lost }) => {
      await take({ collection: 'gone' })
      await ledger.drop({ database, collection: 'gone', at: AT })
      await take()
      const far = 1_000_000
      expect(
        await ledger.claim([
          wish({ collection: 'new', lastMax: far }),
          wish({ collection: 'gone', lastMax: far }),
          wish({ collection: 'lines' }),
        ]),
      ).toMatchObject([{ refused: 'jump' }, { refused: 'jump' }, { grant: { low: 1 } }])
      const invoices = { database, name: 'invoices|' }
      const seed = { ...invoices, value: Number.MAX_SAFE_INTEGER, isForced: false }
      expect(await ledger.seedIdentity(seed)).toMatchObject({ refused: 'jump' })
      await checkIn(newId(), await lost())
      expect(await ledger.claim([wish({ collection: 'new' })])).toMatchObject([
        { refused: 'restored' },
      ])
      expect(await ledger.nextIdentities([{ ...invoices, at: 0 }])).toMatchObject([
        { refused: 'restored' },
      ])
      const { collections } = await ledger.names()
      expect(new Set(collections.filter((key) => key.database === database))).toEqual(
        new Set(['gone', 'lines', 'orders'].map((collection) => ({ database, collection }))),
      )
      const statuses = (await ledger.status()).filter((status) => status.database === database)
      expect(statuses.map(({ collection }) => collection)).toEqual(['lines', 'orders'])
      expect(await ledger.hasIdentity(invoices)).toBe(false)
    },
  )

  promise(
    'names are counted as they come and go: what is dropped makes room, once',
    async ({ open, database, wish, claim }) => {
      const ledger = await open({ ...LIMITS, collections: 2 })
      try {
        const names = (...collections: string[]) =>
          ledger.claim(collections.map((collection) => wish({ collection })))
        const full = { refused: 'full' }
        const granted = { isRepeat: false }
        expect(await names('a', 'b', 'c')).toMatchObject([granted, granted, full])
        const dropped = { database, collection: 'a', at: AT }
        await Promise.all([ledger.drop(dropped), ledger.drop(dropped)])
        expect(await names('c', 'd')).toMatchObject([granted, full])
        await ledger.drop({ ...dropped, collection: 'b' })
        expect(await names('a', 'b')).toMatchObject([granted, full])
        expect(await claim({ collection: 'b' })).toMatchObject(granted)
        expect(await names('d')).toMatchObject([full])
      } finally {
        await ledger.close()
      }
    },
  )

  promise(
    'pruning forgets grants that came back long ago, and none that is held',
    async ({ ledger, database, take, takePlain, giveBack, giveBackPlain }) => {
      const [whole, part] = [await take(), await take()]
      await takePlain()
      await giveBackPlain(96, 80)
      await giveBack(whole, 32, 0)
      await giveBack(part, 64, 40)
      const grants = async () =>
        (await ledger.status()).find((status) => status.database === database)!.grants
      await ledger.prune({ settledBefore: AT, heardBefore: AT })
      expect(await grants()).toBe(3)
      await ledger.prune({ settledBefore: AT + 1, heardBefore: AT })
      expect(await grants()).toBe(1)
      expect(await giveBack(part, 40, 32)).toBe(8)
      expect(span(await take({ count: 40 }))).toEqual([1, 40])
    },
  )

  promise(
    'all of it is there when the storage is opened again',
    async ({ open, database, wish, take, giveBackPlain }) => {
      const [id, other] = [newId(), newId()]
      const grant = await take({ id })
      await take({ id: other })
      await giveBackPlain(32, 5)
      const again = await open(LIMITS)
      try {
        expect((await again.claim([wish({ id })]))[0]).toEqual({
          grant,
          isRepeat: true,
          results: [],
        })
        expect(
          await again.giveBack({
            database,
            collection: 'orders',
            end: 32,
            last: 0,
            token: grant.token,
            at: AT,
          }),
        ).toBe(32)
        expect(span(grantOf((await again.claim([wish({ id: newId() })]))[0]!))).toEqual([1, 32])
        await again.ping()
      } finally {
        await again.close()
      }
    },
  )

  promise('servers on one storage never grant the same number', async ({ open, wish }) => {
    const others = await Promise.all([open(), open(), open()])
    const work = others.flatMap((other) =>
      Array.from({ length: 20 }, (_, i) =>
        unlessLocked(() =>
          other.claim([wish({ id: newId() }), wish({ collection: `t${i % 3}` }), wish()]),
        ),
      ),
    )
    const spans = (await Promise.all(work))
      .flatMap(([first, , third]) => [first!, third!])
      .map((outcome) => span(grantOf(outcome)))
      .sort(([a], [b]) => a - b)
    expect(spans).toEqual(Array.from({ length: 120 }, (_, i) => [i * 32 + 1, i * 32 + 32]))
    await Promise.all(others.map((other) => other.close()))
  })
}

/** On a busy machine a row stays locked for longer than a claim waits. Then nothing happened. */
async function unlessLocked<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (error instanceof RowLocked) return unlessLocked(step)
    throw error
  }
}
