/** When the owner checks in, and what it does with the answer. */
import { describe, expect, test, vi } from 'vitest'
import { HiloError } from '../../src/core/errors.js'
import { emptyState } from '../../src/device/state.js'
import { PAGE_ANSWER_MS } from '../../src/worker/tabs.js'
import { range } from '../support/ranges.js'
import {
  exchangeOf,
  FakeSource,
  FakeWorld,
  fail,
  failureOf,
  flush,
  lease,
  must,
  ownerIn,
  reloaded,
  target,
  unreachable,
} from '../support/world.js'

const HOURS = 60 * 60_000

/** A device that a page of yesterday left with 32 numbers under a token. */
async function yesterday() {
  const world = new FakeWorld()
  must(await ownerIn(world).owner.claim(target, 1))
  return world
}

/** The same, of a page that has checked in, a minute ago. */
async function aMinuteAgo() {
  const world = await yesterday()
  await lease(ownerIn(world).owner, 0)
  await world.pass(60_000)
  return world
}

/** From here on the server does what a check-in asks, and its answer is lost. */
function loseAnswers(world: FakeWorld): void {
  world.source.onCheckIn = (request) => {
    world.source.server.checkIn(request)
    throw unreachable()
  }
}

/** From here on a check-in is answered only when the test says so: by what is returned. */
function holdCheckIn(world: FakeWorld): () => void {
  let answer = () => {}
  world.source.onCheckIn = () =>
    new Promise<void>((resolve) => {
      answer = resolve
    })
  return () => answer()
}

describe('a page that starts', () => {
  test('checks in once, in the background, and goes on under the new token', async () => {
    const world = await yesterday()
    const { owner } = ownerIn(world)
    await lease(owner, 0)
    await lease(owner, 0)
    await flush()
    expect(world.source.checkIns).toMatchObject([{ grants: [{ token: 'token0', next: 1 }] }])
    expect((await world.stored()).ranges).toMatchObject([{ from: 1, to: 32, token: 'token1' }])
  })

  test('for the first time shows nothing: it would cancel what the page offers', async () => {
    const world = new FakeWorld()
    const isClaimed = new Promise<void>((resolve) => {
      world.source.onClaim = () => setImmediate(resolve)
    })
    const lock = world.lock
    world.lock = async (name, run) => {
      if (name.endsWith('check-in')) await isClaimed
      return lock(name, run)
    }
    const { owner } = ownerIn(world)
    await lease(owner, 16)
    await flush()
    await flush()
    expect((await lease(owner, 16)).leases).toHaveLength(1)
    await flush()
    expect(world.source.checkIns).toEqual([])
    await world.pass(3 * HOURS)
    expect(world.source.checkIns).toHaveLength(1)
  })

  test('again, reloaded, gets its first ids without waiting for it', async () => {
    const world = await aMinuteAgo()
    world.source.onCheckIn = () => new Promise(() => {})
    expect((await lease((await reloaded(world)).owner, 16)).leases).toHaveLength(1)
    await flush()
    expect(world.source.checkIns).toHaveLength(2)
  })

  test('leases nothing to exchanges that were cancelled while it asked first', async () => {
    const world = await yesterday()
    await world.pass(DAY)
    const answer = holdCheckIn(world)
    const { owner } = ownerIn(world)
    const asks = exchangeOf({ want: 4 })
    const waits = exchangeOf({ want: 4 })
    const answers = [owner.exchange(target, asks)]
    await flush()
    answers.push(owner.exchange(target, waits))
    const notes = [asks, waits].map(({ id }) => ({ exchange: id, takeBack: [] }))
    must(await owner.exchange(target, exchangeOf({ notes })))
    answer()
    for (const each of await Promise.all(answers)) expect(must(each).leases).toEqual([])
    expect((await world.stored()).leases).toEqual([])
  })

  test('tells the page its new tokens, and leases carry them', async () => {
    const world = await yesterday()
    const { owner, views } = ownerIn(world)
    await lease(owner, 4)
    await flush()
    expect(views.at(-1)?.checkedIn).toBe(world.date())
    expect((await lease(owner, 0)).outstanding).toMatchObject([{ range: { token: 'token1' } }])
  })

  test('claims nothing in advance before it knows what comes back, and from whom', async () => {
    const world = await yesterday()
    const killed = ownerIn(world).owner
    must(await killed.claim(target, 300))
    await lease(killed, 0)
    await flush()
    // It was to send back all but the reserve.
    await lease(killed, 0, { page: 'dead', id: 'dead:0', offer: true })
    world.source.claims.length = 0
    const { owner } = await reloaded(world)
    const { view } = await lease(owner, 30)
    expect(view.free).toBe(2)
    await world.pass(PAGE_ANSWER_MS)
    await flush()
    expect((await lease(owner, 0)).view.free).toBeGreaterThan(200)
    expect(world.source.claims).toEqual([])
  })

  test('and is closed meanwhile claims nothing in advance any more', async () => {
    const world = await aMinuteAgo()
    const answer = holdCheckIn(world)
    const { owner } = await reloaded(world)
    await lease(owner, 30)
    await flush()
    owner.close()
    answer()
    await flush()
    expect(world.source.claims).toHaveLength(1)
  })

  test('claims in advance when nothing came back', async () => {
    const world = await yesterday()
    const { owner } = ownerIn(world)
    await lease(owner, 30)
    await flush()
    expect(world.source.claims).toHaveLength(2)
  })

  test('does not check in again when one has just done so', async () => {
    const world = await yesterday()
    await lease(ownerIn(world).owner, 0)
    await flush()
    await lease(ownerIn(world).owner, 0)
    await flush()
    expect(world.source.checkIns).toHaveLength(1)
  })

  test('after one that has just checked in does so itself after three hours', async () => {
    const world = await yesterday()
    const { owner } = ownerIn(world)
    await lease(owner, 0)
    await flush()
    owner.close()
    await lease(ownerIn(world).owner, 0)
    await world.pass(3 * HOURS - 1)
    expect(world.source.checkIns).toHaveLength(1)
    await world.pass(1)
    expect(world.source.checkIns).toHaveLength(2)
  })

  test('never checks in with a server that gives no tokens', async () => {
    const world = new FakeWorld({ source: new FakeSource(false) })
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    await lease(owner, 0)
    await world.pass(24 * HOURS)
    expect(world.source.checkIns).toEqual([])
  })
})

const DAY = 24 * HOURS

describe('a device that starts', () => {
  test('asks first whether it is a copy; one step stores the answer and leases', async () => {
    const world = await yesterday()
    await world.pass(DAY)
    const answer = holdCheckIn(world)
    const leased = lease(ownerIn(world).owner, 4)
    await flush()
    expect((await world.stored()).leases).toEqual([])
    answer()
    expect((await leased).leases).toMatchObject([{ range: { from: 1, to: 4, token: 'token1' } }])
    expect((await world.stored()).unheard).toBeUndefined()
  })

  test('and went back leases nothing of what it made since, and the page hears of it', async () => {
    const world = await yesterday()
    await world.pass(DAY)
    const backup = await world.stored()
    const { owner } = ownerIn(world)
    await lease(owner, 16)
    owner.close()
    await world.put(backup)
    const again = ownerIn(world)
    const { leases, view } = await lease(again.owner, 16)
    expect(leases).toEqual([])
    expect([again.views[0]!.gaps.fork, view.gaps.fork]).toEqual([0, 32])
  })

  test('waits a second for the server at most, and goes on as offline', async () => {
    const world = await yesterday()
    await world.pass(DAY)
    holdCheckIn(world)
    const leased = lease(ownerIn(world).owner, 4)
    await world.pass(999)
    expect((await world.stored()).leases).toEqual([])
    await world.pass(1)
    expect((await world.stored()).leases).toHaveLength(1)
    expect((await leased).leases).toHaveLength(1)
  })

  test('waits for nothing without a network', async () => {
    const world = await yesterday()
    await world.pass(DAY)
    world.source.onCheckIn = fail(unreachable())
    expect((await lease(ownerIn(world).owner, 4)).leases).toHaveLength(1)
    const { owner } = ownerIn(world)
    owner.setOnline(false)
    expect((await lease(owner, 4)).leases).toHaveLength(1)
  })

  test('whose clock went back asks, too', async () => {
    const world = await yesterday()
    world.date = () => 0
    holdCheckIn(world)
    void lease(ownerIn(world).owner, 4)
    await flush()
    expect((await world.stored()).leases).toEqual([])
  })

  test('whose clock went back with its disk asks, too', async () => {
    const world = await aMinuteAgo()
    const [backup, date] = [await world.stored(), world.date()]
    const { owner } = ownerIn(world)
    await lease(owner, 16)
    await world.pass(DAY)
    owner.close()
    await world.put(backup)
    world.date = () => date
    const { leases, view } = await lease(ownerIn(world).owner, 16)
    expect(leases).toEqual([])
    expect(view.gaps.fork).toBe(32)
  })

  test('and has just been answered asks, too: only a reload of that page need not', async () => {
    const world = await yesterday()
    await lease(ownerIn(world).owner, 4)
    await flush()
    holdCheckIn(world)
    expect((await lease((await reloaded(world)).owner, 4)).leases).toHaveLength(1)
    void lease(ownerIn(world).owner, 4)
    await flush()
    expect((await world.stored()).leases).toHaveLength(2)
  })

  test('asks after a reload, if another page was answered since', async () => {
    const world = await aMinuteAgo()
    const { owner } = await reloaded(world)
    await lease(ownerIn(world).owner, 0)
    await flush()
    holdCheckIn(world)
    void lease(owner, 4)
    await flush()
    expect((await world.stored()).leases).toEqual([])
  })

  test('with what only this page claimed does not ask', async () => {
    const world = new FakeWorld()
    holdCheckIn(world)
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    expect((await lease(owner, 4)).leases).toHaveLength(1)
  })

  test('sends the check-in of an earlier session, and a new one before it leases', async () => {
    const world = await yesterday()
    await world.pass(DAY)
    loseAnswers(world)
    await lease(ownerIn(world).owner, 4)
    world.source.checkIns.length = 0
    let answer = () => {}
    world.source.onCheckIn = () =>
      world.source.checkIns.length === 1
        ? undefined
        : new Promise<void>((resolve) => {
            answer = resolve
          })
    const before = await world.stored()
    const leased = lease(ownerIn(world).owner, 4)
    await flush()
    const repeated = await world.stored()
    expect(world.source.checkIns).toHaveLength(2)
    expect(repeated.leases).toHaveLength(before.leases.length)
    expect(repeated.checkedIn).toBe(before.checkedIn)
    answer()
    expect((await leased).leases).toHaveLength(1)
  })

  test('that has checked in checks in anew after it sent the check-in of another one', async () => {
    const world = await yesterday()
    const { owner } = ownerIn(world)
    await lease(owner, 0)
    await flush()
    loseAnswers(world)
    const other = ownerIn(world).owner
    await lease(other, 4)
    await flush()
    await other.close()
    const [sent] = world.source.checkIns.splice(0).slice(-1)
    expect((await world.stored()).checkIn).toMatchObject({ id: sent!.id })
    world.source.onCheckIn = () => {}
    owner.reportNow()
    owner.retryNow()
    await flush()
    const ids = world.source.checkIns.map(({ id }) => id)
    expect(ids).toEqual([sent!.id, expect.not.stringMatching(sent!.id)])
  })

  test('sends the claim of an earlier session, and checks in before it leases', async () => {
    const world = await yesterday()
    world.source.onClaim = fail(unreachable())
    failureOf(await ownerIn(world).owner.claim(target, 100))
    const { claim } = await world.stored()
    expect(claim?.shown).toBeDefined()
    await world.pass(DAY)
    world.timers.length = 0
    world.source.onClaim = () => {}
    const answer = holdCheckIn(world)
    const leased = lease(ownerIn(world).owner, 4)
    await flush()
    expect(world.source.claims.at(-1)).toMatchObject({ id: claim!.id })
    expect((await world.stored()).leases).toEqual([])
    answer()
    expect((await leased).leases).toHaveLength(1)
  })

  test('leases to no page before it is answered', async () => {
    const world = await yesterday()
    await world.pass(DAY)
    const answer = holdCheckIn(world)
    const { owner } = ownerIn(world)
    const leased = ['one', 'two', 'three'].map((page) => lease(owner, 4, { page, id: page }))
    await flush()
    expect((await world.stored()).leases).toEqual([])
    answer()
    for (const each of await Promise.all(leased)) expect(each.leases).toHaveLength(1)
  })
})

describe('the server hears of use', () => {
  test('soon after numbers were leased, and once in ten seconds while they are', async () => {
    const world = await yesterday()
    const { owner } = ownerIn(world)
    await lease(owner, 1)
    await flush()
    const before = world.source.checkIns.length
    for (let second = 0; second < 30; second++) {
      await lease(owner, 1)
      await world.pass(1_000)
    }
    expect(world.source.checkIns.length - before).toBe(3)
    expect(world.waits).toEqual([expect.any(Number)])
  })

  test('of several collections in one request', async () => {
    const world = await yesterday()
    const { owner } = ownerIn(world)
    const lines = { ...target, collection: 'lines' }
    must(await owner.claim(lines, 1))
    await lease(owner, 1)
    await flush()
    const before = world.source.checkIns.length
    await lease(owner, 1)
    must(await owner.exchange(lines, exchangeOf({ want: 1 })))
    await world.pass(20_000)
    const since = world.source.checkIns.slice(before)
    expect(since.map(({ grants }) => grants.length)).toEqual([2])
  })

  test('when the page is hidden: it may be killed', async () => {
    const world = await yesterday()
    const { owner } = ownerIn(world)
    await lease(owner, 1)
    await flush()
    const before = world.source.checkIns.length
    owner.reportNow()
    await flush()
    expect(world.source.checkIns).toHaveLength(before)
    await world.pass(10_000)
    await lease(owner, 1)
    owner.reportNow()
    await flush()
    expect(world.source.checkIns).toHaveLength(before + 1)
  })

  test('after the next start, if the page was killed before', async () => {
    const world = await yesterday()
    const { owner } = ownerIn(world)
    await lease(owner, 1)
    await flush()
    await lease(owner, 1)
    expect((await world.stored()).unheard).toHaveLength(1)
    const before = world.source.checkIns.length
    await world.pass(0)
    world.timers.length = 0
    await lease(ownerIn(world).owner, 0)
    await world.pass(10_000)
    expect(world.source.checkIns).toHaveLength(before + 1)
    expect((await world.stored()).unheard).toBeUndefined()
  })
})

test('a page that stays open checks in again every three hours', async () => {
  const world = await yesterday()
  await lease(ownerIn(world).owner, 0)
  await world.pass(3 * HOURS - 1)
  expect(world.source.checkIns).toHaveLength(1)
  await world.pass(1)
  expect(world.source.checkIns).toHaveLength(2)
})

test('a claim that waits for somebody is looked after less and less often', async () => {
  const world = await yesterday()
  const { owner } = ownerIn(world)
  world.source.onClaim = fail(new HiloError('server-refused', 'Who?', { status: 401 }))
  failureOf(await owner.claim(target, 100))
  await lease(owner, 0)
  const update = vi.spyOn(world.store, 'update')
  await world.pass(12 * HOURS)
  expect(update.mock.calls.length).toBeLessThan(40)
})

test('copies with one claim pending get one range, until a check-in tells them apart', async () => {
  const source = new FakeSource()
  source.onClaim = fail(unreachable())
  const first = new FakeWorld({ source })
  await ownerIn(first).owner.claim(target, 16)
  const copy = new FakeWorld({ source })
  await copy.put(await first.stored())
  source.onClaim = () => {}
  const owners = [first, copy].map((world) => ownerIn(world).owner)
  for (const owner of owners) expect(must(await owner.claim(target, 16)).view.free).toBe(32)
  expect((await copy.stored()).ranges).toEqual((await first.stored()).ranges)
  for (const owner of owners) {
    await lease(owner, 0)
    await flush()
  }
  expect((await first.stored()).gaps.fork).toBe(0)
  expect((await copy.stored()).gaps.fork).toBe(32)
})

test('copies with a first claim pending lease its range to one of them', async () => {
  const source = new FakeSource()
  source.onClaim = fail(unreachable())
  const first = new FakeWorld({ source })
  await ownerIn(first).owner.claim(target, 16)
  const copy = new FakeWorld({ source })
  await copy.put(await first.stored())
  source.onClaim = () => {}
  const leased = []
  for (const world of [first, copy]) leased.push(...(await lease(ownerIn(world).owner, 4)).leases)
  expect(leased).toHaveLength(1)
  expect((await copy.stored()).gaps.fork).toBe(32)
})

test('what a repeated claim brought is asked for at the next start, too', async () => {
  const world = await yesterday()
  await world.pass(DAY)
  world.source.onClaim = fail(unreachable())
  failureOf(await ownerIn(world).owner.claim(target, 100))
  world.source.onClaim = () => {}
  must(await ownerIn(world).owner.claim(target, 100))
  expect((await world.stored()).claim).toBeUndefined()
  const answer = holdCheckIn(world)
  const leased = lease(ownerIn(world).owner, 4)
  await flush()
  expect((await world.stored()).leases).toEqual([])
  answer()
  expect((await leased).leases).toHaveLength(1)
})

test('a page that was closed checks in no more, not even after one under way', async () => {
  const world = await yesterday()
  const answer = holdCheckIn(world)
  const { owner } = ownerIn(world)
  await lease(owner, 0)
  await flush()
  owner.close()
  answer()
  await flush()
  expect(world.waits).toEqual([])
})

test('a check-in whose answer was lost is sent again as it was, and used once', async () => {
  const world = await yesterday()
  loseAnswers(world)
  await lease(ownerIn(world).owner, 0)
  await flush()
  world.source.onCheckIn = () => {}
  await world.pass(60_000)
  const [first, second] = world.source.checkIns
  expect(second).toEqual(first)
  expect((await world.stored()).ranges).toMatchObject([{ from: 1, to: 32, token: 'token1' }])
})

test('two copies of a device during a check-in are told apart by the same answer', async () => {
  const world = await yesterday()
  loseAnswers(world)
  const first = ownerIn(world)
  await lease(first.owner, 0)
  await flush()
  first.owner.close()
  world.source.onCheckIn = () => {}
  const copy = new FakeWorld({ source: world.source })
  await copy.put(await world.stored())
  for (const each of [world, copy]) {
    await lease(ownerIn(each).owner, 0)
    await flush()
  }
  expect((await world.stored()).gaps.fork).toBe(0)
  expect((await copy.stored()).gaps.fork).toBe(32)
})

test.each([401, 403, 404, 410])(
  'a check-in whose answer was lost, and that a proxy then refuses with %i, makes no copy',
  async (status) => {
    const world = await yesterday()
    loseAnswers(world)
    await lease(ownerIn(world).owner, 0)
    await flush()
    world.source.onCheckIn = () => {
      throw new HiloError('server-refused', 'No.', { status })
    }
    await world.pass(60_000)
    world.source.onCheckIn = () => {}
    await world.pass(3 * HOURS)
    expect(world.source.checkIns.length).toBeGreaterThanOrEqual(3)
    const { ranges, gaps, checkIn } = await world.stored()
    expect(ranges).toMatchObject([{ from: 1, to: 32 }])
    expect(gaps.fork).toBe(0)
    expect(checkIn).toBeUndefined()
  },
)

test('a claim whose answer was lost, and that a proxy then refuses, makes no copy', async () => {
  const world = await yesterday()
  const { owner } = ownerIn(world)
  await lease(owner, 0)
  await flush()
  world.source.onClaim = ({ id, shown }) => {
    world.source.server.checkIn({ id, grants: shown!, spent: [] })
    throw unreachable()
  }
  await owner.claim(target, 100)
  world.source.onClaim = () => {
    throw new HiloError('server-refused', 'Gone.', { status: 410 })
  }
  const before = world.source.checkIns.length
  await world.pass(60_000)
  await flush()
  // At once: until it is answered, claims show nothing, and no copy would be found.
  expect(world.source.checkIns.length).toBeGreaterThan(before)
  const { gaps, checkIn } = await world.stored()
  expect(gaps.fork).toBe(0)
  expect(checkIn).toBeUndefined()
})

test('a give-back of unknown fate is asked for at once; what is ours comes back', async () => {
  const world = await yesterday()
  const stored = await world.stored()
  const sent = {
    id: 'O',
    page: 'page0',
    range: { ...stored.ranges[0]!, from: 25 },
    isSent: true as const,
  }
  await world.put({
    ...stored,
    ranges: [{ ...stored.ranges[0]!, to: 24 }],
    offers: [sent],
    checkedIn: world.date(),
  })
  await lease(ownerIn(world).owner, 0)
  await flush()
  expect(await world.stored()).toMatchObject({
    ranges: [{ from: 1, to: 32, token: 'token1' }],
    offers: [],
  })
})

test('the second copy of a device drops the first one’s ranges, and claims anew', async () => {
  const world = await yesterday()
  const copy = new FakeWorld({ source: world.source })
  await copy.put(await world.stored())
  await lease(ownerIn(world).owner, 4)
  await flush()
  const { owner, views } = ownerIn(copy)
  expect((await lease(owner, 4)).leases).toEqual([])
  await flush()
  expect(views.at(-1)?.gaps.fork).toBeGreaterThanOrEqual(28)
  const stored = await copy.stored()
  expect(stored.leases).toEqual([])
  expect(stored.ranges.every(({ from }) => from > 32)).toBe(true)
})

test('a device without a number held has nothing to show', async () => {
  const world = new FakeWorld()
  await world.put({ ...emptyState(), offers: [{ id: 'O', page: 'p', range: range(1, 5) }] })
  await lease(ownerIn(world).owner, 0)
  await flush()
  expect(world.source.checkIns).toEqual([])
})

describe('a check-in that fails', () => {
  const failing = async (error: HiloError) => {
    const world = await yesterday()
    world.source.onCheckIn = () => {
      throw error
    }
    const { owner } = ownerIn(world)
    await lease(owner, 0)
    await flush()
    return { world, owner }
  }

  test('says that the server was not reached, until it answers a claim', async () => {
    const { owner } = await failing(unreachable())
    expect((await lease(owner, 0)).view.isReachable).toBe(false)
    must(await owner.claim(target, 64))
    expect((await lease(owner, 0)).view.isReachable).toBe(true)
  })

  test('is sent again after pauses that double, shortened by chance', async () => {
    const { world } = await failing(unreachable())
    const pauses: number[] = []
    for (let i = 0; i < 8; i++) {
      pauses.push(world.waits[0]!)
      await world.pass(world.waits[0]!)
    }
    const minutes = pauses.map((pause) => pause / 60_000)
    expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
    world.chance = 0.5
    await world.pass(world.waits[0]!)
    expect(world.waits).toEqual([45 * 60_000])
  })

  test('waits as long as the server asked, also when the page is seen again', async () => {
    const { world, owner } = await failing(
      new HiloError('server-refused', 'Busy.', { status: 429, retryAfter: 7_200_000 }),
    )
    expect(world.source.checkIns).toHaveLength(1)
    owner.retryNow()
    await flush()
    await world.pass(7_199_999)
    expect(world.source.checkIns).toHaveLength(1)
    await world.pass(1)
    expect(world.source.checkIns).toHaveLength(2)
  })

  test('is sent again when the network may be back, whatever pause a proxy asked for', async () => {
    const { world, owner } = await failing(
      new HiloError('server-unreachable', 'A proxy says no.', {
        status: 503,
        noAnswer: true,
        retryAfter: 60_000,
      }),
    )
    owner.retryNow()
    await flush()
    expect(world.source.checkIns).toHaveLength(2)
  })

  test.each([401, 403, 409])(
    'because the server refuses it (%i) is sent less and less often, also while ids are made',
    async (status) => {
      const { world, owner } = await failing(new HiloError('server-refused', 'No.', { status }))
      const before = world.source.checkIns.length
      for (let minute = 0; minute < 8 * 60; minute++) {
        if (minute < 20) await lease(owner, 1)
        await world.pass(60_000)
      }
      expect(world.source.checkIns.length - before).toBeLessThan(20)
      expect(world.source.checkIns.length - before).toBeGreaterThan(8)
      expect(world.waits).toEqual([expect.any(Number)])
    },
  )

  test('without having been answered by a HiLo server is sent again as it was', async () => {
    const { world } = await failing(
      new HiloError('invalid-response', 'A sign-in page.', { noAnswer: true }),
    )
    world.source.onCheckIn = () => {}
    await world.pass(60_000)
    const [first, second] = world.source.checkIns
    expect(second).toEqual(first)
  })
})
