/** What a ledger says of one number: which grant or series covers it, and what is known of it. */
import { expect } from 'vitest'
import type { Explanation } from '../src/ledger/ledger.js'
import { AT, DAY_MS, newId, type Promises } from './ledger-bench.js'

export function describeExplains(promise: Promises): void {
  promise('a number is held, used, free, above or returned', async (bench) => {
    const { ledger, database, take, giveBack } = bench
    const grant = await take({ by: 'token', device: 'Till 3' })
    await ledger.checkIn({
      database,
      id: newId(),
      at: AT + 5,
      grants: [{ token: grant.token, next: 2 }],
    })
    const spare = await take({ at: AT + 1 })
    await take({ at: AT + 2 })
    await giveBack(spare, 64, 40)
    const where = (number: number) =>
      ledger.explain({ database: database.toUpperCase(), collection: 'Orders', number })
    expect(await where(1)).toEqual({
      database,
      collection: 'orders',
      number: 1,
      id: { state: 'used', max: 96 },
      grants: [
        {
          low: 1,
          high: 32,
          grantedAt: AT,
          heardAt: AT + 5,
          serverTag: 'A',
          device: 'Till 3',
          by: 'token',
          isReturned: false,
          usedTo: 1,
        },
      ],
      series: [],
    })
    const state = ({ id }: Explanation) => id?.state
    expect(state(await where(2))).toBe('held')
    expect(await where(41)).toMatchObject({
      id: { state: 'free' },
      grants: [{ low: 33, high: 64, grantedAt: AT + 1, isReturned: true }],
    })
    expect(await where(97)).toMatchObject({ id: { state: 'above', max: 96 }, grants: [] })
    await take({ count: 24, at: AT + 3 })
    expect(await where(41)).toMatchObject({
      id: { state: 'held' },
      grants: [{ isReturned: true }, { low: 41, high: 64, grantedAt: AT + 3, isReturned: false }],
    })
  })

  promise('what came back at the end of the line is free again', async (bench) => {
    const { ledger, database, take, giveBack } = bench
    await giveBack(await take(), 32, 10)
    const explanation = await ledger.explain({ database, collection: 'orders', number: 11 })
    expect(explanation).toMatchObject({ id: { state: 'free', max: 10 }, grants: [{ low: 1 }] })
  })

  promise(
    'a number below a floor says the floor; one that came back is not granted',
    async (bench) => {
      const { ledger, database, take, giveBack } = bench
      const grant = await take()
      const where = (number: number) => ledger.explain({ database, collection: 'orders', number })
      await ledger.raiseFloor({ database, collection: 'orders', floor: 100 })
      await giveBack(grant, 32, 10)
      expect(await where(11)).toMatchObject({ id: { state: 'returned', floor: 100 } })
      expect(await where(50)).toMatchObject({ id: { state: 'forgotten', floor: 100 }, grants: [] })
      expect(await where(100)).toMatchObject({ id: { state: 'forgotten', floor: 100 } })
      expect((await where(101)).id).toEqual({ state: 'above', max: 100 })
    },
  )

  promise('a grant that was forgotten covers nothing any more', async (bench) => {
    const { ledger, database, take } = bench
    await take()
    await take({ at: AT + 9 * DAY_MS })
    await ledger.prune({ settledBefore: AT, heardBefore: AT + DAY_MS })
    const where = (number: number) => ledger.explain({ database, collection: 'orders', number })
    expect(await where(5)).toMatchObject({ id: { state: 'forgotten' }, grants: [] })
    expect(await where(40)).toMatchObject({ id: { state: 'held' } })
  })

  promise('of a name that is not there, or was dropped, nothing is known', async (bench) => {
    const { ledger, database, take } = bench
    const nothing = { database, collection: 'orders', number: 5, grants: [], series: [] }
    const where = () => ledger.explain({ database, collection: 'orders', number: 5 })
    expect(await where()).toEqual(nothing)
    await take()
    await ledger.drop({ database, collection: 'orders', at: AT })
    expect(await where()).toEqual(nothing)
    expect((await ledger.read({ database, collection: 'orders' })).max).toBe(32)
  })

  promise('a number of a series: who has made it, and in which period', async (bench) => {
    const { ledger, database } = bench
    const begin = async (device: string, name?: string) => {
      const claim = { database, collection: 'receipts', id: newId(), device, name, at: AT }
      const outcome = await ledger.claimSeries(claim)
      if ('refused' in outcome) throw new Error(outcome.refused)
      return outcome.token
    }
    const checkIn = { database, id: newId(), last: 7, at: AT + 1 }
    await ledger.checkInSeries({ ...checkIn, token: await begin('Till 1') })
    const periods = [
      { period: '2026', first: 39, last: 41 },
      { period: '2027', first: 1, last: 4 },
    ]
    const token = await begin('Till 3', 'T3')
    await ledger.checkInSeries({ ...checkIn, id: newId(), token, periods })
    const closing = { letter: 'T3', by: 'anna', reason: 'stolen', at: AT + 2 }
    await ledger.closeSeries({ database, collection: 'receipts', ...closing })
    const where = (number: number, series?: string, period?: string) =>
      ledger.explain({ database, collection: 'Receipts', number, series, period })
    const closed = { at: AT + 2, by: 'anna', reason: 'stolen' }
    const times = { registeredAt: AT, seenAt: AT + 1 }
    const both = { last: 7, isWhole: true, ...times, handOvers: [] }
    const t3 = { series: 'T3', device: 'Till 3', ...both, closed }
    const a = { series: 'A', device: 'Till 1', ...both }
    const heardOfA = [{ period: '', first: 1, last: 7, device: 'Till 1' }]
    expect(await where(4)).toEqual({
      database,
      collection: 'receipts',
      number: 4,
      grants: [],
      series: [
        { ...a, heard: heardOfA, doubtful: undefined },
        { ...t3, heard: [{ ...periods[1], device: 'Till 3' }], doubtful: undefined },
      ],
    })
    expect((await where(40, 'T3')).series).toMatchObject([{ ...t3, heard: [periods[0]] }])
    expect((await where(4, 'T3', '2026')).series).toMatchObject([{ series: 'T3', heard: [] }])
    expect((await where(8, 'a')).series).toMatchObject([{ series: 'A', heard: [] }])
    expect((await where(4, 'B')).series).toEqual([])
  })
}
