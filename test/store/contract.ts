/**
 * The contract of `DeviceStore` (its doc comment), as one suite that every implementation has to
 * pass.
 */
import { expect, test } from 'vitest'
import { type DeviceState, emptyState, type LeaseNote, type Note } from '../../src/core/state.js'
import type { DeviceStore, StoreKey } from '../../src/store/store.js'

/** One storage, as several tabs see it. */
export interface Bench {
  /** Another instance on the same storage. */
  open(): DeviceStore
}

/** One storage that pages can leave notes in. */
export interface NotesBench extends Bench {
  leaveNote(key: StoreKey, note: LeaseNote): Promise<void>
}

export const KEY: StoreKey = ['https://api.example.com', 'Shop', 'orders/']

/** Counts one up, and says what it counted to. */
export const count = (stored: unknown) => {
  const state = (stored as DeviceState | undefined) ?? emptyState()
  return { state: { ...state, issued: state.issued + 1 }, result: state.issued + 1 }
}

/** What is stored, changing nothing. */
export const peek = (store: DeviceStore, key = KEY): Promise<unknown> =>
  store.update(key, (stored) => ({ state: stored as DeviceState, result: structuredClone(stored) }))

export function runStoreContract(makeBench: () => Bench): void {
  test('hands the first change nothing, and each later one what the last one stored', async () => {
    const store = makeBench().open()
    const seen: unknown[] = []
    for (let i = 0; i < 3; i++)
      await store.update(KEY, (stored) => {
        seen.push((stored as DeviceState | undefined)?.issued)
        return count(stored)
      })
    expect(seen).toEqual([undefined, 1, 2])
    expect(await peek(store)).toEqual({ ...emptyState(), issued: 3 })
  })

  test('runs updates one at a time: 100 at once, through several instances, count to 100', async () => {
    const bench = makeBench()
    const stores = Array.from({ length: 4 }, () => bench.open())
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, i) => stores[i % 4]!.update(KEY, count)),
    )
    expect(new Set(results).size).toBe(100)
    expect(await peek(stores[0]!)).toMatchObject({ issued: 100 })
  })

  test('applies nothing of a change that throws, rejects with what it threw, and goes on', async () => {
    const store = makeBench().open()
    await store.update(KEY, count)
    const bang = new Error('bang')
    await expect(
      store.update(KEY, () => {
        throw bang
      }),
    ).rejects.toBe(bang)
    expect(await store.update(KEY, count)).toBe(2)
  })

  test('calls each change exactly once', async () => {
    const store = makeBench().open()
    let calls = 0
    await Promise.all(
      Array.from({ length: 10 }, () =>
        store.update(KEY, (stored) => {
          calls++
          return count(stored)
        }),
      ),
    )
    expect(calls).toBe(10)
  })

  test('keeps what is stored apart from the objects it was given and gave', async () => {
    const store = makeBench().open()
    const given = emptyState()
    await store.update(KEY, () => ({ state: given, result: 0 }))
    given.issued = 99
    await store.update(KEY, (stored) => {
      const result = { ...(stored as DeviceState) }
      return { state: { ...result, reserve: 5 }, result }
    })
    expect(await peek(store)).toEqual({ ...emptyState(), reserve: 5 })
  })

  test('reads what the next change would be handed, and changes nothing', async () => {
    const store = makeBench().open()
    expect(await store.read(KEY)).toEqual({ stored: undefined, notes: [] })
    await store.update(KEY, count)
    const { stored } = await store.read(KEY)
    expect(stored).toEqual({ ...emptyState(), issued: 1 })
    ;(stored as DeviceState).issued = 99
    expect(await peek(store)).toEqual({ ...emptyState(), issued: 1 })
  })

  test.each<[string, StoreKey]>([
    ['server', ['https://other.example.com', 'Shop', 'orders/']],
    ['database', ['https://api.example.com', 'Shop2', 'orders/']],
    ['prefix', ['https://api.example.com', 'Shop', 'orders/2/']],
    ['split of the same letters', ['https://api.example.com', 'Sho', 'porders/']],
    ['case', ['https://api.example.com', 'Shop', 'Orders/']],
  ])('keeps a key with another %s apart', async (_, other) => {
    const store = makeBench().open()
    await store.update(KEY, count)
    expect(await store.update(other, count)).toBe(1)
    expect(await store.update(KEY, count)).toBe(2)
  })
}

/** What a store that outlives its pages promises about the notes they leave. */
export function runNotesContract(makeBench: () => NotesBench): void {
  test('hands a note out once, to its own key, in the step that removes it', async () => {
    const bench = makeBench()
    const store = bench.open()
    const take = (key: StoreKey) =>
      store.update<Note[]>(key, (stored, notes) => ({ state: count(stored).state, result: notes }))
    await store.update(KEY, count)
    const note = { lease: 'page1:orders:0.0', next: 17 }
    await bench.leaveNote(KEY, note)
    await bench.leaveNote(KEY, { ...note, lease: 'page2:orders:0.0' })
    expect(await take(['https://api.example.com', 'Shop', 'orders/2/'])).toEqual([])
    const [first, second] = await Promise.all([take(KEY), take(KEY)])
    expect(first).toEqual([note, { ...note, lease: 'page2:orders:0.0' }])
    expect(second).toEqual([])
  })

  test('shows a note to who reads, and keeps it for the next change', async () => {
    const bench = makeBench()
    const store = bench.open()
    await store.update(KEY, count)
    const note = { lease: 'page1:orders:0.0', next: 17 }
    await bench.leaveNote(KEY, note)
    expect((await store.read(KEY)).notes).toEqual([note])
    expect(
      await store.update<Note[]>(KEY, (stored, notes) => ({
        state: count(stored).state,
        result: notes,
      })),
    ).toEqual([note])
  })

  test('keeps a note when the change that was to settle it throws', async () => {
    const bench = makeBench()
    const store = bench.open()
    await store.update(KEY, count)
    await bench.leaveNote(KEY, { lease: 'L', next: 1 })
    await store
      .update(KEY, () => {
        throw new Error('bang')
      })
      .catch(() => {})
    expect(
      await store.update(KEY, (stored, notes) => ({ ...count(stored), result: notes })),
    ).toHaveLength(1)
  })
}
