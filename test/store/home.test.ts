/** In which home a database is: it has one, and what either holds is used. */
import { IDBFactory } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { seriesInIndexedDb } from '../../src/addons/consecutive/indexeddb.js'
import { IndexedDbStore } from '../../src/store/indexeddb.js'
import type { StoreKey } from '../../src/store/store.js'
import { browserWorld } from '../../src/worker/world.js'
import { FakeBuckets } from '../support/buckets.js'
import { eventually } from '../support/eventually.js'
import '../support/idb.js'

const KEY: StoreKey = ['https://api.example.com', 'Shop', 'orders/']
const NAME = 'homes'
const unknown = new DOMException('Unknown error', 'UnknownError')
const denied = new DOMException('Denied', 'SecurityError')

let buckets: FakeBuckets
let defaultHome: IDBFactory

beforeEach(() => {
  buckets = new FakeBuckets()
  defaultHome = new IDBFactory()
  vi.stubGlobal('indexedDB', defaultHome)
})

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

const namesIn = async (home: IDBFactory) => (await home.databases()).map(({ name }) => name)

/** One page's life. @returns what was stored before it */
async function visit(record: string, name = NAME): Promise<unknown> {
  const store = new IndexedDbStore(name)
  try {
    return await store.update<unknown>(KEY, (before) => ({
      state: record as never,
      result: before,
    }))
  } finally {
    store.close()
  }
}

const addSeries = async (state: string) => {
  const series = seriesInIndexedDb(NAME, KEY)
  try {
    return await series.transact('readwrite', async (tx) => {
      const before = await tx.state()
      tx.saveState({ state } as never)
      return before
    })
  } finally {
    series.close()
  }
}

describe('where the engine has buckets', () => {
  beforeEach(() => void buckets.install())

  test('a new device is in a strict bucket of its own, and nowhere else', async () => {
    expect(await visit('first')).toBeUndefined()
    expect(await visit('second')).toBe('first')
    expect(buckets.open).toHaveBeenCalledWith('offline-hilo', { durability: 'strict' })
    expect(await namesIn(buckets.own.indexedDB)).toEqual([NAME])
    expect(await namesIn(defaultHome)).toEqual([])
  })

  test('a series is there, too', async () => {
    await addSeries('first')
    expect(await addSeries('second')).toEqual({ state: 'first' })
    expect(await namesIn(buckets.own.indexedDB)).toHaveLength(1)
    expect(await namesIn(defaultHome)).toEqual([])
  })

  test('a device that is there does not wait for the default storage', async () => {
    await visit('first')
    vi.spyOn(defaultHome, 'databases').mockReturnValue(new Promise(() => {}))
    vi.spyOn(defaultHome, 'open').mockReturnValue(new EventTarget() as never)
    expect(await visit('second')).toBe('first')
  })

  test('one that cannot be opened for once is waited for: no second home is made', async () => {
    await visit('first')
    buckets.failure = unknown
    await expect(visit('second')).rejects.toMatchObject({ code: 'storage-failed', cause: unknown })
    await expect(addSeries('second')).rejects.toMatchObject({ code: 'storage-failed' })
    buckets.failure = undefined
    expect(await visit('third')).toBe('first')
    expect(await namesIn(defaultHome)).toEqual([])
  })

  test('an owner that starts then uses the bucket as soon as it opens', async () => {
    await visit('first')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    buckets.failure = unknown
    const world = browserWorld()
    const opened = vi.fn()
    const opening = world.openStore(NAME, opened)
    await eventually(() => expect(vi.getTimerCount()).toBeGreaterThan(0))
    const store = await opening
    expect(store.isDurable).toBe(false)
    expect(world.isInBucket!()).toBe(false)
    buckets.failure = undefined
    await world.untilOpen()
    expect(opened).toHaveBeenCalledOnce()
    expect(world.isInBucket!()).toBe(true)
    store.close()
  })

  test('where no bucket can be made, the device is in the default storage, for good', async () => {
    buckets.failure = denied
    expect(await visit('first')).toBeUndefined()
    buckets.failure = undefined
    expect(await visit('second')).toBe('first')
    buckets.failure = unknown
    expect(await visit('third')).toBe('second')
    expect(await namesIn(defaultHome)).toEqual([NAME])
  })

  test('where their list is refused, too, the device is in the default storage', async () => {
    buckets.failure = denied
    buckets.keys.mockRejectedValue(denied)
    await visit('first')
    expect(await visit('second')).toBe('first')
  })

  test('while their list fails, too, no second home is made', async () => {
    await visit('first')
    buckets.failure = unknown
    buckets.keys.mockRejectedValueOnce(unknown)
    await expect(visit('second')).rejects.toMatchObject({ code: 'storage-failed', cause: unknown })
    buckets.failure = undefined
    expect(await visit('third')).toBe('first')
    expect(await namesIn(defaultHome)).toEqual([])
  })

  test('one of two names stays in the default storage, the other is new', async () => {
    buckets.failure = unknown
    await visit('first')
    buckets.failure = undefined
    await visit('other', 'other')
    expect(await visit('second')).toBe('first')
    expect(await namesIn(buckets.own.indexedDB)).toEqual(['other'])
    expect(await namesIn(defaultHome)).toEqual([NAME])
  })

  test('after the site’s data were cleared the device begins anew, in the bucket', async () => {
    await visit('first')
    buckets.made.clear()
    expect(await visit('second')).toBeUndefined()
    expect(await visit('third')).toBe('second')
    expect(await namesIn(defaultHome)).toEqual([])
  })

  test('the status says whether the browser keeps the bucket', async () => {
    buckets.install({ storage: { persisted: async () => true } })
    const world = browserWorld()
    await world.openStore(NAME, () => {})
    expect(await world.storageKind()).toBe('best-effort')
    buckets.own.isPersisted = true
    expect(await world.storageKind()).toBe('persistent')
  })
})

describe('a browser that learns buckets with an update', () => {
  test('goes on with what it has stored', async () => {
    await visit('first')
    await addSeries('first')
    buckets.install({ storage: { persisted: async () => true } })
    expect(await visit('second')).toBe('first')
    expect(await addSeries('second')).toEqual({ state: 'first' })
    expect(await namesIn(buckets.own.indexedDB)).toEqual([])
    const world = browserWorld()
    await world.openStore(NAME, () => {})
    expect(world.isInBucket!()).toBe(false)
    expect(await world.storageKind()).toBe('persistent')
  })

  test('begins no second device while the default storage does not answer', async () => {
    await visit('first')
    buckets.install()
    const asked = vi.spyOn(defaultHome, 'databases').mockRejectedValue(unknown)
    await expect(visit('second')).rejects.toMatchObject({ code: 'storage-failed' })
    asked.mockRestore()
    expect(await visit('third')).toBe('first')
    expect(await namesIn(buckets.own.indexedDB)).toEqual([])
  })
})
