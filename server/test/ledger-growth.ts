/** What a ledger promises about what it forgets: size follows devices, and no number returns. */
import { expect } from 'vitest'
import { AT, type Bench, DAY_MS, held, newId, type Promises, span } from './ledger-bench.js'

const day = (days: number): number => AT + days * DAY_MS

/** What the server does once a day, with a horizon of 400 days. */
const pruneAt = ({ ledger }: Bench, days: number): Promise<void> =>
  ledger.prune({ settledBefore: day(days - 30), heardBefore: day(days - 400) })

const countGrants = async ({ ledger, database }: Bench): Promise<number> =>
  (await ledger.status()).find((status) => status.database === database)!.grants

/** @returns the result of the one grant that is shown */
async function show({ ledger, database }: Bench, token: string, next = 0, days = 0) {
  const shown = [{ token, next }]
  return (await ledger.checkIn({ database, id: newId(), at: day(days), grants: shown }))[0]!
}

export function describeGrowth(promise: Promises): void {
  promise('a grant goes 30 days after all of it was issued, however old it is', async (bench) => {
    const { ledger, database, take } = bench
    const [told, spent] = [await take(), await take()]
    await show(bench, told.token, 33, 300)
    const id = newId()
    await ledger.checkIn({ database, id, at: day(310), grants: [], spent: [spent.token] })
    for (const [days, count] of [
      [330, 2],
      [331, 1],
      [340, 1],
      [341, 0],
    ] as const) {
      await pruneAt(bench, days)
      expect(await countGrants(bench)).toBe(count)
    }
    expect(await show(bench, spent.token)).toBe('superseded')
    expect(span(await take())).toEqual([65, 96])
  })

  promise(
    'a device of which nothing was heard for longer than the horizon keeps its numbers, which ' +
      'nobody else can get',
    async (bench) => {
      const { take, giveBack, max } = bench
      const [away, heard] = [await take(), await take()]
      const { token } = held(await show(bench, heard.token, 33, 5))
      await pruneAt(bench, 401)
      expect(await countGrants(bench)).toBe(1)
      await giveBack({ token }, 64, 32)
      expect(await max()).toBe(32)
      const first = held(await show(bench, away.token, 5, 900))
      expect(first.high).toBe(32)
      const second = held(await show(bench, first.token, 9, 901))
      expect(await giveBack(second, 32, 20)).toBe(0)
      expect(span(await take())).toEqual([33, 64])
      expect(await max()).toBe(64)
    },
  )

  promise(
    'of two copies of a device that come back after the horizon, the second holds nothing',
    async (bench) => {
      const { ledger, database, take } = bench
      const { token } = await take()
      await pruneAt(bench, 401)
      const request = { database, at: day(500), grants: [{ token, next: 1 }] }
      const id = newId()
      const [result] = await ledger.checkIn({ ...request, id })
      expect(await ledger.checkIn({ ...request, id })).toEqual([result])
      expect(await ledger.checkIn({ ...request, id: newId() })).toEqual(['superseded'])
      const [again] = await ledger.checkIn({
        ...request,
        id: newId(),
        grants: [],
        spent: [held(result).token],
      })
      expect(again).toBeUndefined()
      expect(await show(bench, held(result).token)).toBe('superseded')
    },
  )

  promise('a claim may show the token of a grant that was pruned', async (bench) => {
    const { claim, take } = bench
    const { token } = await take()
    await pruneAt(bench, 401)
    expect(await claim({ id: newId(), shown: [{ token, next: 7 }] })).toMatchObject({
      grant: { low: 33 },
      results: [{ high: 32 }],
    })
  })

  promise('max does not go below a number of a grant that was pruned', async (bench) => {
    const { ledger, database, take, takePlain } = bench
    await show(bench, (await take()).token, 33)
    await takePlain()
    await pruneAt(bench, 401)
    expect(await countGrants(bench)).toBe(0)
    await ledger.write([{ database, collection: 'orders', max: 0 }])
    expect(span(await take())).toEqual([65, 96])
  })

  promise(
    'a series is not forgotten, however long nothing is heard of its device',
    async (bench) => {
      const { ledger, database } = bench
      const claim = { database, collection: 'receipts', id: newId(), device: '', at: AT }
      const outcome = await ledger.claimSeries(claim)
      if ('refused' in outcome) throw new Error(outcome.refused)
      await pruneAt(bench, 3_650)
      const request = { database, id: newId(), token: outcome.token, last: 1, at: day(3_650) }
      expect(await ledger.checkInSeries(request)).toEqual({ token: expect.any(String) })
    },
  )

  promise('the size follows the devices, and not the years', async (bench) => {
    const { ledger, database, claim } = bench
    const DEVICES = 3
    const tokens: string[] = []
    const most: number[] = []
    for (let days = 0; days < 3_650; days += 30) {
      for (let device = 0; device < DEVICES; device++) {
        const spent = tokens.slice(device, device + 1)
        const outcome = await claim({ id: newId(), at: day(days) })
        if ('refused' in outcome) throw new Error(outcome.refused)
        tokens[device] = outcome.grant.token
        await ledger.checkIn({ database, id: newId(), at: day(days), grants: [], spent })
      }
      await pruneAt(bench, days)
      const year = Math.floor(days / 365)
      most[year] = Math.max(most[year] ?? 0, await countGrants(bench))
    }
    // Of each device, the grant that it takes from, and the one before, settled 30 days ago.
    expect(most).toEqual(Array.from({ length: 10 }, () => 3 * DEVICES))
  })
}
