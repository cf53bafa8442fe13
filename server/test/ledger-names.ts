/** What a ledger promises about its public name (H34). */
import { expect } from 'vitest'
import { AT, newId, type Promises, span } from './ledger-bench.js'

const OTHER = 'otherotherother2'

export function describeNames(promise: Promises): void {
  promise('its name is random, and the same for each server of it', async ({ open, ledger }) => {
    const name = await ledger.readName()
    expect(name).toMatch(/^[a-z\d]{16}$/)
    const other = await open()
    expect(await other.readName()).toBe(name)
    await other.close()
  })

  promise('a new secret, a raised floor and a drop keep it', async ({ open, ledger, database }) => {
    const name = await ledger.readName()
    await ledger.raiseFloors({ database, by: 10 })
    await ledger.drop({ database, at: AT })
    const other = await open()
    expect(await other.readName()).toBe(name)
    await other.close()
  })

  promise('each grant has it, also one that is answered again', async ({ ledger, wish }) => {
    const claim = wish({ id: newId() })
    const name = await ledger.readName()
    for (let i = 0; i < 2; i++)
      expect(await ledger.claim([claim])).toMatchObject([{ grant: { ledger: name } }])
  })

  promise(
    'a device of another ledger is granted nothing, and others of its commit are',
    async ({ ledger, database, wish, max }) => {
      const name = await ledger.readName()
      const outcomes = await ledger.claim([
        wish({ id: newId(), ledgers: { A: OTHER } }),
        wish({ id: newId(), ledgers: { A: name! } }),
        wish({ id: newId(), ledgers: { B: OTHER } }),
        wish({ id: newId(), ledgers: { A: `${name}/${database.toLowerCase()}` } }),
        wish({ id: newId(), ledgers: { A: `${name}/another` } }),
      ])
      expect(outcomes).toMatchObject([
        { refused: 'other-ledger', other: { held: OTHER, name, serverTag: 'A' } },
        { grant: { low: 1 } },
        { grant: { low: 33 } },
        { grant: { low: 65 } },
        { refused: 'other-ledger', other: { held: `${name}/another`, name, serverTag: 'A' } },
      ])
      expect(await max()).toBe(96)
    },
  )

  promise(
    'a device of another ledger keeps its tokens, and learns the name',
    async ({ ledger, database, take }) => {
      const { token } = await take()
      const checkIn = { database, at: AT, grants: [{ token, next: 1 }], serverTag: 'A' }
      const ledgers = { A: OTHER }
      await expect(ledger.checkIn({ ...checkIn, id: newId(), ledgers })).rejects.toMatchObject({
        name: 'HeldOfAnother',
      })
      expect(await ledger.checkIn({ ...checkIn, id: newId() })).toMatchObject([{ high: 32 }])
    },
  )

  promise(
    'a ledger that follows another one begins above it, and says so, in that database alone',
    async ({ open, ledger, database, wish, take }) => {
      await take()
      await ledger.follow({ database, name: OTHER, above: 1_000 })
      const asked = (name: string) => wish({ database: name, ledgers: { A: OTHER }, id: newId() })
      const other = await open()
      for (const each of [ledger, other]) {
        const outcomes = await each.claim([asked(database), asked(`${database}-two`)])
        const held = { refused: 'other-ledger', other: { held: OTHER } }
        expect(outcomes).toMatchObject([{ ...held, other: { above: 1_000 } }, held])
        expect(outcomes[1]).not.toHaveProperty('other.above', 1_000)
      }
      await other.close()
      expect(span(await take())[0]).toBe(1_033)
      expect(span(await take({ collection: 'lines' }))[0]).toBe(1_001)
    },
  )

  promise(
    'a device with a series of another ledger is given none, and keeps its token',
    async ({ ledger, database }) => {
      const claim = { database, collection: 'receipts', device: '', at: AT, serverTag: 'A' }
      const name = await ledger.readName()
      const begun = await ledger.claimSeries({ ...claim, id: newId(), ledger: name })
      expect(begun).toMatchObject({ ordinal: 1, ledger: name })
      const { token } = begun as { token: string }
      expect(await ledger.claimSeries({ ...claim, id: newId(), ledger: OTHER })).toMatchObject({
        refused: 'other-ledger',
        other: { held: OTHER, name, serverTag: 'A' },
      })
      const told = { database, token, last: 1, at: AT }
      await expect(
        ledger.checkInSeries({ ...told, id: newId(), ledger: OTHER }),
      ).rejects.toMatchObject({ name: 'HeldOfAnother' })
      expect(await ledger.series(database)).toMatchObject([{ last: 0 }])
      expect(await ledger.checkInSeries({ ...told, id: newId() })).toHaveProperty('token')
      expect(await ledger.claimSeries({ ...claim, id: newId() })).toMatchObject({ ordinal: 2 })
    },
  )

  promise(
    'a ledger that follows another one gives letters above it, also of new collections',
    async ({ ledger, database }) => {
      const claim = { database, collection: 'receipts', device: '', at: AT }
      await ledger.claimSeries({ ...claim, id: newId() })
      await ledger.follow({ database, name: OTHER, above: 1_000 })
      const other = await ledger.claimSeries({ ...claim, id: newId(), ledger: OTHER })
      expect(other).toMatchObject({ refused: 'other-ledger', other: { above: 1_000 } })
      const letterOf = async (collection: string) =>
        ((await ledger.claimSeries({ ...claim, collection, id: newId() })) as { ordinal: number })
          .ordinal
      expect([await letterOf('receipts'), await letterOf('bills')]).toEqual([1_002, 1_001])
    },
  )
}
