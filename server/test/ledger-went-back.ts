/**
 * What a ledger promises when rows of its counters went back: somebody restored a table, or edited
 * a row. It grants no number that one of its grants holds.
 */
import { describe, expect } from 'vitest'
import type { Ledger } from '../src/ledger/ledger.js'
import { COLLECTIONS, IDENTITIES } from '../src/sql/tables.js'
import { AT, type Bench, DAY_MS, newId, type Promises, span } from './ledger-bench.js'

/** The row as it was before anything was granted. */
const NEW = { max: 0, highWater: 0, serial: 0, version: 0, forgotten: 0, lastClaim: null }

const refusal = (message: RegExp) => ({
  name: 'CounterWentBack',
  message: expect.stringMatching(message),
})

const setBack = ({ edit, database }: Bench, change: object = NEW, collection = 'orders') =>
  edit(COLLECTIONS, { database, collection }, change)

/** What the refusal says to do. */
async function cure(ledger: Ledger, refused: Promise<unknown>): Promise<void> {
  const { message } = await refused.then(
    () => new Error('It was granted.'),
    (error: Error) => error,
  )
  const command = /raise-floor (\S+) '(.+)' (\d+)/.exec(message)
  if (!command) throw new Error(message)
  const [, database, collection, floor] = command
  await ledger.raiseFloor({ database: database!, collection: collection!, floor: Number(floor) })
}

export function describeWentBack(promise: Promises): void {
  describe.each([
    ['its whole row', NEW],
    ['its max alone', { max: 0 }],
    ['its max, to below the newest grant', { max: 32 }],
  ])('a counter of which %s went back', (_, change) => {
    promise('grants nothing, changes nothing, and says what to do', async (bench) => {
      const { ledger, database, claim, take, takePlain, max } = bench
      await take()
      await takePlain()
      await take({ count: 36 })
      await setBack(bench, change)
      const before = await ledger.status()
      const next = (change.max === 32 ? [33, 64] : [1, 32]).join(' to ')
      for (const id of [undefined, newId()])
        await expect(claim({ id })).rejects.toMatchObject(
          refusal(
            new RegExp(
              `^'orders' of ${database} .*${next} .*65 to 100 .*floor ${database} 'orders' 100`,
            ),
          ),
        )
      expect(await ledger.status()).toEqual(before)
      expect(await max()).toBe(change.max)
    })

    promise('goes on above all grants once its floor was raised as it says', async (bench) => {
      const { ledger, database, claim, take } = bench
      for (let i = 0; i < 3; i++) await take()
      await setBack(bench, change)
      await cure(ledger, claim())
      expect(span(await take())).toEqual([97, 128])
      await setBack(bench, change)
      await ledger.raiseFloors({ database, by: 1 })
      expect(span(await take({ count: 1 })).map((number) => number > 128)).toEqual([true, true])
    })

    promise('goes on above all grants also after a floor below them was raised', async (bench) => {
      const { ledger, database, take } = bench
      for (let i = 0; i < 3; i++) await take()
      await setBack(bench, change)
      expect(await ledger.raiseFloor({ database, collection: 'orders', floor: 40 })).toBe(96)
      expect(span(await take())).toEqual([97, 128])
    })
  })

  promise('a row of a counter that is gone grants no number of a grant', async (bench) => {
    const { ledger, edit, database, claim, take } = bench
    await take()
    await edit(COLLECTIONS, { database, collection: 'orders' }, undefined)
    await cure(ledger, claim({ id: newId() }))
    expect(span(await take())).toEqual([33, 64])
  })

  promise('a number that was used is granted no more than one that is held', async (bench) => {
    const { ledger, database, claim, take } = bench
    const { token } = await take()
    await ledger.checkIn({ database, id: newId(), at: AT, grants: [], spent: [token] })
    await setBack(bench)
    await expect(claim()).rejects.toMatchObject(refusal(/1 to 32 .*1 to 32/))
  })

  promise('nor one of a grant that was forgotten, below those that are known', async (bench) => {
    const { ledger, database, claim, take } = bench
    const { token } = await take()
    await ledger.checkIn({ database, id: newId(), at: AT, grants: [], spent: [token] })
    const later = AT + 31 * DAY_MS
    await take({ at: later })
    await ledger.prune({ settledBefore: later - 30 * DAY_MS, heardBefore: 0 })
    await setBack(bench)
    await expect(claim()).rejects.toMatchObject(refusal(/1 to 32 .*33 to 64/))
  })

  promise('nor one at or below the highest that its row says was forgotten', async (bench) => {
    const { ledger, database, claim, take } = bench
    const { token } = await take()
    await ledger.checkIn({ database, id: newId(), at: AT, grants: [], spent: [token] })
    await ledger.prune({ settledBefore: AT + 1, heardBefore: 0 })
    await setBack(bench, { max: 0 })
    await cure(ledger, claim())
    expect(span(await take())).toEqual([33, 64])
  })

  promise(
    'a grant of which all came back is in no way, also of a row that went back',
    async (bench) => {
      const { ledger, claim, take, giveBack, takePlain } = bench
      await giveBack(await take(), 32, 0)
      expect(span(await takePlain())).toEqual([1, 32])
      const second = await take()
      await giveBack(second, 64, 32)
      await setBack(bench, { serial: 1 })
      await cure(ledger, claim())
      expect(span(await take())).toEqual([65, 96])
    },
  )

  promise('a free range that went back is granted to nobody', async (bench) => {
    const { ledger, claim, take, giveBack, takePlain } = bench
    const first = await take()
    await take()
    await giveBack(first, 32, 16)
    expect(span(await take({ count: 16 }))).toEqual([17, 32])
    await setBack(bench, { free: [[17, 32]], freeCount: 16 })
    await expect(claim({ id: newId(), count: 4 })).rejects.toMatchObject(
      refusal(/17 to 20 .*17 to 32 /),
    )
    expect(span(await takePlain())).toEqual([65, 96])
    await cure(ledger, claim({ id: newId() }))
    expect(span(await take())).toEqual([97, 128])
  })

  promise('nor is one with a part of another grant, at either end', async (bench) => {
    const { claim, take, giveBack } = bench
    const first = await take()
    const second = await take()
    await take()
    await giveBack(first, 32, 16)
    await giveBack(second, 64, 48)
    for (const free of [
      [10, 20],
      [14, 17],
      [30, 34],
      [48, 50],
      [1, 90],
    ] as const) {
      await setBack(bench, { free: [free], freeCount: free[1] - free[0] + 1 })
      await expect(claim({ id: newId(), count: 90 })).rejects.toMatchObject(refusal(/raise-floor/))
    }
    await setBack(bench, {
      free: [
        [17, 32],
        [49, 64],
      ],
      freeCount: 32,
    })
    expect(span(await take({ count: 16 }))).toEqual([17, 32])
    expect(span(await take({ count: 16 }))).toEqual([49, 64])
  })

  promise('two claims of one commit get no number both', async (bench) => {
    const { ledger, database, wish, take } = bench
    await take({ count: 100 })
    await ledger.giveBack({
      ...(await take()),
      database,
      collection: 'orders',
      end: 132,
      last: 100,
      at: AT,
    })
    await setBack(bench, {
      free: [
        [101, 110],
        [105, 120],
      ],
      freeCount: 26,
    })
    const claims = [10, 16].map((count) => wish({ id: newId(), count }))
    await expect(ledger.claim(claims)).rejects.toMatchObject(refusal(/105 to 120 .*101 to 110 /))
  })

  promise('a series gets no letter that another one has', async (bench) => {
    const { ledger, database } = bench
    const claim = () =>
      ledger.claimSeries({ database, collection: 'receipts', id: newId(), device: 'Till', at: AT })
    await claim()
    await claim()
    await setBack(bench, NEW, 'receipts|')
    await cure(ledger, claim())
    expect(await claim()).toMatchObject({ name: 'C' })
  })

  promise('a document that would count numbers of a grant again is not written', async (bench) => {
    const { ledger, database, take, max } = bench
    await take()
    await take()
    await setBack(bench)
    const write = { database, collection: 'orders' }
    for (const max of [32, 64, 100])
      await expect(ledger.write([{ ...write, max }])).rejects.toMatchObject(
        refusal(new RegExp(`1 to ${max} .*1 to 64 .*raise-floor`)),
      )
    expect(await max()).toBe(0)
    await cure(ledger, ledger.write([{ ...write, max: 32 }]))
    expect(await ledger.write([{ ...write, max: 96 }])).toMatchObject([{ max: 96 }])
    await setBack(bench, { max: 32, forgotten: 96 })
    await expect(ledger.write([{ ...write, max: 64 }])).rejects.toMatchObject(refusal(/33 to 64/))
  })

  describe.each([
    ['its whole row', { value: 0, highWater: 0 }],
    ['its value alone', { value: 1 }],
  ])('an identity of which %s went back', (_, change) => {
    promise('gives no number again, and says what to do', async ({ ledger, database, edit }) => {
      const invoices = { database, name: 'invoices|' }
      const next = (id?: string) => ledger.nextIdentities([{ ...invoices, id, at: AT }])
      const id = newId()
      await next()
      await next(id)
      await edit(IDENTITIES, invoices, change)
      for (const again of [undefined, newId()])
        await expect(next(again)).rejects.toMatchObject(
          refusal(/^Identity 'invoices\|' of .* (1|2) .*2 .*raise-floor .* --all/),
        )
      expect(await next(id)).toEqual([{ value: 2 }])
      await ledger.seedIdentity({ ...invoices, value: 2, isForced: false })
      expect(await next()).toEqual([{ value: 3 }])
      await next(newId())
      await edit(IDENTITIES, invoices, change)
      await ledger.raiseFloors({ database, by: 10 })
      expect(await next()).toEqual([{ value: 15 }])
    })
  })
}
