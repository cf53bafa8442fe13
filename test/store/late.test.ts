/** IndexedDB that opens late: what was in memory moves there once, and nothing is in both. */
import { afterEach, expect, test, vi } from 'vitest'
import { type DeviceState, emptyState } from '../../src/device/state.js'
import { IndexedDbStore } from '../../src/store/indexeddb.js'
import { LateStore } from '../../src/store/late.js'
import { eventually } from '../support/eventually.js'
import { newName, openRaw } from '../support/idb.js'
import { range } from '../support/ranges.js'
import { KEY, peek } from './contract.js'

afterEach(() => {
  vi.restoreAllMocks()
})

const free = (...ranges: ReturnType<typeof range>[]): DeviceState => ({ ...emptyState(), ranges })

/** 1–200 are stored, and IndexedDB does not open until `works()`. */
async function openLate() {
  const name = newName()
  const disk = new IndexedDbStore(name)
  await disk.update(KEY, () => ({ state: free(range(1, 200)), result: undefined }))
  const { open } = indexedDB
  const spy = vi.spyOn(indexedDB, 'open').mockImplementation(() => {
    throw new DOMException('Not now', 'UnknownError')
  })
  const timers: (() => void)[] = []
  const pauses: number[] = []
  let opened = 0
  const store = new LateStore(new IndexedDbStore(name), {
    after(ms, run) {
      pauses.push(ms)
      timers.push(run)
      return () => void timers.splice(timers.indexOf(run), 1)
    },
    date: () => 0,
    onOpen: () => opened++,
  })
  const add = (...ranges: ReturnType<typeof range>[]) =>
    store.update(KEY, (stored) => {
      const state = stored as DeviceState
      return { state: { ...state, ranges: [...state.ranges, ...ranges] }, result: state.ranges }
    })
  return {
    name,
    disk,
    store,
    add,
    timers,
    pauses,
    works: () => spy.mockImplementation((...args) => open.apply(indexedDB, args)),
    opened: () => opened,
  }
}

test('it is tried again and again, and what is stored is used once it opens', async () => {
  const { store, add, timers, works, opened, disk } = await openLate()
  expect(await add(range(301, 310))).toEqual([])
  expect(store.isDurable).toBe(false)
  await expect(store.open()).rejects.toMatchObject({ code: 'storage-failed' })
  works()
  timers[0]!()
  await eventually(() => expect(store.isDurable).toBe(true))
  expect([opened(), timers.length]).toEqual([1, 0])
  expect(await add()).toEqual([range(1, 200), range(301, 310)])
  expect(((await peek(disk)) as DeviceState).ranges).toEqual([range(1, 200), range(301, 310)])
  expect(await add()).toHaveLength(2)
})

test('it is tried after a second, then more rarely, and one try waits at a time', async () => {
  const { store, timers, pauses } = await openLate()
  for (const _ of Array(5)) await expect(store.open()).rejects.toThrow()
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 8_000, 8_000])
  expect(timers).toHaveLength(1)
})

test('closed while it opens, it stays in memory', async () => {
  const { store, add, works, opened } = await openLate()
  await add(range(301, 310))
  works()
  const opening = store.open()
  store.close()
  await expect(opening).rejects.toMatchObject({ code: 'closed' })
  expect(await add()).toEqual([range(301, 310)])
  expect([store.isDurable, opened()]).toEqual([false, 0])
})

test('nobody is told that nothing is stored while that is not known', async () => {
  const { store } = await openLate()
  await expect(store.keys()).rejects.toMatchObject({ code: 'storage-failed' })
})

test('what is in memory can be read with what is stored', async () => {
  const { store, add, works } = await openLate()
  await add(range(301, 310))
  expect((await store.read(KEY)).stored).toMatchObject({ ranges: [range(301, 310)], isApart: true })
  works()
  await store.open()
  const { stored } = await store.read(KEY)
  expect(stored).toMatchObject({ ranges: [range(1, 200), range(301, 310)] })
  expect(await store.keys()).toContainEqual(KEY)
})

test('a change that throws moves nothing, and the next one does', async () => {
  const { store, add, works, disk } = await openLate()
  await add(range(301, 310))
  works()
  await store.open()
  const refused = store.update(KEY, () => {
    throw new Error('no')
  })
  await expect(refused).rejects.toThrow('no')
  expect(((await peek(disk)) as DeviceState).ranges).toEqual([range(1, 200)])
  expect(await add()).toEqual([range(1, 200), range(301, 310)])
})

test('nor does one that throws when its transaction was undone and runs once more', async () => {
  const { store, add, works } = await openLate()
  await add(range(301, 310))
  works()
  await store.open()
  const { update } = IndexedDbStore.prototype
  vi.spyOn(IndexedDbStore.prototype, 'update').mockImplementationOnce(function (
    this: IndexedDbStore,
    key,
    change,
  ) {
    change(undefined, [])
    return update.call(this, key, change) as Promise<never>
  })
  let runs = 0
  const refused = store.update(KEY, (stored) => {
    if (++runs === 2) throw new Error('no')
    return { state: stored as DeviceState, result: undefined }
  })
  await expect(refused).rejects.toThrow('no')
  expect(await add()).toEqual([range(1, 200), range(301, 310)])
})

test('what may have moved in a transaction that failed never moves again', async () => {
  const { store, add, works, disk } = await openLate()
  await add(range(301, 310))
  works()
  await store.open()
  const { update } = IndexedDbStore.prototype
  vi.spyOn(IndexedDbStore.prototype, 'update').mockImplementationOnce(async function (
    this: IndexedDbStore,
    ...args
  ) {
    await update.apply(this, args)
    throw new Error('Nobody knows whether it is stored.')
  })
  await expect(add()).rejects.toThrow('Nobody knows')
  // Another tab uses them up.
  await disk.update(KEY, () => ({ state: free(), result: undefined }))
  expect(await add()).toEqual([])
})

test('where a newer version has upgraded it meanwhile, no number is made', async () => {
  const { name, store, add, works } = await openLate()
  await add(range(301, 310))
  works()
  ;(await openRaw(name, 1_000)).close()
  await expect(store.open()).rejects.toMatchObject({ code: 'outdated' })
  await expect(add()).rejects.toMatchObject({ code: 'outdated' })
})
