/** What a ledger promises about numbers that come back. */
import { expect } from 'vitest'
import { AT, newId, type Promises, span } from './ledger-bench.js'

export function describeGiveBacks(promise: Promises): void {
  promise('a tail that is given back is granted next', async ({ take, giveBack, max }) => {
    const grant = await take()
    expect(await giveBack(grant, 32, 10)).toBe(22)
    expect(await max()).toBe(10)
    expect(span(await take())).toEqual([11, 42])
  })

  promise(
    'numbers above those of a copied grant come back, and the counter still grants',
    async ({ ledger, database, take, giveBack, max }) => {
      const first = await take()
      const show = ({ token }: { token: string }) =>
        ledger.checkIn({ database, at: AT, id: newId(), grants: [{ token, next: 1 }] })
      const [shown] = (await show(first)) as { token: string }[]
      await giveBack({ ...first, token: shown!.token }, 32, 0)
      const second = await take({ count: 64 })
      expect(span(second)).toEqual([1, 64])
      // A late message, or a copy, shows the first token again.
      expect(await show(first)).toEqual(['superseded'])
      await giveBack(second, 64, 10)
      expect(await max()).toBe(32)
      expect(span(await take())).toEqual([33, 64])
    },
  )

  promise('a give-back repeated frees nothing', async ({ take, giveBack, max }) => {
    const grant = await take()
    await giveBack(grant, 32, 10)
    await take({ count: 32 })
    expect(await giveBack(grant, 32, 10)).toBe(0)
    expect(await max()).toBe(42)
  })

  promise(
    'a grant can be given back in parts, always from its end',
    async ({ take, giveBack, max }) => {
      const grant = await take()
      expect(await giveBack(grant, 32, 20)).toBe(12)
      expect(await giveBack(grant, 10, 5)).toBe(0)
      expect(await giveBack(grant, 20, 0)).toBe(20)
      expect(await max()).toBe(0)
    },
  )

  promise(
    'what does not end at max is free, and granted again first',
    async ({ take, giveBack, max }) => {
      const grant = await take()
      await take()
      expect(await giveBack(grant, 32, 10)).toBe(22)
      expect(await max()).toBe(64)
      expect(span(await take({ count: 10, lastMax: 64 }))).toEqual([11, 20])
      expect(span(await take({ count: 32 }))).toEqual([21, 32])
      expect(span(await take())).toEqual([65, 96])
    },
  )

  promise(
    'the free range is taken that holds all, else the largest',
    async ({ take, giveBack }) => {
      const grants = [await take({ count: 40 }), await take({ count: 60 }), await take()]
      await giveBack(grants[0]!, 40, 0)
      await giveBack(grants[1]!, 100, 70)
      expect(span(await take({ count: 35 }))).toEqual([1, 35])
      expect(span(await take({ count: 35 }))).toEqual([71, 100])
    },
  )

  promise(
    'a claim without an id is never given less than it asked for',
    async ({ take, takePlain, giveBack }) => {
      const grant = await take()
      await take()
      await giveBack(grant, 32, 10)
      expect(span(await takePlain())).toEqual([65, 96])
    },
  )

  promise('free ranges that reach max are joined to it', async ({ take, giveBack, max }) => {
    const grants = [await take(), await take(), await take()]
    await giveBack(grants[1]!, 64, 32)
    await giveBack(grants[0]!, 32, 5)
    expect(await giveBack(grants[2]!, 96, 64)).toBe(32)
    expect(await max()).toBe(5)
  })

  promise(
    'a forged or mistaken give-back frees nothing',
    async ({ ledger, take, giveBack, max }) => {
      await take()
      const grant = await take()
      const { token } = grant
      for (const [end, last] of [
        [64, 31],
        [64, 64],
        [64, 70],
        [63, 40],
        [32, 1],
        [0, 1],
      ] as const)
        expect(await giveBack(grant, end, last)).toBe(0)
      // Collections that are there, with grants of their own.
      await take({ collection: 'lines' })
      await take({ database: 'other' })
      expect(await giveBack(grant, 64, 40, 'lines')).toBe(0)
      expect(
        await ledger.giveBack({
          database: 'other',
          collection: 'orders',
          end: 64,
          last: 40,
          token,
          at: AT,
        }),
      ).toBe(0)
      const forged = [
        token.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')),
        token.replace('.0.', '.1.'),
        '',
        'x',
        `${token} `,
      ]
      for (const token of forged) expect(await giveBack({ token: token }, 64, 40)).toBe(0)
      expect(await max()).toBe(64)
    },
  )

  promise(
    "RavenDB's return: the newest grant's tail comes back",
    async ({ takePlain, giveBackPlain, max }) => {
      await takePlain()
      expect(await giveBackPlain(32, 5)).toBe(27)
      expect(await max()).toBe(5)
    },
  )

  promise(
    "RavenDB's return repeated later does not free another client's numbers",
    async ({ takePlain, giveBackPlain, max }) => {
      await takePlain()
      await giveBackPlain(32, 5)
      expect(span(await takePlain({ count: 32 }))).toEqual([6, 37])
      await giveBackPlain(37, 32)
      expect(await max()).toBe(32)
      expect(await giveBackPlain(32, 5)).toBe(0)
      expect(await max()).toBe(32)
    },
  )

  promise(
    'the same numbers granted again do not make an old return valid',
    async ({ takePlain, giveBackPlain, max }) => {
      await takePlain()
      expect(await giveBackPlain(32, 0)).toBe(32)
      expect(span(await takePlain())).toEqual([1, 32])
      expect(await giveBackPlain(32, 0)).toBe(0)
      expect(await max()).toBe(32)
    },
  )

  promise(
    'a return that came too early is not honoured later',
    async ({ take, takePlain, giveBack, giveBackPlain, max }) => {
      await takePlain()
      const next = await take()
      expect(await giveBackPlain(32, 5)).toBe(0)
      await giveBack(next, 64, 32)
      expect(await giveBackPlain(32, 5)).toBe(0)
      expect(await max()).toBe(32)
    },
  )

  promise(
    'a return without a token cannot shorten a grant that was claimed with an id, or checked in',
    async ({ take, takePlain, giveBackPlain, checkIn, max }) => {
      await take()
      expect(await giveBackPlain(32, 5)).toBe(0)
      const plain = await takePlain()
      await checkIn(newId(), plain.token)
      expect(await giveBackPlain(64, 40)).toBe(0)
      expect(await giveBackPlain(64, 5)).toBe(0)
      expect(await max()).toBe(64)
    },
  )
}
