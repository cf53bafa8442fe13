/**
 * The owner: what it gives back, what it finds stored, what it does when the storage fails, and
 * whom it tells.
 */
import { describe, expect, test } from 'vitest'
import { HiloError } from '../../src/core/errors.js'
import type { DeviceView, Target } from '../../src/device/contract.js'
import { nameOf } from '../../src/device/page-notes.js'
import { emptyState } from '../../src/device/state.js'
import { MemoryStore } from '../../src/store/memory.js'
import type { Change, StoreKey } from '../../src/store/store.js'
import { range } from '../support/ranges.js'
import {
  config,
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
  reserve,
  target,
  unreachable,
} from '../support/world.js'

const deaf = (world: FakeWorld) => Object.assign(world, { openTabs: undefined })

const holding = async (source: FakeSource, ...ranges: ReturnType<typeof range>[]) => {
  const world = new FakeWorld({ source })
  await world.put({ ...emptyState(), ranges, serverTag: 'A', answered: 'before' })
  return world
}

const RELEASE = { page: 'page1', id: 'page1:r' }

/** Each holds ten numbers. `reached`: those for which the server was asked whether it is there. */
async function manyCollections(count: number) {
  const world = new FakeWorld()
  const targets = Array.from({ length: count }, (_, i) => ({ ...target, collection: `c${i}` }))
  for (const { collection } of targets) {
    const prefix = `${collection}/`
    const ranges = [range(1, 10, { prefix, token: collection })]
    const state = { ...emptyState(), ranges, serverTag: 'A', answered: 'before' }
    await world.store.update([config.url, 'Shop', prefix], () => ({ state, result: undefined }))
  }
  const reached: string[] = []
  const reach = async ({ collection }: Target) => void reached.push(collection)
  Object.assign(world.source, { reach })
  return { world, owner: ownerIn(world).owner, targets, reached }
}

/** Its page was reloaded, and need not ask. */
const RELOADED = { answers: { [nameOf(KEY)]: 'before' } }

describe('a message of another tab may be older than what this tab has seen', () => {
  const rest = { order: 0, isClaiming: false, isReachable: true, storage: 'best-effort' } as const
  const seen = (free: number): DeviceView => ({
    ...rest,
    free,
    reserve: 32,
    surplus: 0,
    gaps: emptyState().gaps,
  })
  const nodes = ['orders/…-A', 'orders/…-B']

  test('so it does not hide that two nodes have granted', async () => {
    const world = new FakeWorld()
    await world.put({ ...emptyState(), ranges: [range(1, 100)], serverTag: 'B', nodes })
    const { owner, views } = ownerIn(world)
    expect((await lease(owner, 1)).view.mixedNodes).toEqual(nodes)
    world.changeElsewhere(KEY, seen(7))
    expect(views.at(-1)).toMatchObject({ free: 7, mixedNodes: nodes })
  })

  test('so of two nodes, none is known to have answered last until this tab looks', async () => {
    const world = await holding(new FakeSource(false), range(1, 100))
    const { owner, views } = ownerIn(world)
    expect((await lease(owner, 1)).view.serverTag).toBe('A')
    world.changeElsewhere(KEY, { ...seen(7), serverTag: 'A' })
    expect(views.at(-1)).toMatchObject({ free: 7, serverTag: 'A' })
    world.changeElsewhere(KEY, { ...seen(8), serverTag: 'B' })
    expect(views.at(-1)?.serverTag).toBeUndefined()
    world.changeElsewhere(KEY, { ...seen(9), serverTag: 'B' })
    expect(views.at(-1)?.serverTag).toBeUndefined()
    expect((await lease(owner, 1, { id: 'page1:orders:2' })).view.serverTag).toBe('A')
  })
})

describe('where pages cannot hear each other, one may miss that another node answers now', () => {
  test('so nothing is set aside without a token, and pages learn no node for it', async () => {
    const { owner } = ownerIn(deaf(await holding(new FakeSource(false), range(1, 100))))
    const { offers, view } = await lease(owner, 16, { offer: true })
    expect(offers).toEqual([])
    expect(view).toMatchObject({ free: 84, surplus: 0 })
    expect(view).not.toHaveProperty('serverTag')
  })

  test('with tokens the surplus goes back as ever', async () => {
    const { owner } = ownerIn(
      deaf(await holding(new FakeSource(), range(1, 100, { token: 't' }))),
      RELOADED,
    )
    expect((await lease(owner, 16, { offer: true })).offers).toMatchObject([
      { range: { from: 49, to: 100 } },
    ])
  })

  test('where they can, it is set aside, and the page knows the last node', async () => {
    const { owner } = ownerIn(await holding(new FakeSource(false), range(1, 100)))
    const { offers, view } = await lease(owner, 16, { offer: true })
    expect(offers).toMatchObject([{ range: { from: 49, to: 100 } }])
    expect(view.serverTag).toBe('A')
  })
})

describe('beside other pages', () => {
  test('a busy page sets nothing aside: others may lease it at once, until it rests', async () => {
    const world = Object.assign(await holding(new FakeSource(), range(1, 100, { token: 't' })), {
      isAlone: false,
    })
    const { owner } = ownerIn(world, RELOADED)
    const { offers, view } = await lease(owner, 16, { offer: true })
    expect(offers).toEqual([])
    expect(view).toMatchObject({ free: 84, surplus: 52 })
    expect((await lease(owner, 0, { offer: true })).offers).toMatchObject([
      { range: { from: 49, to: 100 } },
    ])
  })
})

test('a page that closes while its exchange is under way is leased nothing', async () => {
  const world = await holding(new FakeSource(), range(1, 100))
  const { owner } = ownerIn(world)
  const request = exchangeOf({ want: 16 })
  const last = exchangeOf({ notes: [{ exchange: request.id, takeBack: [] }] })
  const answers = [owner.exchange(target, request), owner.exchange(target, last)]
  for (const answer of await Promise.all(answers)) expect(must(answer).leases).toEqual([])
  expect(await world.stored()).toMatchObject({ leases: [], ranges: [{ from: 1, to: 100 }] })
})

test('an owner that closes does not close the storage before an exchange has ended', async () => {
  const told: string[] = []
  const store = Object.assign(new DiskStore(), { close: () => void told.push('closed') })
  const { owner } = ownerIn(new FakeWorld({ store }))
  const { update } = store
  store.update = async (...args) => {
    await flush()
    told.push('stored')
    return update.apply(store, args) as never
  }
  const leasing = owner.exchange(target, exchangeOf())
  owner.close()
  must(await leasing)
  await flush()
  expect(told).toEqual(['stored', 'closed'])
})

describe('release', () => {
  test('that reached the server leaves no failure of a claim that nobody repeats', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    world.source.onClaim = fail(unreachable())
    failureOf(await owner.claim(target, 100))
    const { view } = must(await release(owner))
    expect(view.isReachable).toBe(true)
    expect(view.failure).toBeUndefined()
  })

  test('does not end a pause that the server asked for', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    const busy = { status: 503, retryAfter: 30_000 }
    world.source.onClaim = fail(new HiloError('server-unreachable', 'Busy.', busy))
    failureOf(await owner.claim(target, 100))
    must(await release(owner))
    const { length } = world.source.claims
    expect(failureOf(await owner.claim(target, 100))).toMatchObject(busy)
    expect(world.source.claims).toHaveLength(length)
  })

  test('sends every free range back once, highest first, after a durable removal', async () => {
    const world = await holding(new FakeSource(false), range(1, 10), range(20, 30))
    const held: unknown[] = []
    world.source.onGiveBack = async () => {
      held.push((await world.stored()).ranges)
    }
    const { owner } = ownerIn(world)
    expect(must(await release(owner)).view.free).toBe(0)
    expect(world.source.returns).toEqual([range(20, 30), range(1, 10)])
    expect(held).toEqual([[], []])
  })

  test('sends also a single number back', async () => {
    const world = await holding(new FakeSource(false), range(7, 7))
    must(await release(ownerIn(world).owner))
    expect(world.source.returns).toEqual([range(7, 7)])
  })

  test('sends nothing a second time, even when the first outcome is unknown', async () => {
    const world = await holding(new FakeSource(false), range(1, 10))
    world.source.onGiveBack = () => {
      throw new HiloError('server-unreachable', 'Lost.')
    }
    const { owner } = ownerIn(world)
    expect(failureOf(await release(owner)).code).toBe('server-unreachable')
    must(await release(owner, 'page1:orders:r2'))
    await world.pass(24 * 60 * 60_000)
    expect(world.source.returns).toHaveLength(1)
    expect((await world.stored()).offers).toEqual([])
  })

  test('keeps everything, and the target, when the server cannot be reached', async () => {
    const world = await holding(new FakeSource(false), range(1, 10), range(20, 30))
    const before = await world.stored()
    Object.assign(world.source, {
      reach: async () => {
        throw new HiloError('server-unreachable', 'Offline.')
      },
    })
    const { owner } = ownerIn(world)
    expect(failureOf(await release(owner)).code).toBe('server-unreachable')
    expect(world.source.returns).toEqual([])
    expect(await world.stored()).toEqual(before)
  })

  test('that a worker died in is gone on with: what was not sent is sent', async () => {
    const world = await holding(new FakeSource(false), range(1, 10), range(20, 30))
    world.source.onGiveBack = () => new Promise(() => {})
    release(ownerIn(world).owner)
    await flush()
    world.source.onGiveBack = () => {}
    must(await release(ownerIn(world).owner))
    expect(world.source.returns).toEqual([range(20, 30), range(1, 10)])
    expect(await world.stored()).toMatchObject({ ranges: [], offers: [] })
  })

  test('does not send what came back to the device in the meantime', async () => {
    const world = await holding(new FakeSource(false), range(1, 10), range(20, 30))
    const { owner } = ownerIn(world)
    world.source.onGiveBack = async () => {
      const { offers } = await world.stored()
      await lease(owner, 0, { takeBack: offers.map(({ id }) => id) })
    }
    must(await release(owner))
    expect(world.source.returns).toEqual([range(20, 30)])
    expect((await world.stored()).ranges).toEqual([range(1, 10)])
  })

  test('stops at the first range without an answer, and keeps those behind it', async () => {
    const world = await holding(new FakeSource(false), range(1, 10), range(20, 30), range(40, 50))
    world.source.onGiveBack = ({ from }) => {
      if (from === 20) throw new HiloError('server-unreachable', 'Lost.')
    }
    const { owner } = ownerIn(world)
    expect(failureOf(await release(owner)).code).toBe('server-unreachable')
    expect(world.source.returns).toEqual([range(40, 50), range(20, 30)])
    expect(await world.stored()).toMatchObject({ ranges: [range(1, 10)], offers: [] })
  })

  test('says so where the storage does not take back what was not sent', async () => {
    const world = await holding(new FakeSource(false), range(1, 10), range(20, 30))
    const { update } = world.store
    world.source.onGiveBack = () => {
      world.store.update = async () => {
        world.store.update = update
        throw new HiloError('storage-failed', 'Full.')
      }
      throw unreachable()
    }
    expect(failureOf(await release(ownerIn(world).owner)).code).toBe('storage-failed')
  })

  test('under way keeps a check-in waiting, which would void the tokens that it sent', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    let end = () => {}
    world.source.onGiveBack = () =>
      new Promise<void>((resolve) => {
        end = resolve
      })
    const released = release(owner)
    await flush()
    expect(world.source.returns).toHaveLength(1)
    await lease(owner, 0)
    owner.retryNow()
    await flush()
    expect(world.source.checkIns).toEqual([])
    end()
    must(await released)
  })

  test('of 250 collections is three requests, and one that asks for the server', async () => {
    const { world, owner, targets, reached } = await manyCollections(250)
    world.source.onGiveBack = async ({ prefix }) => {
      const { stored } = await world.store.read([config.url, 'Shop', prefix])
      expect(stored).toMatchObject({ ranges: [], offers: [{ isSent: true }] })
    }
    for (const answer of await owner.release(targets, RELEASE)) must(answer)
    expect(world.source.together).toEqual([100, 100, 50])
    expect(reached).toHaveLength(1)
    expect(world.source.returns).toHaveLength(250)
  })

  test('of a page that closes keeps what the device keeps, whatever its page knew', async () => {
    const world = await holding(new FakeSource(), range(1, 10), range(20, 30))
    const { owner } = ownerIn(world)
    const before = await world.stored()
    const [answer] = await owner.release([{ ...target, reserve: 5 }], RELEASE, true)
    expect(failureOf(answer!)).toMatchObject({ code: 'aborted' })
    expect(world.source.returns).toEqual([])
    expect(await world.stored()).toEqual(before)
  })

  test('of several collections keeps those behind a request without an answer', async () => {
    const { world, owner, targets } = await manyCollections(250)
    let sent = 0
    world.source.onGiveBack = () => {
      if (++sent > 100) throw unreachable()
    }
    const answers = await owner.release(targets, RELEASE)
    const failed = answers.map((answer) => 'failure' in answer)
    expect(failed.filter(Boolean)).toHaveLength(150)
    expect(world.source.together).toEqual([100, 100])
    // What was not sent, and what may have arrived.
    expect(answers.map(({ view }) => view.free).filter((free) => free === 10)).toHaveLength(50)
  })

  test('of several collections gives back each that the server does not refuse', async () => {
    const { world, owner, targets, reached } = await manyCollections(3)
    Object.assign(world.source, {
      reach: async ({ collection }: Target) => {
        reached.push(collection)
        if (collection === 'c0') throw new HiloError('server-refused', 'No.', { status: 403 })
      },
    })
    world.source.onGiveBack = ({ prefix }) => {
      if (prefix === 'c1/') throw new HiloError('server-refused', 'No.', { status: 403 })
    }
    const [first, ...rest] = await owner.release(targets, RELEASE)
    expect(failureOf(first!)).toMatchObject({ status: 403 })
    for (const answer of rest) must(answer)
    expect(reached).toEqual(['c0', 'c1'])
    expect(world.source.together).toEqual([2])
    expect(world.source.returns.map(({ prefix }) => prefix)).toEqual(['c1/', 'c1/', 'c2/'])
  })

  test('goes on behind a range that the server refuses', async () => {
    const world = await holding(new FakeSource(false), range(1, 10), range(20, 30))
    world.source.onGiveBack = ({ from }) => {
      if (from === 20) throw new HiloError('server-refused', 'No.', { status: 403 })
    }
    must(await release(ownerIn(world).owner))
    expect(world.source.returns).toEqual([range(20, 30), range(1, 10)])
  })

  test('keeps what another node granted, for only that node may have it back', async () => {
    const world = await holding(
      new FakeSource(false),
      range(1, 10, { serverTag: 'B' }),
      range(20, 30),
    )
    must(await release(ownerIn(world).owner))
    expect(world.source.returns).toEqual([range(20, 30)])
    expect((await world.stored()).ranges).toEqual([range(1, 10, { serverTag: 'B' })])
  })

  test('sends nothing while the app is switched off, and changes nothing', async () => {
    const world = await holding(new FakeSource(false), range(1, 10))
    const { owner } = ownerIn(world)
    owner.setOnline(false)
    expect(failureOf(await release(owner)).code).toBe('server-unreachable')
    expect(world.source.returns).toEqual([])
    expect((await world.stored()).ranges).toEqual([range(1, 10)])
  })

  test('is not followed by a claim until somebody asks for ids again', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    must(await release(owner))
    await lease(owner, 0)
    owner.retryNow()
    await world.pass(24 * 60 * 60_000)
    expect(world.source.claims).toHaveLength(1)
    await lease(owner, 1)
    await flush()
    expect(world.source.claims).toHaveLength(2)
  })

  test('gives back what a claim brings that was under way', async () => {
    const world = new FakeWorld()
    let answer = () => {}
    world.source.onClaim = () =>
      new Promise<void>((resolve) => {
        answer = resolve
      })
    const { owner } = ownerIn(world)
    const claiming = owner.claim(target, 1)
    await flush()
    const releasing = release(owner)
    await flush()
    answer()
    await claiming
    must(await releasing)
    expect(world.source.returns).toMatchObject([{ from: 1, to: 32 }])
    expect((await world.stored()).ranges).toEqual([])
  })

  test('waits for a check-in under way: an old token would be ignored', async () => {
    const world = new FakeWorld()
    must(await ownerIn(world).owner.claim(target, 1))
    let answer = () => {}
    world.source.onCheckIn = () =>
      new Promise<void>((resolve) => {
        answer = resolve
      })
    const { owner } = ownerIn(world)
    await lease(owner, 0)
    await flush()
    const releasing = release(owner)
    await flush()
    expect(world.source.returns).toEqual([])
    answer()
    must(await releasing)
    expect(world.source.returns).toMatchObject([{ from: 1, to: 32, token: 'token1' }])
  })

  test('with a token, an unknown outcome is found out at the next check-in', async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    world.source.onGiveBack = () => {
      throw new HiloError('server-unreachable', 'Lost.')
    }
    expect(failureOf(await release(owner)).code).toBe('server-unreachable')
    expect((await world.stored()).offers).toMatchObject([{ isSent: true }])
    await lease(owner, 0)
    await flush()
    expect(await world.stored()).toMatchObject({ offers: [], ranges: [{ from: 1, to: 32 }] })
  })

  test("settles what the page held, forgets a set reserve, leaves others' leases", async () => {
    const world = new FakeWorld()
    const { owner } = ownerIn(world)
    must(await reserve(owner, 100))
    const mine = await lease(owner, 16)
    await lease(owner, 16, { page: 'page2', id: 'page2:orders:0' })
    await lease(owner, 0, { notes: [{ lease: mine.leases[0]!.id, next: 5 }] })
    must(await release(owner))
    const stored = await world.stored()
    expect(stored.leases.map(({ range: { from, to } }) => [from, to])).toEqual([[17, 32]])
    expect(stored.reserve).toBeUndefined()
    expect(world.source.returns.map(({ from, to }) => [from, to])).toEqual([
      [33, 100],
      [5, 16],
    ])
  })
})

describe('the state it finds', () => {
  test.each<[string, object]>([
    ['of no known version', { ...emptyState(), version: 0 }],
    ['with a number in two places', { ...emptyState(), ranges: [range(1, 10), range(5, 20)] }],
    ['that is damaged', { version: 1, ranges: 'gone' }],
  ])('%s is set aside, and new numbers are claimed', async (_, record) => {
    const asides: unknown[] = []
    class Watching extends DiskStore {
      override update<T>(
        key: StoreKey,
        change: (stored: unknown, notes: never[]) => Change<T>,
      ): Promise<T> {
        return super.update(key, (stored, notes) => {
          const changed = change(stored, notes)
          if (changed.setAside !== undefined) asides.push(changed.setAside)
          return changed
        })
      }
    }
    const world = new FakeWorld({ store: new Watching() })
    await world.put(record)
    const { owner } = ownerIn(world)
    const { view } = await lease(owner, 1)
    expect(asides).toEqual([record])
    expect(view.notice).toMatchObject({
      code: 'storage-failed',
      message: expect.stringContaining('set aside'),
    })
    await flush()
    expect((await lease(owner, 1)).leases).toHaveLength(1)
    expect(asides).toHaveLength(1)
  })

  test('of a newer version is left as it is, and nothing is claimed or made', async () => {
    const world = new FakeWorld()
    const newer = { ...emptyState(), version: 2, ranges: [range(1, 500)] }
    await world.put(newer as never)
    const { owner } = ownerIn(world)
    expect(await owner.exchange(target, exchangeOf({ want: 16 }))).toMatchObject({
      failure: { code: 'outdated', message: expect.stringContaining('Load that version') },
    })
    expect(await world.stored()).toEqual(newer)
    expect(world.source.claims).toEqual([])
  })
})

describe('storage', () => {
  test('in memory is called so, keeps no reserve, and offers everything to the page', async () => {
    const world = new FakeWorld({ store: new MemoryStore() })
    const { owner } = ownerIn(world)
    must(await owner.claim(target, 1))
    const { view, leases, offers } = await lease(owner, 16, { offer: true })
    expect(view.storage).toBe('memory')
    expect([...leases, ...offers].map(({ range: { from, to } }) => [from, to])).toEqual([
      [1, 16],
      [17, 32],
    ])
  })

  test('that does not open is memory, whatever the browser promises meanwhile', async () => {
    const world = new FakeWorld({ store: new MemoryStore() })
    let [fail, promise] = [() => {}, () => {}]
    world.openStore = () =>
      new Promise((resolve) => {
        fail = () => resolve(world.store)
      })
    world.storageKind = () =>
      new Promise((resolve) => {
        promise = () => resolve('persistent')
      })
    const { owner } = ownerIn(world)
    owner.retryNow()
    fail()
    await flush()
    promise()
    await flush()
    expect((await lease(owner, 0)).view.storage).toBe('memory')
  })

  test('that the browser may evict is reported, and when it no longer may', async () => {
    const world = new FakeWorld()
    const { owner, views } = ownerIn(world)
    expect((await lease(owner, 0)).view.storage).toBe('best-effort')
    world.kind = 'persistent'
    owner.retryNow()
    await flush()
    expect(views.at(-1)?.storage).toBe('persistent')
  })

  test('of which the browser never says how it is kept holds nothing up', async () => {
    const world = new FakeWorld()
    world.storageKind = () => new Promise(() => {})
    const { owner } = ownerIn(world)
    world.source.onClaim = fail(unreachable())
    failureOf(await owner.claim(target, 1))
    owner.retryNow()
    await flush()
    expect(world.source.claims).toHaveLength(2)
    await owner.close()
  })

  test('that is outdated fails every call with that code', async () => {
    const world = new FakeWorld()
    world.openStore = () => Promise.reject(new HiloError('outdated', 'Reload.'))
    const { owner } = ownerIn(world)
    for (const answer of [
      owner.exchange(target, exchangeOf()),
      owner.claim(target, 1),
      release(owner),
    ])
      expect(failureOf(await answer).code).toBe('outdated')
    expect(world.source.claims).toEqual([])
  })

  test('that fails once fails that call, and not the next', async () => {
    let isBroken = true
    class Failing extends DiskStore {
      override async update<T>(
        key: StoreKey,
        change: (stored: unknown, notes: never[]) => Change<T>,
      ): Promise<T> {
        if (isBroken) throw new HiloError('storage-failed', 'No space.')
        return super.update(key, change)
      }
    }
    const { owner } = ownerIn(new FakeWorld({ store: new Failing() }))
    expect(failureOf(await owner.exchange(target, exchangeOf({ want: 1 })))).toMatchObject({
      code: 'storage-failed',
      message: expect.stringMatching(/^No space\. See \S+$/),
    })
    isBroken = false
    must(await owner.claim(target, 1))
    expect((await lease(owner, 1)).leases).toHaveLength(1)
  })
})

test('collections, databases and separators are series of their own', async () => {
  const world = new FakeWorld()
  const { owner } = ownerIn(world)
  const others = [
    { ...target, collection: 'invoices' },
    { ...target, database: 'Other' },
    { ...target, separator: '-' },
  ]
  for (const other of [target, ...others]) must(await owner.claim(other, 1))
  expect(world.source.claims).toHaveLength(4)
  expect((await world.stored()).ranges).toMatchObject([{ from: 1, to: 32 }])
})

test('other tabs hear what this device holds, and the page hears what they say', async () => {
  const world = new FakeWorld()
  const { owner, views } = ownerIn(world)
  must(await owner.claim(target, 1))
  expect(world.notified.at(-1)).toMatchObject([JSON.stringify(KEY), { free: 32, reserve: 32 }])
  const seen = { free: 5, reserve: 32, surplus: 0, gaps: emptyState().gaps }
  world.changeElsewhere(KEY, seen as never)
  expect(views.at(-1)).toMatchObject({ free: 5 })
  world.changeElsewhere([config.url, 'Unknown', 'orders/'], seen as never)
})

test('what other tabs say decides nothing: numbers come from the storage alone', async () => {
  const world = new FakeWorld()
  const { owner } = ownerIn(world)
  must(await owner.claim(target, 1))
  world.changeElsewhere(KEY, {
    free: 1000,
    reserve: 32,
    surplus: 968,
    gaps: emptyState().gaps,
  } as never)
  const { leases } = await lease(owner, 100)
  expect(leases.map(({ range: { from, to } }) => [from, to])).toEqual([[1, 32]])
})

test('tabs with their ranges in memory tell the others nothing and believe nothing', async () => {
  const world = new FakeWorld({ store: new MemoryStore() })
  const { owner, views } = ownerIn(world)
  must(await owner.claim(target, 1))
  const before = views.length
  world.changeElsewhere(KEY, {
    free: 5,
    reserve: 32,
    surplus: 0,
    gaps: { ...emptyState().gaps, fork: 9 },
  } as never)
  expect(views).toHaveLength(before)
  expect(world.notified).toEqual([])
})

describe('an observer', () => {
  test('is told what was stored before and after each change, while it observes', async () => {
    const world = new FakeWorld()
    await world.put({ ...emptyState(), ranges: [range(1, 32)] })
    const { owner, changes } = ownerIn(world)
    await lease(owner, 0)
    await world.pass(0)
    expect(changes).toEqual([])
    owner.watch(true)
    await flush()
    expect(changes).toHaveLength(1)
    expect(changes[0]![1]).toBe(changes[0]![0])
    await lease(owner, 4)
    await flush()
    const { ranges } = await world.stored()
    expect(changes.at(-1)![1].leases).toMatchObject([{ range: { from: 1, to: 4 } }])
    expect(changes.at(-1)![1].ranges).toEqual(ranges)
    expect(changes.at(-1)![0].leases).toEqual([])
    owner.watch(false)
    const count = changes.length
    await lease(owner, 4)
    await flush()
    expect(changes).toHaveLength(count)
  })

  test('is told what another tab stored', async () => {
    const world = new FakeWorld()
    const { owner, changes } = ownerIn(world)
    const { view } = await lease(owner, 0)
    owner.watch(true)
    await flush()
    await world.put({ ...emptyState(), ranges: [range(100, 131)] })
    world.changeElsewhere(KEY, view)
    await flush()
    expect(changes.at(-1)![1].ranges).toEqual([range(100, 131)])
  })

  test('is told the newest state last, also when an older one is read slowly', async () => {
    let isSlow = false
    let goOn = () => {}
    class Slow extends DiskStore {
      override async read(key: StoreKey) {
        const found = await super.read(key)
        if (!isSlow) return found
        isSlow = false
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
        return found
      }
    }
    const world = new FakeWorld({ store: new Slow() })
    const { owner, changes } = ownerIn(world)
    const { view } = await lease(owner, 0)
    isSlow = true
    owner.watch(true)
    await flush()
    await world.put({ ...emptyState(), ranges: [range(100, 131)] })
    world.changeElsewhere(KEY, view)
    await flush()
    goOn()
    await flush()
    expect(changes.at(-1)![1].ranges).toEqual([range(100, 131)])
  })

  test('never sees a number go back: notes are settled before they are shown', async () => {
    class WithNote extends DiskStore {
      readonly #notes = [{ lease: 'page9:0.0', next: 3 }] as never[]
      override async read(key: StoreKey) {
        return { ...(await super.read(key)), notes: this.#notes }
      }
      override update<T>(
        key: StoreKey,
        change: (stored: unknown, notes: never[]) => Change<T>,
      ): Promise<T> {
        return super.update(key, (stored) => change(stored, this.#notes))
      }
    }
    const world = new FakeWorld({ store: new WithNote() })
    const { owner, changes } = ownerIn(world)
    await lease(owner, 0)
    await flush()
    await world.put({
      ...emptyState(),
      leases: [{ id: 'page9:0.0', page: 'page9', range: range(1, 16) }],
    })
    owner.watch(true)
    await flush()
    expect(changes.at(-1)![1]).toMatchObject({
      leases: [],
      ranges: expect.arrayContaining([range(3, 16)]),
    })
    const count = changes.length
    await lease(owner, 4)
    const after = changes.slice(count)
    expect(after.length).toBeGreaterThan(0)
    expect(
      after.flat().flatMap(({ leases }) => leases.filter(({ id }) => id.startsWith('page9'))),
    ).toEqual([])
  })

  test('reads what is stored, with notes that nobody settled, and changes nothing', async () => {
    class WithNote extends DiskStore {
      override async read(key: StoreKey) {
        return { ...(await super.read(key)), notes: [{ lease: 'page1:0.0', next: 3 }] as never[] }
      }
    }
    const world = new FakeWorld({ store: new WithNote() })
    const stored = {
      ...emptyState(),
      leases: [{ id: 'page1:0.0', page: 'page1', range: range(1, 16) }],
    }
    await world.put(stored)
    const { state } = must(await ownerIn(world).owner.inspect(target)) as unknown as {
      state: typeof stored
    }
    expect(state).toMatchObject({ leases: [], ranges: [range(3, 16)], issued: 2 })
    expect(await world.stored()).toEqual(stored)
    expect(world.notified).toEqual([])
  })

  test.each([
    ['nothing', undefined],
    ['a record that cannot be used', { version: 0 }],
  ])('sees an empty device where %s is stored', async (_, record) => {
    const world = new FakeWorld()
    if (record) await world.put(record as never)
    expect(must(await ownerIn(world).owner.inspect(target))).toMatchObject({ state: emptyState() })
  })
})
