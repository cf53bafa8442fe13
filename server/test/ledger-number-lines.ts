/** What a ledger promises about the number line: how far it goes, and who may move it. */
import { expect } from 'vitest'
import type { Mark } from '../src/ledger/ledger.js'
import { LIMITS, type Promises, span } from './ledger-bench.js'

export function describeNumberLines(promise: Promises): void {
  promise('nothing is granted at or below what the client saw', async ({ take, takePlain }) => {
    await take()
    expect(span(await take({ lastMax: 100 }))).toEqual([101, 132])
    expect(span(await takePlain({ lastMax: 20 }))).toEqual([133, 164])
  })

  promise(
    'a client that saw more than was ever granted proves an older copy: what is free there ' +
      'is not granted',
    async ({ take, giveBack }) => {
      const grant = await take()
      await take()
      await giveBack(grant, 32, 0)
      expect(span(await take({ lastMax: 65 }))).toEqual([66, 97])
      expect(span(await take())).toEqual([98, 129])
    },
  )

  promise(
    'in such a copy nothing is granted again that comes back from below what was seen, ' +
      'however late',
    async ({ take, giveBack }) => {
      const held = await take()
      await take({ lastMax: 100 })
      await giveBack(held, 32, 0)
      expect(span(await take())).toEqual([133, 164])
    },
  )

  promise(
    'nothing comes back from below a raised floor',
    async ({ ledger, database, take, giveBack }) => {
      const [low, high] = [await take(), await take()]
      await ledger.raiseFloor({ database, collection: 'orders', floor: 50 })
      await giveBack(high, 64, 32)
      await giveBack(low, 32, 0)
      expect(span(await take())).toEqual([51, 82])
    },
  )

  promise('an absurd jump is refused and changes nothing', async ({ claim, take }) => {
    await take()
    expect(await claim({ lastMax: 32 + LIMITS.maxJump + 1 })).toEqual({ refused: 'jump', max: 32 })
    expect(span(await take({ lastMax: 32 + LIMITS.maxJump }))).toEqual([10_033, 10_064])
  })

  promise('numbers end at 2^53−1', async ({ ledger, database, claim, take }) => {
    const last = Number.MAX_SAFE_INTEGER
    expect(await ledger.raiseFloor({ database, collection: 'orders', floor: last - 40 })).toBe(
      last - 40,
    )
    expect(span(await take())).toEqual([last - 39, last - 8])
    expect(await claim()).toEqual({ refused: 'overflow', max: last - 8 })
    expect(span(await take({ count: 8 }))).toEqual([last - 7, last])
    expect(await claim({ count: 1 })).toEqual({ refused: 'overflow', max: last })
  })

  promise(
    'the floor only rises, and nothing free below it is granted',
    async ({ ledger, database, take, giveBack }) => {
      const grant = await take()
      await take()
      await giveBack(grant, 32, 0)
      expect(await ledger.raiseFloor({ database, collection: 'orders', floor: 50 })).toBe(64)
      expect(await ledger.raiseFloor({ database, collection: 'Orders', floor: 100 })).toBe(100)
      expect(span(await take())).toEqual([101, 132])
      expect(await ledger.raiseFloor({ database, collection: 'new', floor: 7 })).toBe(7)
      expect(span(await take({ collection: 'new' }))).toEqual([8, 39])
    },
  )

  promise(
    'a change of max changes its version, and nothing else does',
    async ({ ledger, database, take, giveBack }) => {
      expect(await ledger.read({ database, collection: 'orders' })).toEqual({ max: 0, version: 0 })
      const grant = await take()
      const before = await ledger.read({ database, collection: 'ORDERS' })
      expect(before.max).toBe(32)
      expect(await ledger.read({ database, collection: 'orders' })).toEqual(before)
      await giveBack(grant, 32, 10)
      expect((await ledger.read({ database, collection: 'orders' })).version).toBeGreaterThan(
        before.version,
      )
    },
  )

  promise(
    'max is set by who says which version it had, of all collections or of none',
    async ({ ledger, database, take }) => {
      const write = (collection: string, to: number, version?: number) => ({
        database,
        collection,
        max: to,
        version,
      })
      const [orders] = (await ledger.write([write('orders', 64, 0)])) as Mark[]
      expect(orders).toEqual({ max: 64, version: expect.any(Number) })
      const conflict = await ledger.write([
        write('lines', 32),
        write('Orders', 96, orders!.version - 1),
      ])
      expect(conflict).toMatchObject({ refused: 'conflict', mark: orders, write: { max: 96 } })
      expect(await ledger.read({ database, collection: 'lines' })).toMatchObject({ max: 0 })
      const written = await ledger.write([
        write('lines', 32),
        write('orders', 96, orders!.version),
        write('orders', 40),
      ])
      expect(written).toMatchObject([{ max: 32 }, { max: 96 }, { max: 40 }])
      expect(span(await take())).toEqual([41, 72])
    },
  )

  promise(
    'max cannot be set below what a grant holds, nor absurdly high',
    async ({ ledger, database, take, giveBack }) => {
      const [first, second] = [await take(), await take()]
      expect(await ledger.write([{ database, collection: 'orders', max: 10 }])).toMatchObject([
        { max: 64 },
      ])
      await giveBack(first, 32, 20)
      await giveBack(second, 64, 40)
      expect(await ledger.write([{ database, collection: 'orders', max: 10 }])).toMatchObject([
        { max: 40 },
      ])
      expect(span(await take({ count: 12 }))).toEqual([21, 32])
      expect(
        await ledger.write([{ database, collection: 'orders', max: 41 + LIMITS.maxJump }]),
      ).toMatchObject({
        refused: 'jump',
        mark: { max: 40 },
      })
    },
  )

  promise(
    'lowering max takes what is free with it',
    async ({ ledger, database, take, giveBack }) => {
      const [first, second] = [await take(), await take()]
      await ledger.write([{ database, collection: 'orders', max: 100 }])
      await giveBack(first, 32, 10)
      await giveBack(second, 64, 32)
      expect(await ledger.write([{ database, collection: 'orders', max: 30 }])).toMatchObject([
        { max: 10 },
      ])
      expect(span(await take())).toEqual([11, 42])
    },
  )

  promise(
    'a database has no more collections than allowed; those there are go on',
    async ({ ledger, wish, claim, take }) => {
      const tags = Array.from({ length: LIMITS.collections + 1 }, (_, i) =>
        wish({ collection: `t${i}` }),
      )
      const outcomes = await ledger.claim(tags)
      expect(outcomes.at(-1)).toEqual({ refused: 'full', max: 0 })
      expect(outcomes.slice(0, -1).every((outcome) => 'grant' in outcome)).toBe(true)
      expect(await claim({ collection: 'another' })).toEqual({ refused: 'full', max: 0 })
      expect(span(await take({ collection: 't0' }))).toEqual([33, 64])
    },
  )

  promise(
    'there are no more databases than allowed; those there are go on',
    async ({ ledger, database, open, wish, take }) => {
      await take()
      await ledger.claim([wish({ database: `${database}-other` })])
      const strict = await open({ ...LIMITS, databases: 2 })
      const outcomes = await strict.claim([
        wish({ database: `${database}-new` }),
        wish({ collection: 'lines' }),
      ])
      expect(outcomes).toMatchObject([{ refused: 'full', max: 0 }, { grant: { low: 1 } }])
      await strict.close()
    },
  )
}
