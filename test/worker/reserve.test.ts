/** The reserve: topped up in the background, filled on demand, and the app’s own offline switch. */
import { describe, expect, test } from 'vitest'
import { HiloError } from '../../src/core/errors.js'
import { total } from '../../src/core/range.js'
import {
  exchangeOf,
  FakeWorld,
  fail,
  failureOf,
  flush,
  lease,
  must,
  ownerIn,
  reserve,
  target,
  unreachable,
} from '../support/world.js'

describe('in the background', () => {
  test('the device tops up when less than half of its reserve is left, not before', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    await lease(owner, 16)
    await flush()
    expect(world.source.claims).toHaveLength(1)
    await lease(owner, 1)
    await flush()
    expect(world.source.claims).toHaveLength(2)
    expect((await world.stored()).ranges).toMatchObject([{ from: 18, to: 32 }, { from: 33 }])
  })

  test('what a page did not get is asked for once, also while a check-in is late', async () => {
    const world = new FakeWorld()
    must(await ownerIn(world).owner.claim(target, 32))
    let answer = () => {}
    world.source.onCheckIn = () => new Promise<void>((resolve) => (answer = resolve))
    world.source.onClaim = fail(new HiloError('server-refused', 'No.', { status: 403 }))
    world.source.claims.length = 0
    const leased = lease(ownerIn(world).owner, 40)
    await world.pass(1_000)
    expect((await leased).view.isClaiming).toBe(true)
    await flush()
    answer()
    await flush()
    expect(world.source.claims).toHaveLength(1)
  })

  test('nothing is claimed for a reserve of 0', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    await owner.exchange({ ...target, reserve: 0 }, exchangeOf({ want: 16 }))
    await flush()
    expect(world.source.claims).toEqual([])
  })

  test('an exchange does not wait for the network', async () => {
    const world = new FakeWorld()
    world.source.onClaim = () => new Promise(() => {})
    const { owner, views } = ownerIn(world)
    const { leases, view } = await lease(owner, 16)
    expect(leases).toEqual([])
    expect(view.isClaiming).toBe(true)
    expect(views.at(-1)?.isClaiming).toBe(true)
  })
})

describe('switched off', () => {
  test('nothing is sent, by nobody, and whoever asks is told why', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    owner.setOnline(false)
    await lease(owner, 32)
    owner.retryNow()
    await world.pass(10 * 60_000)
    expect(failureOf(await owner.claim(target, 1))).toMatchObject({
      code: 'server-unreachable',
      message: expect.stringContaining('goOnline'),
    })
    expect(failureOf(await reserve(owner, 500)).code).toBe('server-unreachable')
    expect(world.source.claims).toHaveLength(1)
    expect(world.source.checkIns).toHaveLength(0)
  })

  test('and on again, what is short is claimed at once', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    owner.setOnline(false)
    await lease(owner, 1)
    owner.setOnline(true)
    await flush()
    expect(world.source.claims).toHaveLength(1)
  })
})

describe('reserve', () => {
  test('fills up in one request, durably', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    expect(must(await reserve(owner, 500)).view).toMatchObject({
      free: 500,
      reserve: 500,
    })
    expect(world.source.claims).toHaveLength(2)
    expect(world.source.claims[1]).toMatchObject({ lastBatchSize: 468 })
    const later = ownerIn(new FakeWorld({ store: world.store, source: world.source })).owner
    expect((await lease(later, 0)).view.reserve).toBe(500)
  })

  test('asks for nothing when enough is there', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    must(await reserve(owner, 32))
    expect(world.source.claims).toHaveLength(1)
  })

  test('that the server cannot fill is no target: later claims ask for the need', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(unreachable())
    const { owner } = ownerIn(world)
    expect(failureOf(await reserve(owner, 500)).code).toBe('server-unreachable')
    expect((await world.stored()).reserve).toBeUndefined()
    expect((await lease(owner, 0)).view.reserve).toBe(32)
  })

  test('that failed is not gone on with when the server is back: the old reserve is', async () => {
    const world = new FakeWorld()
    const { grant } = world.source.server
    world.source.server.grant = (claim, count) =>
      grant.call(world.source.server, claim, Math.min(count, 50))
    const { owner } = ownerIn(world)
    world.source.onClaim = fail(unreachable())
    failureOf(await reserve(owner, 4_000))
    world.source.onClaim = () => {}
    await world.pass(60_000)
    expect(total((await world.stored()).ranges)).toBe(50)
  })

  test('is filled in several claims where the server grants less at once', async () => {
    const world = new FakeWorld()
    const { grant } = world.source.server
    world.source.server.grant = (claim, count) =>
      grant.call(world.source.server, claim, Math.min(count, 100))
    const { owner } = ownerIn(world)
    expect(must(await reserve(owner, 500)).view).toMatchObject({ free: 500, reserve: 500 })
    expect(world.source.claims).toHaveLength(5)
  })

  test('fills up to the end when one that it replaces is aborted', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    const { grant } = world.source.server
    world.source.server.grant = (claim, count) =>
      grant.call(world.source.server, claim, Math.min(count, 100))
    world.source.onClaim = async () => {
      if (world.source.claims.length > 9) throw new HiloError('storage-failed', 'No end.')
      // The page rests, and what exceeds the reserve is set aside for it to give back.
      await lease(owner, 0, { offer: true })
    }
    const first = owner.reserve('first', [{ target, count: 500 }])
    owner.cancel('first')
    const [second] = await owner.reserve('second', [{ target, count: 500 }])
    await first
    expect(must(second!).view).toMatchObject({ free: 500, reserve: 500 })
  })

  test('is not ended by a cancel that comes after the call before it has ended', async () => {
    const { owner } = ownerIn(new FakeWorld())
    await owner.reserve('call', [{ target, count: 40 }])
    owner.cancel('call')
    const [again] = await owner.reserve('call', [{ target, count: 80 }])
    expect(must(again!).view).toMatchObject({ free: 80, reserve: 80 })
  })

  test('above what the server grants at once is filled in smaller claims', async () => {
    const world = new FakeWorld()
    world.source.onClaim = ({ lastBatchSize }) => {
      if (lastBatchSize > 10_000)
        throw new HiloError('server-refused', 'At most 10,000.', {
          status: 422,
          isTooMany: true,
        })
    }
    const { owner } = ownerIn(world)
    expect(must(await reserve(owner, 20_000)).view).toMatchObject({
      free: 20_000,
      reserve: 20_000,
    })
    expect(world.source.claims.length).toBeLessThan(6)
  })

  test('that is refused is forgotten: the next claim is one of its own', async () => {
    const world = new FakeWorld()
    world.source.onClaim = fail(new HiloError('server-refused', 'Not for you.', { status: 403 }))
    const { owner } = ownerIn(world)
    expect(failureOf(await reserve(owner, 20_000))).toMatchObject({ status: 403 })
    expect(await world.stored()).not.toHaveProperty('claim')
    world.source.onClaim = () => {}
    world.source.claims.length = 0
    must(await owner.claim(target, 1))
    expect(world.source.claims).toMatchObject([{ lastBatchSize: 32 }])
  })
})
