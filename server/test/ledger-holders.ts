/** What a ledger promises about how many numbers one holder may have outstanding. */
import { expect } from 'vitest'
import { AT, held, newId, type Promises, span } from './ledger-bench.js'

export function describeHolders(promise: Promises): void {
  const anna = { name: 'anna', most: 50 }

  promise(
    'who holds as many as it may is granted what is left, then nothing',
    async ({ claim, take }) => {
      expect(span(await take({ holder: anna }))).toEqual([1, 32])
      expect(await claim({ holder: anna })).toEqual({ refused: 'holder', max: 32 })
      const rest = await take({ holder: anna })
      expect([span(rest), rest.count]).toEqual([[33, 50], 32])
      expect(await claim({ id: newId(), holder: anna })).toEqual({ refused: 'holder', max: 50 })
    },
  )

  promise(
    'each holder counts for itself, in each collection, and nobody without a limit',
    async ({ claim, take }) => {
      for (const holder of [anna, { name: 'ben', most: 50 }]) await take({ count: 50, holder })
      expect(span(await take({ tag: 'lines', holder: anna }))).toEqual([1, 32])
      expect(span(await take({ tag: 'ORDERS' }))).toEqual([101, 132])
      expect(await claim({ tag: 'Orders', holder: anna })).toEqual({ refused: 'holder', max: 132 })
    },
  )

  promise('claims of one step count together', async ({ ledger, wish }) => {
    const outcomes = await ledger.claim([
      wish({ holder: anna }),
      wish({ id: newId(), holder: anna }),
      wish({ holder: anna }),
      wish({ tag: 'lines', holder: anna }),
    ])
    expect(
      outcomes.map((outcome) => ('grant' in outcome ? span(outcome.grant) : outcome.refused)),
    ).toEqual([[1, 32], [33, 50], 'holder', [1, 32]])
  })

  promise(
    'a claim that is repeated is answered, whatever its holder holds',
    async ({ claim, take }) => {
      const id = newId()
      const grant = await take({ id, count: 50, holder: anna })
      expect(await claim({ id, count: 50, holder: anna })).toEqual({ grant, isRepeat: true })
    },
  )

  promise(
    'what is given back does not count any more',
    async ({ claim, take, takePlain, giveBack, giveBackPlain }) => {
      const grant = await take({ count: 50, holder: anna })
      await giveBack(grant, 50, 10)
      expect(span(await take({ count: 40, holder: anna }))).toEqual([11, 50])
      expect(await claim({ holder: anna })).toEqual({ refused: 'holder', max: 50 })
      const ben = { name: 'ben', most: 50 }
      await takePlain({ count: 50, holder: ben })
      await giveBackPlain(100, 70)
      // A client of RavenDB returns a range when it is done with it: the rest was issued.
      expect(span(await takePlain({ count: 50, holder: ben }))).toEqual([71, 120])
    },
  )

  promise(
    'what a check-in tells to be issued does not count any more',
    async ({ ledger, database, claim, take }) => {
      const [first, second] = [
        await take({ holder: anna }),
        await take({ count: 18, holder: anna }),
      ]
      const tell = (lease: string, next: number, ...spent: string[]) =>
        ledger.checkIn({ database, id: newId(), leases: [{ lease, next }], spent })
      const [fate] = await tell(first.lease, 31)
      expect(span(await take({ count: 30, holder: anna }))).toEqual([51, 80])
      expect(await claim({ id: newId(), holder: anna })).toEqual({ refused: 'holder', max: 80 })
      await tell(held(fate).lease, 1_000, second.lease)
      expect(span(await take({ holder: anna }))).toEqual([81, 100])
      expect(await claim({ id: newId(), holder: anna })).toEqual({ refused: 'holder', max: 100 })
    },
  )

  promise('who held what is forgotten with time', async ({ ledger, claim, take }) => {
    await take({ count: 50, holder: anna })
    await ledger.prune(AT)
    expect(await claim({ holder: anna })).toEqual({ refused: 'holder', max: 50 })
    await ledger.prune(AT + 1)
    expect(span(await take({ holder: anna }))).toEqual([51, 82])
  })

  promise(
    'a limit holds for claims that come at the same time, to several servers',
    async ({ open, wish }) => {
      const servers = await Promise.all([open(), open(), open()])
      const outcomes = await Promise.all(
        Array.from({ length: 12 }, (_, i) =>
          servers[i % 3]!.claim([wish({ id: newId(), count: 7, holder: anna })]),
        ),
      )
      const granted = outcomes
        .flat()
        .reduce(
          (sum, outcome) =>
            sum + ('grant' in outcome ? outcome.grant.high - outcome.grant.low + 1 : 0),
          0,
        )
      expect(granted).toBe(50)
      await Promise.all(servers.map((server) => server.close()))
    },
  )
}
