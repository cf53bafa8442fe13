/** The owner’s claims: stored before they are sent, repeated as they were, added once. */
import { describe, expect, test } from 'vitest'
import { HiloError } from '../../src/core/errors.js'
import type { Owner } from '../../src/device/contract.js'
import { type Exchange, emptyState } from '../../src/device/state.js'
import { range } from '../support/ranges.js'
import {
  DiskStore,
  exchangeOf,
  FakeSource,
  FakeWorld,
  fail,
  failureOf,
  flush,
  KEY,
  lease,
  must,
  ownerIn,
  release,
  target,
  unreachable,
} from '../support/world.js'

const refused = (status: number, retryAfter?: number) =>
  new HiloError('server-refused', `It answered ${status}.`, {
    status,
    ...(retryAfter && { retryAfter }),
  })

describe('a claim', () => {
  test('is stored before it is sent', async () => {
    const world = new FakeWorld()
    let stored: unknown
    world.source.onClaim = async () => {
      stored = (await world.stored()).claim
    }
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    expect(stored).toEqual(world.source.claims[0])
  })

  test('is made for a page that asks for a number, and for no other', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await lease(owner, 0))
    await flush()
    expect(world.source.claims).toEqual([])
    must(await lease(owner, 1))
    await flush()
    expect(world.source.claims).toHaveLength(1)
  })

  test('that waits to be repeated is not sent after a release, until somebody asks', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(unreachable())
    const { owner } = ownerIn(world)
    failureOf(await owner.claim(target, 1))
    const other = ownerIn(new FakeWorld({ store: world.store, source: world.source })).owner
    must(await release(other))
    await world.pass(1_000)
    expect(world.source.claims).toHaveLength(1)
    world.source.onClaim = () => {}
    must(await lease(owner, 1))
    await world.pass(100)
    expect(world.source.claims[1]).toEqual(world.source.claims[0])
  })

  test('that is asked for within a pause is sent after it, also after a release', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(refused(503, 10_000))
    const { owner } = ownerIn(world)
    failureOf(await owner.claim(target, 1))
    must(await release(owner))
    await lease(owner, 1)
    expect(failureOf(await owner.claim(target, 1))).toMatchObject({ isRepeated: true })
    await world.pass(9_999)
    expect(world.source.claims).toHaveLength(1)
    await world.pass(1)
    await flush()
    expect(world.source.claims).toHaveLength(2)
  })

  test('whose answer was lost is sent again as it was, and brings the same grant', async () => {
    const world = new FakeWorld()
    world.source.onClaim = (claim) => {
      world.source.server.grant(claim, claim.lastBatchSize)
      throw unreachable()
    }
    const { owner } = ownerIn(world)
    expect(failureOf(await owner.claim(target, 1)).code).toBe('server-unreachable')
    world.source.onClaim = () => {}
    await world.pass(1_000)
    expect(world.source.claims[1]).toEqual(world.source.claims[0])
    expect((await world.stored()).ranges).toMatchObject([{ from: 1, to: 32 }])
  })

  test('of a page that was killed is sent again by the next page, with the same id', async () => {
    const store = new DiskStore()
    const source = new FakeSource()
    source.onClaim = () => new Promise(() => {})
    ownerIn(new FakeWorld({ store, source })).owner.claim(target, 1)
    await flush()
    source.onClaim = () => {}
    must(await ownerIn(new FakeWorld({ store, source })).owner.claim(target, 1))
    expect(source.claims[1]).toEqual(source.claims[0])
  })

  test('that two tabs send is added once', async () => {
    const store = new DiskStore()
    const source = new FakeSource()
    const answers: (() => void)[] = []
    source.onClaim = () => new Promise<void>((answer) => answers.push(answer))
    const tabs = [1, 2].map(() => ownerIn(new FakeWorld({ store, source })).owner.claim(target, 1))
    await flush()
    expect(source.claims).toHaveLength(2)
    for (const answer of answers) answer()
    const views = (await Promise.all(tabs)).map((answer) => must(answer).view.free)
    expect(views).toEqual([32, 32])
  })

  test('is made once for all who ask while it is under way', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    const answers = await Promise.all([1, 2, 3].map((want) => owner.claim(target, want)))
    expect(world.source.claims).toHaveLength(1)
    expect(answers.map((answer) => must(answer).view.free)).toEqual([32, 32, 32])
  })

  test('that is under way in the background is not begun again, and nothing is told', async () => {
    const world = new FakeWorld()
    world.source.onClaim = () => new Promise(() => {})
    const { owner, views } = ownerIn(world)
    await lease(owner, 1)
    await flush()
    const told = views.length
    await lease(owner, 1)
    await flush()
    expect(views).toHaveLength(told)
    expect(world.source.claims).toHaveLength(1)
  })

  test('is not sent when another tab has claimed enough in the meantime', async () => {
    const store = new DiskStore()
    const source = new FakeSource()
    must(await ownerIn(new FakeWorld({ store, source })).owner.claim(target, 16))
    must(await ownerIn(new FakeWorld({ store, source })).owner.claim(target, 16))
    expect(source.claims).toHaveLength(1)
  })

  test('asks for exactly what is missing, and names the highest number held', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    must(await owner.claim(target, 33))
    expect(world.source.claims).toMatchObject([
      { lastBatchSize: 32 },
      { lastBatchSize: 1, lastMax: 32 },
    ])
  })

  test('runs under a lock of its own collection', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    must(await owner.claim(target, 40))
    must(await owner.claim({ ...target, collection: 'invoices' }, 1))
    expect(world.source.claims).toHaveLength(3)
    expect(new Set(world.locks).size).toBe(2)
  })

  test('that the server calls spent is replaced by a new one at once', async () => {
    const world = new FakeWorld()
    world.source.onClaim = () => {
      if (world.source.claims.length === 1) throw refused(410)
    }
    const { owner } = ownerIn(world)
    expect(must(await owner.claim(target, 1)).view.free).toBe(32)
    expect(world.source.claims[1]!.id).not.toBe(world.source.claims[0]!.id)
  })

  test('that the server calls spent a second time is replaced after a pause', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(refused(410))
    const { owner } = ownerIn(world)
    expect(failureOf(await owner.claim(target, 1)).status).toBe(410)
    expect(world.source.claims).toHaveLength(2)
    expect(world.waits).toEqual([1_000])
    await world.pass(60 * 60_000)
    expect(world.source.claims.length).toBeLessThan(70)
    expect(new Set(world.source.claims.map(({ id }) => id)).size).toBe(world.source.claims.length)
  })

  test('that other tabs have used is replaced at once, however often', async () => {
    const world = new FakeWorld()
    world.source.onClaim = async () => {
      if (world.source.claims.length > 3) return
      // Without Web Locks another tab sends the same claim, and uses what it brings.
      const { claim: _, ...rest } = await world.stored()
      await world.put(rest)
      throw refused(410)
    }
    const { owner } = ownerIn(world)
    expect(must(await owner.claim(target, 1)).view.free).toBe(32)
    expect(world.source.claims).toHaveLength(4)
    expect(world.waits).toEqual([])
  })

  test('is repeated when its timer goes off a little before the clock shows the time', async () => {
    const world = new FakeWorld()
    const { after } = world
    // As in a browser: a timer leaves fractions of a millisecond out, and a clock has them.
    world.after = (ms, run) => after(Math.floor(ms), run)
    world.now = () => {
      world.time += 0.3
      return world.time
    }
    world.source.onClaim = fail(refused(429, 60_000))
    const { owner } = ownerIn(world)
    expect(failureOf(await owner.claim(target, 1)).status).toBe(429)
    world.source.onClaim = () => {}
    await world.pass(24 * 60 * 60_000)
    expect((await world.stored()).ranges).toMatchObject([{ from: 1, to: 32 }])
  })

  test('for numbers that JavaScript cannot count is not repeated', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(new HiloError('unsafe-range', 'Too high.'))
    const { owner } = ownerIn(world)
    expect(failureOf(await owner.claim(target, 1)).code).toBe('unsafe-range')
    expect((await world.stored()).claim).toBeUndefined()
    expect(world.waits).toEqual([])
  })

  test('answered by something that is no HiLo server is repeated as it was', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(
      new HiloError('invalid-response', 'A sign-in page.', { noAnswer: true }),
    )
    const { owner } = ownerIn(world)
    expect(failureOf(await owner.claim(target, 1)).code).toBe('invalid-response')
    expect((await lease(owner, 0)).view.isReachable).toBe(false)
    world.source.onClaim = () => {}
    await world.pass(1_000)
    expect(world.source.claims[1]).toEqual(world.source.claims[0])
    expect((await world.stored()).ranges).toMatchObject([{ from: 1, to: 32 }])
  })

  test('that asks for too many is replaced by smaller ones until one is granted', async () => {
    const world = new FakeWorld()
    world.source.onClaim = ({ lastBatchSize }) => {
      if (lastBatchSize > 100)
        throw new HiloError('server-refused', 'Too many.', { status: 422, isTooMany: true })
    }
    const { owner } = ownerIn(world)
    expect(must(await owner.claim(target, 350)).view.free).toBe(87)
    expect(world.source.claims.map(({ lastBatchSize }) => lastBatchSize)).toEqual([350, 175, 87])
  })

  test('whose grant was used up before is asked for once, not again and again', async () => {
    const world = new FakeWorld({ source: new FakeSource(false) })
    await world.put({ ...emptyState(), issued: 32, nodes: ['orders/…-A'] })
    const { owner } = ownerIn(world)
    world.source.claim = async (_, claim) => {
      world.source.claims.push(claim)
      return { range: { from: 1, to: 32, prefix: 'orders/', serverTag: 'A' } }
    }
    expect(failureOf(await owner.claim(target, 1))).toMatchObject({ code: 'invalid-response' })
    expect(world.source.claims).toHaveLength(1)
    expect(await world.stored()).not.toHaveProperty('claim')
  })

  test('whose grant overlaps what is held adds nothing', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    world.source.claim = async () => ({
      range: { from: 32, to: 63, prefix: 'orders/', serverTag: 'A', token: 'another' },
    })
    expect(failureOf(await owner.claim(target, 100)).code).toBe('invalid-response')
    expect((await world.stored()).ranges).toMatchObject([{ from: 1, to: 32 }])
  })

  test('that brings what a page gave back without a word is added after a check-in', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 32))
    const [gone] = must(await lease(owner, 32, { page: 'gone', id: 'gone:0' })).leases
    must(await owner.claim(target, 32))
    must(await lease(owner, 32))
    await flush()
    const { token } = (await world.stored()).leases.find(({ id }) => id === gone!.id)!.range
    world.source.onClaim = () => {
      world.source.server.giveBack({ ...gone!.range, token: token!, from: 5 })
    }
    world.source.checkIns.length = 0
    must(await owner.claim(target, 200))
    const { leases, ranges, gaps } = await world.stored()
    expect(leases.find(({ id }) => id === gone!.id)?.range).toMatchObject({ from: 1, to: 4 })
    expect(ranges[0]).toMatchObject({ from: 5, to: 32 })
    expect(gaps).toEqual(emptyState().gaps)
    expect(world.source.checkIns.length).toBeGreaterThan(0)
  })
})

/** The store, and how often it was changed. */
class CountingStore extends DiskStore {
  changes = 0

  override update<T>(...args: Parameters<DiskStore['update']>): Promise<T> {
    this.changes++
    return super.update(...args) as Promise<T>
  }
}

describe('a claim for an exchange', () => {
  test.each([1, 10])('leases the page its %i in the step that stores the grant', async (want) => {
    const store = new CountingStore()
    const { owner } = ownerIn(new FakeWorld({ store }))
    await lease(owner, 0)
    store.changes = 0
    const { leases, view } = must(await owner.claim(target, want, exchangeOf({ want })))
    expect(leases).toMatchObject([{ range: { from: 1, to: want } }])
    expect(view.free).toBe(32 - want)
    // One stores the claim, the other its answer and the lease.
    expect(store.changes).toBe(2)
  })

  test('leases them in the transaction that finds them free after all', async () => {
    const store = new CountingStore()
    const source = new FakeSource()
    must(await ownerIn(new FakeWorld({ store, source })).owner.claim(target, 10))
    const { owner } = ownerIn(new FakeWorld({ store, source }))
    await lease(owner, 0)
    await flush()
    store.changes = 0
    expect(must(await owner.claim(target, 10, exchangeOf({ want: 10 }))).leases).toHaveLength(1)
    expect(store.changes).toBe(1)
    expect(source.claims).toHaveLength(1)
  })

  test('joins one that is under way already', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    expect((await lease(owner, 16)).leases).toEqual([])
    const { leases } = must(await owner.claim(target, 16, exchangeOf({ want: 16 })))
    expect(leases).toMatchObject([{ range: { from: 1, to: 16 } }])
    expect(world.source.claims).toHaveLength(1)
  })

  test('whose transaction fails leases nothing: the numbers are not stored', async () => {
    const store = new DiskStore()
    const world = new FakeWorld({ store })
    const { owner } = ownerIn(world)
    const request = exchangeOf({ want: 16 })
    world.source.onClaim = async () => {
      const { stored } = await store.read(KEY)
      store.update = async (_, change) => {
        change(stored, [])
        throw new Error('The disk is full.')
      }
    }
    expect(failureOf(await owner.claim(target, 16, request)).message).toContain('full')
  })

  test('leases nothing to a page that has cancelled it, and settles its notes', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    const { leases: old } = must(await owner.claim(target, 16, exchangeOf({ want: 16 })))
    const request = exchangeOf({ want: 20, notes: [{ lease: old[0]!.id, next: 17 }] })
    world.source.onClaim = () =>
      owner.exchange(target, exchangeOf({ notes: [{ exchange: request.id, takeBack: [] }] }))
    expect(must(await owner.claim(target, 20, request)).leases).toEqual([])
    expect(await world.stored()).toMatchObject({ leases: [], issued: 16 })
  })

  test('leases nothing to a page that has gone, and left a note of it', async () => {
    const store = new DiskStore()
    const world = new FakeWorld({ store })
    const { owner } = ownerIn(world)
    const request = exchangeOf({ want: 16 })
    world.source.onClaim = () => {
      const { update } = store
      store.update = (key, change) => {
        store.update = update
        return store.update(key, (stored) =>
          change(stored, [{ exchange: request.id, takeBack: [] }] as never),
        )
      }
    }
    expect(must(await owner.claim(target, 16, request)).leases).toEqual([])
    expect(await world.stored()).toMatchObject({ leases: [], ranges: [{ from: 1, to: 32 }] })
  })

  describe('whose page goes while other pages are asked for numbers', () => {
    /** Another tab parks 32 numbers once it is asked; meanwhile `leave` happens. */
    const leaving = (leave: (owner: Owner, request: Exchange) => void) => {
      const world = new FakeWorld()
      world.source.onClaim = () => Promise.reject(unreachable)
      const request = exchangeOf({ want: 16 })
      const { openTabs } = world
      world.openTabs = (...args) => ({
        ...openTabs!(...args)!,
        askToPark: async () => {
          await world.put({ ...emptyState(), ranges: [range(1, 32)] })
          leave(owner, request)
          return true
        },
      })
      const { owner } = ownerIn(world)
      return { world, answered: owner.claim(target, 16, request) }
    }

    test('leases it what they parked, if it stays', async () => {
      const { world, answered } = leaving(() => {})
      expect(must(await answered).leases).toMatchObject([{ range: { from: 1, to: 16 } }])
      expect((await world.stored()).leases).toHaveLength(1)
    })

    test.each<[string, Parameters<typeof leaving>[0]]>([
      [
        'it has cancelled the exchange',
        (owner, { id }) =>
          owner.exchange(target, exchangeOf({ notes: [{ exchange: id, takeBack: [] }] })),
      ],
      ['its owner closes', (owner) => owner.close()],
    ])('leases it nothing: %s', async (_, leave) => {
      const { world, answered } = leaving(leave)
      await answered
      expect(await world.stored()).toMatchObject({ leases: [], ranges: [{ from: 1, to: 32 }] })
    })
  })
})

describe('a claim that failed', () => {
  test('is tried again by itself after 1, 2, 4 … 60 seconds, until it succeeds', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(unreachable())
    const { owner } = ownerIn(world)
    await owner.claim(target, 1)
    const waits: number[] = []
    for (let i = 0; i < 8; i++) {
      waits.push(world.waits[0]!)
      await world.pass(world.waits[0]!)
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    world.source.onClaim = () => {}
    await world.pass(60_000)
    expect(world.waits).toEqual([])
    expect((await world.stored()).ranges).toHaveLength(1)
  })

  test('comes up to half earlier by chance, so that a fleet does not come at once', async () => {
    for (const [chance, wait] of [
      [0.5, 750],
      [0.75, 625],
    ] as const) {
      const world = new FakeWorld()
      world.chance = chance
      world.source.onClaim = fail(unreachable())
      await ownerIn(world).owner.claim(target, 1)
      expect(world.waits).toEqual([wait])
    }
  })

  test('starts over with short pauses after a success', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(unreachable())
    const { owner, views } = ownerIn(world)
    await owner.claim(target, 1)
    await world.pass(7_000)
    world.source.onClaim = () => {}
    await world.pass(60_000)
    expect(views.at(-1)).toMatchObject({ free: 32, isReachable: true })
    expect(views.at(-1)!.failure).toBeUndefined()
    world.source.onClaim = fail(unreachable())
    await owner.claim(target, 100)
    expect(world.waits).toEqual([1_000])
  })

  test('waits as long as the server asked, and meanwhile refuses without asking it', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(refused(429, 30_000))
    const { owner } = ownerIn(world)
    await owner.claim(target, 1)
    expect(world.waits).toEqual([30_000])
    expect(failureOf(await owner.claim(target, 1))).toMatchObject({ status: 429 })
    await lease(owner, 1)
    await world.pass(29_999)
    expect(world.source.claims).toHaveLength(1)
    world.source.onClaim = () => {}
    await world.pass(1)
    expect(world.source.claims).toHaveLength(2)
  })

  test('waits as long as the server asked also when the page is seen again', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(refused(429, 30_000))
    const { owner } = ownerIn(world)
    await owner.claim(target, 1)
    owner.retryNow()
    await flush()
    await world.pass(29_999)
    expect(world.source.claims).toHaveLength(1)
    world.source.onClaim = () => {}
    await world.pass(1)
    expect(world.source.claims).toHaveLength(2)
  })

  test.each([401, 403, 404, 409])(
    'with %i is not tried again by itself, but by whoever asks',
    async (status) => {
      const world = new FakeWorld()
      world.source.onClaim = fail(refused(status))
      const { owner } = ownerIn(world)
      expect(failureOf(await owner.claim(target, 1))).toMatchObject({
        code: 'server-refused',
        status,
      })
      expect(world.waits).toEqual([])
      world.source.onClaim = () => {}
      expect(must(await owner.claim(target, 1)).view.free).toBe(32)
    },
  )

  test('after the page was closed is not tried again', async () => {
    const world = new FakeWorld()
    let answer: (error: HiloError) => void = () => {}
    world.source.onClaim = () =>
      new Promise((_, reject) => {
        answer = reject
      })
    const { owner } = ownerIn(world)
    const claiming = owner.claim(target, 1)
    await flush()
    owner.close()
    answer(unreachable())
    await claiming
    expect(world.waits).toEqual([])
  })

  test('is over when another tab has claimed: this page counts as online again', async () => {
    const world = new FakeWorld()
    const { owner, views } = ownerIn(world)
    world.source.onClaim = fail(unreachable())
    await owner.claim(target, 1)
    world.source.onClaim = () => {}
    must(await ownerIn(new FakeWorld(world)).owner.claim(target, 1))
    await world.pass(1_000)
    expect(world.source.claims).toHaveLength(2)
    expect(views.at(-1)).toMatchObject({ free: 32, isReachable: true })
    expect(views.at(-1)!.failure).toBeUndefined()
  })

  test('is tried at once when connectivity may be back', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(unreachable())
    const { owner } = ownerIn(world)
    await owner.claim(target, 1)
    world.source.onClaim = () => {}
    owner.retryNow()
    await flush()
    expect((await world.stored()).ranges).toHaveLength(1)
    expect(world.waits).toEqual([])
  })

  test('plans nothing any more once somebody else has asked, and was answered', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(unreachable())
    const { owner } = ownerIn(world)
    await owner.claim(target, 1)
    world.source.onClaim = () => {}
    must(await owner.claim(target, 1))
    expect(world.waits).toEqual([])
  })

  test('says so in the view, and that the server was not reached', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(unreachable())
    const { owner } = ownerIn(world)
    await owner.claim(target, 1)
    expect((await lease(owner, 1)).view).toMatchObject({
      failure: { code: 'server-unreachable' },
      isReachable: false,
    })
  })
})

test('a grant of another ledger stops the device, also if it is not refused before', async () => {
  const world = new FakeWorld()
  const { owner } = ownerIn(world)
  world.source.ledger = 'a'
  must(await owner.claim(target, 1))
  must(await lease(owner, 32))
  world.source.ledger = 'b'
  expect(failureOf(await owner.claim(target, 1))).toMatchObject({ code: 'other-ledger' })
  expect(await world.stored()).toMatchObject({ stopped: { of: 'a', by: 'b' }, ranges: [] })
})
