/** What a ledger promises about what is dropped: names go, and no number of before comes back. */
import { expect } from 'vitest'
import type { Grant } from '../src/ledger/ledger.js'
import { AT, DAY_MS, newId, type Promises, span } from './ledger-bench.js'

export function describeDrops(promise: Promises): void {
  promise(
    'a dropped collection goes; numbers go on above all that were granted',
    async ({ ledger, database, take, giveBack, checkIn, max }) => {
      const [held, returned] = [await take(), await take()]
      await giveBack(returned, 64, 32)
      await take({ collection: 'lines' })
      await ledger.drop({ database: database.toUpperCase(), collection: 'Orders', at: AT })
      const left = (await ledger.status()).filter((status) => status.database === database)
      expect(left.map(({ collection }) => collection)).toEqual(['lines'])
      expect(await max()).toBe(64)
      expect(await checkIn(newId(), held.token, returned.token)).toEqual(['dropped', 'dropped'])
      expect(await giveBack(held, 32, 0)).toBe(0)
      await ledger.write([{ database, collection: 'orders', max: 0 }])
      expect(span(await take())).toEqual([65, 96])
      expect(await giveBack(held, 32, 0)).toBe(0)
      expect(span(await take())).toEqual([97, 128])
      expect(await ledger.status()).toContainEqual(
        expect.objectContaining({ database, collection: 'orders', grants: 2, outstanding: 64 }),
      )
    },
  )

  promise(
    'what was forgotten of a dropped collection goes, too: a device that comes back holds nothing',
    async ({ ledger, database, take, checkIn }) => {
      const [held, kept] = [await take(), await take({ collection: 'lines' })]
      await ledger.prune({ settledBefore: AT, heardBefore: AT + DAY_MS })
      await ledger.drop({ database, collection: 'orders', at: AT })
      expect(await checkIn(newId(), held.token)).toEqual(['dropped'])
      expect(await checkIn(newId(), kept.token)).toEqual([expect.objectContaining({ high: 32 })])
    },
  )

  promise(
    'a dropped database goes with its identities; none of their numbers comes twice',
    async ({ ledger, database, take, checkIn }) => {
      const claim = { database, name: 'invoices|', at: AT }
      await ledger.nextIdentities([{ ...claim, id: newId() }, claim])
      const { token } = await take()
      await ledger.drop({ database, at: AT })
      expect(await ledger.hasIdentity(claim)).toBe(false)
      expect(await ledger.nextIdentities([claim])).toEqual([{ value: 3 }])
      expect(await ledger.hasIdentity(claim)).toBe(true)
      expect(await checkIn(newId(), token)).toEqual(['dropped'])
      expect(span(await take())).toEqual([33, 64])
    },
  )

  promise(
    'a device hears that its collection was dropped, also where the collection exists anew',
    async ({ ledger, database, take, claim, checkIn }) => {
      const [shown, kept] = [await take(), await take()]
      await ledger.drop({ database, collection: 'orders', at: AT })
      const answer = await claim({ id: newId(), shown: [{ token: shown.token, next: 1 }] })
      expect(answer).toMatchObject({ grant: { low: 65, high: 96 }, results: ['dropped'] })
      const { token } = (answer as { grant: Grant }).grant
      expect(await checkIn(newId(), shown.token, kept.token, token)).toEqual([
        'dropped',
        'dropped',
        expect.objectContaining({ high: 96 }),
      ])
    },
  )

  promise(
    'a token of a dropped collection proves no copy, and hides none',
    async ({ ledger, database, take, checkIn }) => {
      const [gone, kept] = [await take(), await take({ collection: 'lines' })]
      await checkIn(newId(), gone.token, kept.token)
      await ledger.drop({ database, collection: 'orders', at: AT })
      expect(await checkIn(newId(), gone.token)).toEqual(['dropped'])
      expect(await checkIn(newId(), gone.token, kept.token)).toEqual(['dropped', 'superseded'])
    },
  )

  promise(
    'a series of a dropped collection is not known any more: its device makes no number in it',
    async ({ ledger, database }) => {
      const claim = { database, collection: 'receipts', id: newId(), device: 'Till 1', at: AT }
      const { token } = (await ledger.claimSeries(claim)) as { token: string }
      await ledger.drop({ database, collection: 'receipts', at: AT })
      const checkIn = { database, id: newId(), token, last: 0, at: AT }
      expect(await ledger.checkInSeries(checkIn)).toBe('unknown')
      expect(await ledger.claimSeries({ ...claim, id: newId() })).toMatchObject({ name: 'B' })
    },
  )

  promise(
    'a stopped database that is dropped is told no more; under its name nothing is granted until ' +
      'its floors are raised',
    async ({ ledger, database, claim, take, checkIn, lost }) => {
      await take()
      await checkIn(newId(), await lost())
      await ledger.drop({ database, collection: 'orders', at: AT })
      expect(await ledger.restored()).toContain(database)
      await ledger.drop({ database, at: AT })
      expect(await ledger.restored()).not.toContain(database)
      await checkIn(newId(), await lost())
      expect(await ledger.restored()).not.toContain(database)
      expect(await claim({ id: newId() })).toMatchObject({ refused: 'restored' })
      await ledger.raiseFloors({ database, by: 1_000 })
      expect(span(await take())).toEqual([1_033, 1_064])
    },
  )

  promise(
    'what is written about people goes with a drop, and a name is never given twice',
    async ({ ledger, database }) => {
      const claim = (collection: string, name: string) =>
        ledger.claimSeries({ database, collection, id: newId(), device: 'Anna', name, at: AT })
      for (const collection of ['receipts', 'bills']) await claim(collection, 'T1')
      for (const collection of ['receipts', 'bills'])
        await ledger.closeSeries({
          database,
          collection,
          letter: 'T1',
          by: 'Berta',
          reason: 'Anna lost it',
          at: AT,
        })
      await ledger.drop({ database, collection: 'receipts', at: AT })
      const written = async () =>
        (await ledger.series(database)).map(({ collection, device, closed }) => [
          collection,
          device,
          closed?.by,
          closed?.reason,
        ])
      expect(await written()).toEqual([
        ['bills', 'Anna', 'Berta', 'Anna lost it'],
        ['receipts', '', '', ''],
      ])
      expect(await claim('receipts', 'T1')).toMatchObject({ refused: 'taken' })
      await ledger.drop({ database, at: AT })
      expect(JSON.stringify(await ledger.series(database))).not.toMatch(/Anna|Berta/)
    },
  )

  promise('a dropped database makes room for another', async ({ open, ledger, database, wish }) => {
    const databases = new Set((await ledger.status()).map((status) => status.database)).size
    const full = await open({ databases: databases + 1 })
    const outcomeIn = async (name: string) =>
      (await full.claim([wish({ database: name, id: newId() })]))[0]
    expect(await outcomeIn(`${database}-a`)).toHaveProperty('grant')
    expect(await outcomeIn(`${database}-b`)).toHaveProperty('refused', 'full')
    await full.drop({ database: `${database}-a`, at: AT })
    expect(await outcomeIn(`${database}-b`)).toHaveProperty('grant')
    expect(await outcomeIn(`${database}-a`)).toHaveProperty('refused', 'full')
    await full.close()
  })
}
