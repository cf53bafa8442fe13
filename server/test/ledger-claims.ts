/** What a ledger promises about claims. */
import { expect } from 'vitest'
import { AT, grantOf, newId, type Promises, span } from './ledger-bench.js'

export function describeClaims(promise: Promises): void {
  promise('the first number is 1, and grants follow each other', async ({ take, max }) => {
    expect(span(await take())).toEqual([1, 32])
    expect(span(await take({ count: 100 }))).toEqual([33, 132])
    expect(await max()).toBe(132)
  })

  promise('a grant keeps what it was granted with', async ({ take }) => {
    const grant = await take({ serverTag: 'B', count: 40 })
    expect(grant).toEqual({
      low: 1,
      high: 40,
      count: 40,
      serverTag: 'B',
      at: AT,
      token: expect.stringMatching(/^[\w.-]{30,}$/),
      ledger: expect.stringMatching(/^[a-z\d]{16}$/),
    })
  })

  promise(
    'tags and databases are compared lower-cased; each has its own numbers',
    async ({ database, take }) => {
      await take()
      expect(span(await take({ collection: 'ORDERS', database: database.toUpperCase() }))).toEqual([
        33, 64,
      ])
      expect(span(await take({ collection: 'Ünïcode/…' }))).toEqual([1, 32])
      expect(span(await take({ database: `${database}-2` }))).toEqual([1, 32])
    },
  )

  promise('the same claim id is answered with the same grant', async ({ claim, take }) => {
    const first = await claim({ id: newId().replace(/^0/, 'a') })
    expect(first).toMatchObject({ isRepeat: false, results: [] })
    const id = newId()
    const grant = await take({ id, count: 50 })
    await take()
    expect(await claim({ id, count: 99, at: AT + 1, serverTag: 'B' })).toEqual({
      grant,
      isRepeat: true,
      results: [],
    })
    expect(span(await take({ id, collection: 'another' }))).toEqual([1, 32])
  })

  promise(
    'claims of one step are granted one after another, one id once',
    async ({ ledger, wish }) => {
      const id = newId()
      const outcomes = await ledger.claim([
        wish({ id }),
        wish(),
        wish({ collection: 'lines' }),
        wish({ id }),
        wish({ count: 40, collection: 'Orders' }),
      ])
      expect(outcomes.map((outcome) => span(grantOf(outcome)))).toEqual([
        [1, 32],
        [33, 64],
        [1, 32],
        [1, 32],
        [65, 104],
      ])
      expect(outcomes.map((outcome) => 'isRepeat' in outcome && outcome.isRepeat)).toEqual([
        false,
        false,
        false,
        true,
        false,
      ])
    },
  )
}
