/** What a ledger promises about check-ins, and to those who were copied. */
import { expect } from 'vitest'
import { AT, grantOf, held, newId, type Promises, span } from './ledger-bench.js'

export function describeCheckIns(promise: Promises): void {
  promise(
    'a check-in replaces the token; a late give-back under the old one is ignored',
    async ({ take, giveBack, checkIn }) => {
      const grant = await take()
      const result = held((await checkIn(newId(), grant.token))[0])
      expect(result.high).toBe(32)
      expect(result.token).not.toBe(grant.token)
      expect(await giveBack(grant, 32, 10)).toBe(0)
      expect(await giveBack(result, 32, 10)).toBe(22)
    },
  )

  promise('a check-in tells what a give-back has left', async ({ take, giveBack, checkIn }) => {
    const grant = await take()
    await giveBack(grant, 32, 10)
    expect(await checkIn(newId(), grant.token)).toEqual([{ token: expect.any(String), high: 10 }])
    const other = await take({ collection: 'lines' })
    await giveBack(other, 32, 0, 'lines')
    expect(await checkIn(newId(), other.token)).toEqual([{ token: expect.any(String), high: 0 }])
  })

  promise(
    'a check-in sent again is answered the same way; another one is told it was superseded',
    async ({ take, checkIn }) => {
      const grant = await take()
      const id = newId()
      const first = await checkIn(id, grant.token, grant.token)
      expect(first[0]).toEqual(first[1])
      expect(await checkIn(id, grant.token)).toEqual([first[0]])
      expect(await checkIn(newId(), grant.token)).toEqual(['superseded'])
      const { token } = held(first[0])
      expect(held((await checkIn(newId(), token))[0]).token).not.toBe(token)
      expect(await checkIn(id, grant.token)).toEqual(['superseded'])
    },
  )

  promise(
    'a claim that shows a token checks it in; sent again it is answered the same way',
    async ({ claim, take, giveBack }) => {
      const { token } = await take()
      const id = newId()
      const shown = [{ token, next: 5 }]
      const first = await claim({ id, shown })
      expect(first).toMatchObject({ isRepeat: false, results: [{ high: 32 }] })
      const again = await claim({ id, shown })
      expect(again).toEqual({ ...first, isRepeat: true })
      expect(await giveBack({ token }, 32, 10)).toBe(0)
      const [result] = 'results' in first ? first.results : []
      expect(await giveBack(held(result), 32, 3)).toBe(0)
      expect(await giveBack(held(result), 32, 4)).toBe(28)
    },
  )

  promise(
    'of two copies of a device, the second to claim is told so at once, and what it held goes ' +
      'to nobody',
    async ({ claim, take, giveBack }) => {
      const { token } = await take()
      const shown = [{ token, next: 1 }]
      const [first, second] = [
        await claim({ shown, id: newId() }),
        await claim({ shown, id: newId() }),
      ]
      expect(first).toMatchObject({ grant: { low: 33 }, results: [{ high: 32 }] })
      expect(second).toMatchObject({ grant: { low: 65 }, results: ['superseded'] })
      const [result] = 'results' in first ? first.results : []
      expect(await giveBack(held(result), 32, 0)).toBe(0)
      expect(span(await take())).toEqual([97, 128])
    },
  )

  promise(
    'one token proves a copy: it holds nothing of its other grants either, which the device that ' +
      'went on keeps',
    async ({ claim, take, giveBack, checkIn }) => {
      const [older, newer] = [await take(), await take()]
      // A device that goes on shows its newest token only.
      const next = await claim({ id: newId(), shown: [{ token: newer.token, next: 33 }] })
      const [result] = 'results' in next ? next.results : []
      expect(await checkIn(newId(), older.token, newer.token)).toEqual(['superseded', 'superseded'])
      expect(await giveBack(older, 32, 10)).toBe(0)
      expect(await checkIn(newId(), older.token, held(result).token)).toMatchObject([
        { high: 32 },
        { high: 64 },
      ])
    },
  )

  promise(
    'what a copy has used ahead of the other ends the grant for both; a late repetition ends none',
    async ({ take, checkIn, ledger, database }) => {
      const show = (token: string, next: number, id = newId()) =>
        ledger.checkIn({ database, id, at: AT, grants: [{ token, next }] })
      const { token } = await take()
      const id = newId()
      const first = held((await show(token, 5, id))[0])
      const second = held((await show(first.token, 9))[0])
      expect(await show(token, 5, id)).toEqual(['superseded'])
      const third = held((await show(second.token, 10))[0])
      expect(await show(second.token, 10)).toEqual(['superseded'])
      expect(held((await show(third.token, 12))[0]).high).toBe(32)

      const copied = await take()
      const original = held((await checkIn(newId(), copied.token))[0])
      expect(await show(copied.token, 40)).toEqual(['superseded'])
      const last = newId()
      expect(await show(original.token, 36, last)).toEqual(['superseded'])
      expect(await show(original.token, 36, last)).toEqual(['superseded'])
    },
  )

  promise('a claim that is refused replaces no token', async ({ claim, take, checkIn }) => {
    const { token } = await take()
    const shown = [{ token, next: 1 }]
    expect(await claim({ id: newId(), lastMax: 1e9, shown })).toMatchObject({ refused: 'jump' })
    expect(await checkIn(newId(), token)).toEqual([{ token: expect.any(String), high: 32 }])
  })

  promise(
    'once a copy is found, nobody is granted what the grant’s copies gave back or will give ' +
      'back: the other may have issued it',
    async ({ ledger, database, take, giveBack, checkIn }) => {
      const grant = await take()
      const result = held((await checkIn(newId(), grant.token))[0])
      expect(await giveBack(result, 32, 10)).toBe(22)
      expect(await checkIn(newId(), grant.token)).toEqual(['superseded'])
      await ledger.write([{ database, collection: 'orders', max: 0 }])
      expect(span(await take())).toEqual([33, 64])
      expect(await giveBack(result, 10, 5)).toBe(0)
      expect(span(await take())).toEqual([65, 96])
      expect(held((await checkIn(newId(), result.token))[0]).high).toBe(10)
    },
  )

  promise(
    'a copy that claims for another collection is found as by a check-in: what it may have ' +
      'issued goes to nobody',
    async ({ ledger, claim, take, giveBack, checkIn, wish }) => {
      const grant = await take()
      const result = held((await checkIn(newId(), grant.token))[0])
      expect(await giveBack(result, 32, 10)).toBe(22)
      const shown = [{ token: grant.token, next: 21 }]
      const lines = { collection: 'lines', id: newId(), shown }
      expect(await claim(lines)).toMatchObject({ grant: { low: 1 }, results: ['superseded'] })
      expect(span(await take())).toEqual([33, 64])
      expect(await giveBack(result, 10, 5)).toBe(0)
      // Also where one commit has a claim for both, in either order.
      const other = await take({ collection: 'bills' })
      const kept = held((await checkIn(newId(), other.token))[0])
      expect(await giveBack(kept, 32, 10, 'bills')).toBe(22)
      const copied = [{ token: other.token, next: 21 }]
      const outcomes = await ledger.claim([
        wish({ id: newId(), shown: copied }),
        wish({ id: newId(), collection: 'bills' }),
        wish({ id: newId(), collection: 'lines', shown: copied }),
      ])
      expect(outcomes.map((outcome) => span(grantOf(outcome)))).toEqual([
        [65, 96],
        [33, 64],
        [33, 64],
      ])
    },
  )

  promise(
    'a token is replaced by whichever claim shows it, and a dropped collection stays dropped',
    async ({ ledger, database, claim, take, checkIn }) => {
      const { token } = await take()
      const lines = { collection: 'lines', id: newId(), shown: [{ token, next: 5 }] }
      expect(await claim(lines)).toMatchObject({ results: [{ high: 32 }] })
      expect(await checkIn(newId(), token)).toEqual(['superseded'])
      await ledger.drop({ database, collection: 'orders', at: AT })
      await claim({ ...lines, id: newId() })
      const names = (await ledger.status()).filter((status) => status.database === database)
      expect(names.map(({ collection }) => collection)).toEqual(['lines'])
    },
  )

  promise(
    'a copy makes a gap of what its grant held, and of no free number around it',
    async ({ take, giveBack, checkIn }) => {
      const [below, copied, above] = [await take(), await take(), await take()]
      const result = held((await checkIn(newId(), copied.token))[0])
      await giveBack(below, 32, 0)
      await giveBack(above, 96, 64)
      await giveBack(result, 64, 32)
      expect(await checkIn(newId(), copied.token)).toEqual(['superseded'])
      expect(span(await take())).toEqual([1, 32])
      expect(span(await take())).toEqual([65, 96])
    },
  )

  promise(
    'a token of a grant that was pruned proves nothing, and its device holds nothing: what is ' +
      'free is granted',
    async ({ ledger, take, giveBack, checkIn }) => {
      const [gone, kept] = [await take(), await take()]
      await giveBack(gone, 32, 0)
      await ledger.prune({ settledBefore: AT + 1, heardBefore: AT })
      expect(await checkIn(newId(), gone.token)).toEqual(['superseded'])
      expect(span(await take())).toEqual([1, 32])
      expect(held((await checkIn(newId(), kept.token))[0]).high).toBe(64)
    },
  )

  promise(
    'a token of another database is unknown there, proves nothing, and gives nothing back',
    async ({ ledger, database, wish, take, giveBack }) => {
      const evil = `${database}-evil`
      for (let i = 0; i < 5; i++) await ledger.claim([wish({ database: evil, id: newId() })])
      const [outcome] = await ledger.claim([wish({ database: evil, id: newId() })])
      const { token } = grantOf(outcome!)
      const [first] = [await take(), await take()]
      await giveBack(first, 32, 0)
      expect(
        await ledger.checkIn({ database, id: newId(), at: AT, grants: [{ token, next: 0 }] }),
      ).toEqual(['unknown'])
      expect(await giveBack({ token }, 64, 40)).toBe(0)
      expect(span(await take())).toEqual([1, 32])
    },
  )

  promise(
    'a check-in knows no grant that was never granted, or in another database',
    async ({ ledger, take, checkIn }) => {
      const grant = await take()
      expect(
        await ledger.checkIn({
          database: 'other',
          id: newId(),
          at: AT,
          grants: [{ token: grant.token, next: 0 }],
        }),
      ).toEqual(['unknown'])
      expect(await checkIn(newId(), 'nonsense', grant.token.replace('.0.', '.1.'))).toEqual([
        'unknown',
        'unknown',
      ])
      expect(await checkIn(newId())).toEqual([])
    },
  )

  promise(
    'what a check-in said was issued never comes back',
    async ({ ledger, database, take, giveBack, max }) => {
      const grant = await take()
      const [result] = await ledger.checkIn({
        database,
        id: newId(),
        at: AT,
        grants: [{ token: grant.token, next: 21 }],
      })
      expect(await giveBack(held(result), 32, 19)).toBe(0)
      expect(await giveBack(held(result), 32, 20)).toBe(12)
      const [later] = await ledger.checkIn({
        database,
        id: newId(),
        at: AT,
        grants: [{ token: held(result).token, next: 1 }],
      })
      expect(await giveBack(held(later), 20, 10)).toBe(0)
      expect(await max()).toBe(20)
    },
  )

  promise(
    'of a grant that is spent nothing comes back, and a copy of its device holds nothing of it',
    async ({ ledger, database, take, giveBack, checkIn, max }) => {
      const grant = await take()
      const { token } = held((await checkIn(newId(), grant.token))[0])
      const spend = (...spent: string[]) =>
        ledger.checkIn({ database, id: newId(), at: AT, grants: [], spent })
      await spend(grant.token, 'nonsense')
      expect(await giveBack({ token }, 32, 30)).toBe(2)
      expect(await spend(token, token)).toEqual([])
      expect(await giveBack({ token }, 30, 20)).toBe(0)
      expect(await max()).toBe(30)
      expect(await checkIn(newId(), token)).toEqual(['superseded'])
    },
  )

  promise(
    'a claim repeated after its numbers were in use is refused',
    async ({ claim, take, giveBack, checkIn }) => {
      const ids = [newId(), newId()]
      const grants = [await take({ id: ids[0] }), await take({ id: ids[1] })]
      await checkIn(newId(), grants[0]!.token)
      await giveBack(grants[1]!, 64, 40)
      for (const id of ids) expect(await claim({ id })).toEqual({ refused: 'spent', max: 40 })
    },
  )
}
