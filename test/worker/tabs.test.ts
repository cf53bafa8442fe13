/**
 * Tabs that talk to each other: who is alive, who can spare something, and who need not be waited
 * for.
 */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { emptyState, type Note } from '../../src/device/state.js'
import type { Change, StoreKey } from '../../src/store/store.js'
import { openTabs, type Tabs, type TabsCallbacks } from '../../src/worker/tabs.js'
import { newName } from '../support/idb.js'
import { range } from '../support/ranges.js'
import { DiskStore, FakeWorld, flush, lease, ownerIn } from '../support/world.js'

const all: Tabs[] = []

/** A disk on which a page that closes leaves notes. They are there until they are settled. */
class NotedStore extends DiskStore {
  notes: Note[] = []

  override update<T>(
    key: StoreKey,
    change: (stored: unknown, notes: never[]) => Change<T>,
  ): Promise<T> {
    return super.update(key, (stored) => change(stored, this.notes.splice(0) as never[]))
  }
}

afterEach(() => {
  vi.useRealTimers()
  for (const tabs of all.splice(0)) tabs.close()
})

function open(
  name: string,
  page: string,
  parkExcess: () => Promise<void> = async () => {},
  onChange: TabsCallbacks['onChange'] = () => {},
): Tabs {
  const tabs = openTabs(name, page, { onChange, parkExcess })!
  all.push(tabs)
  return tabs
}

/** Until everything said so far on this channel was heard by all. */
const heard = (name: string) =>
  new Promise<void>((resolve) => {
    const [ear, mouth] = [new BroadcastChannel(name), new BroadcastChannel(name)]
    ear.onmessage = ({ data }) => {
      if (data?.page !== 'end') return
      ear.close()
      mouth.close()
      resolve()
    }
    mouth.postMessage({ page: 'end', type: 'here' })
  })

describe('asking which pages live', () => {
  test('finds the pages that were there before, and those that come', async () => {
    const name = newName()
    const first = open(name, 'first')
    const lives = first.askWhoLives()
    const second = open(name, 'second')
    const livesToo = second.askWhoLives()
    for (let i = 0; i < 3; i++) await heard(name)
    expect(['first', 'second'].map(lives)).toEqual([true, true])
    expect(['first', 'second'].map(livesToo)).toEqual([true, true])
  })

  test('takes no message of another script for a page', async () => {
    const name = newName()
    const thrown = vi.fn()
    process.on('uncaughtException', thrown)
    const me = open(name, 'me')
    const lives = me.askWhoLives()
    const stranger = new BroadcastChannel(name)
    for (const data of [null, 'hello', 7, {}, { page: 1, collection: 'a' }, { page: 'stranger' }])
      stranger.postMessage(data)
    for (let i = 0; i < 3; i++) await heard(name)
    stranger.close()
    process.off('uncaughtException', thrown)
    expect([me.isAlone(), lives('stranger'), thrown.mock.calls]).toEqual([true, false, []])
  })

  test('misses a page that has spoken, and died before it was asked', async () => {
    const name = newName()
    const me = open(name, 'me')
    const dying = open(name, 'dying')
    const lives = me.askWhoLives()
    for (let i = 0; i < 3; i++) await heard(name)
    dying.close()
    const livesStill = me.askWhoLives()
    for (let i = 0; i < 3; i++) await heard(name)
    expect(lives('dying')).toBe(true)
    expect(livesStill('dying')).toBe(false)
  })

  test('misses the dead, and the pages of another storage', async () => {
    const name = newName()
    open(name, 'dead').close()
    open(`${name}2`, 'stranger')
    const lives = open(name, 'me').askWhoLives()
    for (let i = 0; i < 3; i++) await heard(name)
    expect(lives('dead')).toBe(false)
    expect(lives('stranger')).toBe(false)
  })
})

test('what a page has seen is heard by the others of its storage, but not by itself', async () => {
  const name = newName()
  const [mine, theirs, strangers] = [vi.fn(), vi.fn(), vi.fn()]
  const me = open(name, 'me', undefined, mine)
  open(name, 'other', undefined, theirs)
  open(`${name}2`, 'stranger', undefined, strangers)
  const seen = { free: 5 } as never
  me.notify('orders', seen)
  await heard(name)
  expect(theirs.mock.calls).toEqual([['orders', seen]])
  expect([mine, strangers].flatMap(({ mock }) => mock.calls)).toEqual([])
})

describe('a page that runs short', () => {
  const orders = 'orders'

  test('waits until each living page it asks has parked what it can, or failed to', async () => {
    const name = newName()
    const parkExcess = vi.fn(async () => {})
    open(name, 'first', parkExcess)
    open(name, 'second', () => Promise.reject(new Error('full')))
    const me = open(name, 'me', () => Promise.reject(new Error('asked itself')))
    for (let i = 0; i < 3; i++) await heard(name)
    expect(await me.askToPark(orders, new Set(['first', 'second', 'me', 'never seen']))).toBe(true)
    expect(parkExcess.mock.calls).toEqual([[orders]])
  })

  test('asks nobody when nobody else lives, and does not wait', async () => {
    const me = open(newName(), 'me')
    expect(await me.askToPark(orders, new Set(['me', 'never seen']))).toBe(false)
  })

  test('may ask twice at once: a page that answers is not taken for dead', async () => {
    const name = newName()
    open(name, 'other')
    const me = open(name, 'me')
    for (let i = 0; i < 3; i++) await heard(name)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const asked = [1, 2].map(() => me.askToPark(orders, new Set(['other'])))
    for (let i = 0; i < 3; i++) await heard(name)
    vi.advanceTimersByTime(1_000)
    expect(await Promise.all(asked)).toEqual([true, true])
    expect(await me.askToPark(orders, new Set(['other']))).toBe(true)
  })

  test('waits a second for a silent page, and not again before that page speaks', async () => {
    const name = newName()
    const mute = new BroadcastChannel(name)
    const me = open(name, 'me')
    mute.postMessage({ page: 'mute', type: 'here', collection: '' })
    for (let i = 0; i < 3; i++) await heard(name)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const asked = me.askToPark(orders, new Set(['mute']))
    vi.advanceTimersByTime(999)
    expect(await Promise.race([asked, flush()])).toBe(undefined)
    vi.advanceTimersByTime(1)
    expect(await asked).toBe(true)
    expect(await me.askToPark(orders, new Set(['mute']))).toBe(false)
    expect(me.isAlone()).toBe(true)
    mute.close()
  })

  test('does not take for dead who says that it lives, and is slow to park', async () => {
    const name = newName()
    const busy = new BroadcastChannel(name)
    const me = open(name, 'me')
    const lives = me.askWhoLives()
    busy.postMessage({ page: 'busy', type: 'here', collection: '' })
    for (let i = 0; i < 3; i++) await heard(name)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const asked = me.askToPark(orders, new Set(['busy']))
    vi.advanceTimersByTime(1_000)
    expect(await asked).toBe(true)
    expect(lives('busy')).toBe(true)
    busy.postMessage({ page: 'busy', type: 'parked', collection: orders })
    for (let i = 0; i < 3; i++) await heard(name)
    expect(me.isAlone()).toBe(false)
    const again = me.askToPark(orders, new Set(['busy']))
    vi.advanceTimersByTime(1_000)
    expect(await again).toBe(true)
    busy.close()
  })
})

describe('a page that starts', () => {
  const withLeases = async (store?: DiskStore) => {
    const world = new FakeWorld({ ...(store && { store }) })
    await world.put({
      ...emptyState(),
      ranges: [range(41, 99)],
      leases: [
        { id: 'dead:0.0', page: 'dead', range: range(1, 10) },
        { id: 'alive:0.0', page: 'alive', range: range(11, 20) },
      ],
    })
    return world
  }

  /** A check-in follows after hours. */
  const isSoon = (wait: number) => wait <= 60_000

  test('counts what killed pages held as gaps, after they had two seconds to answer', async () => {
    const world = await withLeases()
    const { owner, views } = ownerIn(world)
    await lease(owner, 0)
    await world.pass(1_999)
    expect((await world.stored()).leases).toHaveLength(2)
    await world.pass(1)
    await flush()
    expect(await world.stored()).toMatchObject({
      leases: [{ id: 'alive:0.0' }],
      gaps: { crash: 10 },
      ranges: [{ from: 41 }],
    })
    expect(views.at(-1)?.gaps.crash).toBe(10)
  })

  test('looks again at a page that answered while it closed, and settles its note', async () => {
    const store = new NotedStore()
    const world = await withLeases(store)
    const { owner, views } = ownerIn(world)
    await lease(owner, 0)
    await world.pass(2_000)
    store.notes = [{ lease: 'alive:0.0', next: 14 }]
    await world.pass(8_000)
    expect(await world.stored()).toMatchObject({
      leases: [],
      gaps: { crash: 10 },
      ranges: [
        { from: 14, to: 20 },
        { from: 41, to: 99 },
      ],
    })
    expect(views.at(-1)?.free).toBe(66)
    expect(world.waits.filter(isSoon)).toEqual([])
  })

  test('looks again at a page that answered before it was killed', async () => {
    const world = await withLeases()
    const { owner, views } = ownerIn(world)
    await lease(owner, 0)
    await world.pass(2_000)
    world.dead.add('alive')
    await world.pass(10_000)
    await flush()
    expect(await world.stored()).toMatchObject({ leases: [], gaps: { crash: 20 } })
    expect(views.at(-1)?.gaps.crash).toBe(20)
  })

  test('looks twice only, at pages that go on living', async () => {
    const world = await withLeases()
    const { owner } = ownerIn(world)
    await lease(owner, 0)
    await world.pass(12_000)
    await flush()
    expect(await world.stored()).toMatchObject({ leases: [{ id: 'alive:0.0' }] })
    expect(world.waits.filter(isSoon)).toEqual([])
  })

  test('buries nobody where pages cannot hear each other', async () => {
    const world = Object.assign(await withLeases(), { openTabs: undefined })
    const { owner } = ownerIn(world)
    await lease(owner, 0)
    await world.pass(60 * 60_000)
    expect((await world.stored()).leases).toHaveLength(2)
  })
})
