/**
 * The store in IndexedDB: each method one strict, committed transaction, whatever the browser does
 * to the connection.
 */
import { forceCloseDatabase, IDBDatabase, IDBTransaction } from 'fake-indexeddb'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { seriesInIndexedDb } from '../../src/addons/consecutive/indexeddb.js'
import type { NumberRow, SeriesStore } from '../../src/device/series-store.js'
import { emptyState, type LeaseNote } from '../../src/device/state.js'
import { Database } from '../../src/store/database.js'
import { IndexedDbStore } from '../../src/store/indexeddb.js'
import type { StoreKey } from '../../src/store/store.js'
import { eventually } from '../support/eventually.js'
import {
  completeDespiteFailures,
  freezeTransaction,
  leaveNote,
  newName,
  openRaw,
  recordsOf,
  requested,
} from '../support/idb.js'
import { count, KEY, peek, runStoreContract } from './contract.js'

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Every transaction that the code under test begins, and the connection it is on. */
function watchTransactions(begun?: (transaction: IDBTransaction) => void): {
  transactions: IDBTransaction[]
  connections: IDBDatabase[]
} {
  const seen = { transactions: [] as IDBTransaction[], connections: [] as IDBDatabase[] }
  const begin = IDBDatabase.prototype.transaction
  vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (
    this: IDBDatabase,
    ...args
  ) {
    const transaction = begin.apply(this, args)
    seen.transactions.push(transaction as unknown as IDBTransaction)
    seen.connections.push(this)
    begun?.(transaction as unknown as IDBTransaction)
    return transaction
  })
  return seen
}

/** Whoever has one open is asked to give way to the deletion. */
async function expectNoConnection(name: string): Promise<void> {
  const hear = vi.spyOn(IDBDatabase.prototype, 'dispatchEvent')
  await requested(indexedDB.deleteDatabase(name))
  expect(hear).not.toHaveBeenCalled()
}

const storageFailed = expect.objectContaining({ name: 'HiloError', code: 'storage-failed' })
const outdated = expect.objectContaining({
  name: 'HiloError',
  code: 'outdated',
  message: expect.stringContaining('reload'),
})

describe('IndexedDbStore', () => {
  runStoreContract(() => {
    const name = newName()
    return {
      open: () => new IndexedDbStore(name),
      async leaveNotes(key, notes) {
        for (const note of notes) await leaveNote(name, key, note as LeaseNote)
      },
    }
  })

  test('says that it outlives the page, and does: a second instance finds the state', async () => {
    const name = newName()
    const first = new IndexedDbStore(name)
    await first.update(KEY, count)
    first.close()
    const second = new IndexedDbStore(name)
    expect(second.isDurable).toBe(true)
    expect(await second.update(KEY, count)).toBe(2)
  })

  test('reads and writes in one strict transaction: a power cut rolls no number back', async () => {
    const store = new IndexedDbStore(newName())
    await store.open()
    const { transactions } = watchTransactions()
    await store.update(KEY, count)
    expect(transactions.map(({ mode, durability }) => ({ mode, durability }))).toEqual([
      { mode: 'readwrite', durability: 'strict' },
    ])
  })

  test('reads in a transaction of its own that writes nothing and ends by itself', async () => {
    const store = new IndexedDbStore(newName())
    await store.open()
    const commit = vi.spyOn(IDBTransaction.prototype, 'commit')
    const { transactions } = watchTransactions()
    await store.read(KEY)
    expect(transactions.map(({ mode }) => mode)).toEqual(['readonly'])
    expect(commit).toHaveBeenCalledOnce()
  })

  test('resolves nothing before the transaction is complete', async () => {
    const store = new IndexedDbStore(newName())
    await store.open()
    const order: string[] = []
    watchTransactions((transaction) =>
      transaction.addEventListener('complete', () => order.push('complete')),
    )
    await store.update(KEY, count).then(() => order.push('resolved'))
    expect(order).toEqual(['complete', 'resolved'])
  })

  test('commits explicitly, so that a page frozen right afterwards holds nobody up', async () => {
    const commit = vi.spyOn(IDBTransaction.prototype, 'commit')
    await new IndexedDbStore(newName()).update(KEY, count)
    expect(commit).toHaveBeenCalledOnce()
  })

  test('rejects and has applied nothing when aborted after the change', async () => {
    const store = new IndexedDbStore(newName())
    await store.update(KEY, count)
    const { transactions } = watchTransactions()
    const update = store.update(KEY, (stored) => {
      transactions.at(-1)!.abort()
      return count(stored)
    })
    await expect(update).rejects.toEqual(storageFailed)
    vi.restoreAllMocks()
    expect(await peek(store)).toMatchObject({ issued: 1 })
  })

  test('stores what many collections change at once in one commit', async () => {
    const store = new IndexedDbStore(newName())
    const { transactions } = watchTransactions()
    const keys = Array.from({ length: 1_000 }, (_, i): StoreKey => [KEY[0], KEY[1], `c${i}/`])
    const counts = await Promise.all(keys.map((key) => store.update(key, count)))
    expect(counts).toEqual(keys.map(() => 1))
    expect(transactions.filter(({ mode }) => mode === 'readwrite')).toHaveLength(1)
    expect(await peek(store, keys.at(-1)!)).toMatchObject({ issued: 1 })
  })

  test('stores a burst of one collection in turns', async () => {
    const store = new IndexedDbStore(newName())
    const { transactions } = watchTransactions()
    const counts = await Promise.all(Array.from({ length: 250 }, () => store.update(KEY, count)))
    expect(counts).toEqual(counts.map((_, i) => i + 1))
    expect(transactions.filter(({ mode }) => mode === 'readwrite')).toHaveLength(3)
  })

  test('lets each of two changes in one commit see what the one before it stored', async () => {
    const name = newName()
    const store = new IndexedDbStore(name)
    expect(await Promise.all([store.update(KEY, count), store.update(KEY, count)])).toEqual([1, 2])
    expect(await peek(new IndexedDbStore(name))).toMatchObject({ issued: 2 })
  })

  test('applies nothing of a change that throws, and all of those beside it', async () => {
    const store = new IndexedDbStore(newName())
    const refused = new Error('no')
    const answers = await Promise.allSettled([
      store.update(KEY, count),
      store.update(KEY, () => {
        throw refused
      }),
      store.update(KEY, count),
    ])
    expect(answers).toEqual([
      { status: 'fulfilled', value: 1 },
      { status: 'rejected', reason: refused },
      { status: 'fulfilled', value: 2 },
    ])
    expect(await peek(store)).toMatchObject({ issued: 2 })
  })

  test('keeps an unusable record for inspection in the step that replaces it', async () => {
    const name = newName()
    const store = new IndexedDbStore(name)
    await store.update(KEY, () => ({ state: { odd: true } as never, result: 0 }))
    await store.update(KEY, (stored) => ({ state: emptyState(), setAside: stored, result: 0 }))
    expect(await peek(store)).toEqual(emptyState())
    expect(await recordsOf(name, 'set-aside')).toEqual([{ key: KEY, record: { odd: true } }])
  })
})

describe('in Firefox, where a request fails after the commit was asked for', () => {
  test('its transaction fails, and is not tried again: the rest of it was stored', async () => {
    const database = new Database<{ made: { key: string; value: number } }>({
      name: newName(),
      version: 1,
      stores: ['made'],
      create: (db) => void db.createObjectStore('made'),
      meaning: 'No number was made.',
    })
    const take = (key: string) =>
      database.transact('readwrite', async (tx) => {
        tx.objectStore('made').put(1, key)
        tx.objectStore('made')
          .add(1, 'taken')
          .catch(() => {})
        tx.commit()
        return 'mine'
      })
    expect(await take('first')).toBe('mine')
    completeDespiteFailures()
    await expect(take('second')).rejects.toEqual(storageFailed)
    await database.open()
    const keys = await database.transact('readonly', (tx) => tx.objectStore('made').getAllKeys())
    expect(keys).toEqual(['first', 'second', 'taken'])
    database.close()
  })

  test('a number that another tab has taken stores nothing else', async () => {
    completeDespiteFailures()
    const name = newName()
    const [first, second] = [1, 2].map(() => seriesInIndexedDb(name, ['/', 'default', 'receipts']))
    const take = (series: SeriesStore, key: string) =>
      series.transact('readwrite', async (tx) => {
        tx.saveState({ last: key })
        tx.addNumber({ letter: 'A', place: 1, number: 1, id: 'A-1', key, takenAt: '' } as NumberRow)
      })
    await take(first!, 'a')
    await expect(take(second!, 'b')).rejects.toEqual(storageFailed)
    const left = await second!.transact('readonly', async (tx) => [
      await tx.state(),
      (await tx.numbers()).map(({ key }) => key),
    ])
    expect(left).toEqual([{ last: 'a' }, ['a']])
    for (const series of [first!, second!]) series.close()
  })
})

describe('a connection of IndexedDbStore', () => {
  test('that the browser closed is opened again, and nothing is lost', async () => {
    const store = new IndexedDbStore(newName())
    const { connections } = watchTransactions()
    await store.update(KEY, count)
    const first = connections.at(-1)!
    forceCloseDatabase(first as never)
    expect(await store.update(KEY, count)).toBe(2)
    expect(connections.at(-1)).not.toBe(first)
  })

  test('that is dead without having said so is opened again, too', async () => {
    const store = new IndexedDbStore(newName())
    const { connections } = watchTransactions()
    await store.update(KEY, count)
    connections.at(-1)!.close()
    expect(await store.update(KEY, count)).toBe(2)
  })

  test('whose transactions fail is replaced by a new one, and nothing is done twice', async () => {
    const store = new IndexedDbStore(newName())
    await store.update(KEY, count)
    const { connections } = watchTransactions((transaction) => {
      if (connections.at(-1) === connections[0]) queueMicrotask(() => transaction.abort())
    })
    expect(await store.update(KEY, count)).toBe(2)
    expect(await store.update(KEY, count)).toBe(3)
    expect(new Set(connections).size).toBe(2)
  })

  test('is not replaced where the work fails: its error stays', async () => {
    const db = new Database<{ all: { key: string; value: number } }>({
      name: newName(),
      version: 1,
      stores: ['all'],
      create: (opened) => void opened.createObjectStore('all'),
      meaning: '',
    })
    const { connections } = watchTransactions()
    const refused = new Error('no')
    const work = () => Promise.reject(refused)
    await expect(db.transact('readwrite', work)).rejects.toBe(refused)
    await db.transact('readwrite', async (tx) => tx.commit())
    expect(new Set(connections).size).toBe(1)
    db.close()
  })

  test('that fails after its commit began is replaced, and the call is not repeated', async () => {
    const store = new IndexedDbStore(newName())
    await store.update(KEY, count)
    const commit = vi.spyOn(IDBTransaction.prototype, 'commit').mockImplementationOnce(function (
      this: IDBTransaction,
    ) {
      commit.mockRestore()
      this.commit()
      throw new DOMException('Connection to Indexed Database server lost.', 'UnknownError')
    })
    await expect(store.update(KEY, count)).rejects.toEqual(storageFailed)
    expect(await store.update(KEY, count)).toBe(3)
  })

  test('that two calls find lost is opened again once; close leaves none open', async () => {
    const name = newName()
    const store = new IndexedDbStore(name)
    const { connections } = watchTransactions()
    await store.update(KEY, count)
    connections.at(-1)!.close()
    expect(await Promise.all([store.update(KEY, count), store.update(KEY, count)])).toEqual([2, 3])
    store.close()
    await expectNoConnection(name)
  })

  test('that says late that it is lost leaves the new one in use, and none open', async () => {
    const name = newName()
    const store = new IndexedDbStore(name)
    const { connections } = watchTransactions()
    await store.update(KEY, count)
    const first = connections.at(-1)!
    first.close()
    await store.update(KEY, count)
    forceCloseDatabase(first as never)
    await store.update(KEY, count)
    store.close()
    await expectNoConnection(name)
  })

  test('that is lost each time ends in an error, not in a loop', async () => {
    const store = new IndexedDbStore(newName())
    await store.open()
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(() => {
      throw new DOMException('The connection is closing', 'InvalidStateError')
    })
    await expect(store.update(KEY, count)).rejects.toEqual(storageFailed)
  })

  test('gives way at once to a newer version of the package, and then issues nothing', async () => {
    const name = newName()
    const store = new IndexedDbStore(name)
    await store.update(KEY, count)
    const newer = await openRaw(name, 1000)
    await expect(store.update(KEY, count)).rejects.toEqual(outdated)
    newer.close()
    await expect(store.update(KEY, count)).rejects.toEqual(outdated)
  })

  test('gives way to a newer version, also when another page holds its upgrade up', async () => {
    const name = newName()
    const store = new IndexedDbStore(name)
    await store.update(KEY, count)
    const frozen = await openRaw(name)
    const upgrade = indexedDB.open(name, 1000)
    await new Promise((resolve) => upgrade.addEventListener('blocked', resolve))
    await expect(store.update(KEY, count)).rejects.toEqual(outdated)
    frozen.close()
    ;(await requested(upgrade)).close()
  })

  test('is refused by a database that a newer version has upgraded', async () => {
    const name = newName()
    ;(await openRaw(name, 1000)).close()
    await expect(new IndexedDbStore(name).open()).rejects.toEqual(outdated)
    await expect(new IndexedDbStore(name).update(KEY, count)).rejects.toEqual(outdated)
  })

  test('gives way to whoever deletes the database, and starts empty afterwards', async () => {
    const name = newName()
    const store = new IndexedDbStore(name)
    await store.update(KEY, count)
    await requested(indexedDB.deleteDatabase(name))
    expect(await store.update(KEY, count)).toBe(1)
  })

  test('is closed with the store, for good', async () => {
    const name = newName()
    const store = new IndexedDbStore(name)
    await store.open()
    store.close()
    await expect(store.update(KEY, count)).rejects.toMatchObject({ code: 'closed' })
    await expectNoConnection(name)
  })
})

describe('a database of the app itself under the same name is named', () => {
  test('where it lacks the stores', async () => {
    const name = newName()
    ;(await openRaw(name, 1)).close()
    await expect(new IndexedDbStore(name).open()).rejects.toMatchObject({
      code: 'storage-failed',
      message: expect.stringContaining(`'${name}' is a database of the app itself`),
    })
  })

  test('where it has another version', async () => {
    const name = newName()
    ;(await openRaw(name, 10)).close()
    await expect(new IndexedDbStore(name).open()).rejects.toMatchObject({
      code: 'outdated',
      message: expect.stringContaining('If the app itself has that database, pass another'),
    })
  })
})

describe('IndexedDbStore never waits for ever', () => {
  test('an open without an answer fails at its deadline; the next one may succeed', async () => {
    const name = newName()
    const other = await openRaw(name, 1)
    // This connection ignores `versionchange`: the deletion waits for it, and every open waits for
    // the deletion.
    const deletion = requested(indexedDB.deleteDatabase(name))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const store = new IndexedDbStore(name)
    const open = expect(store.open()).rejects.toEqual(storageFailed)
    await vi.advanceTimersByTimeAsync(5_000)
    await open
    vi.useRealTimers()
    other.close()
    await deletion
    expect(await store.update(KEY, count)).toBe(1)
  })

  test('an open that succeeds after its deadline leaves no connection behind', async () => {
    const name = newName()
    const other = await openRaw(name, 1)
    const deletion = requested(indexedDB.deleteDatabase(name))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const store = new IndexedDbStore(name)
    const open = expect(store.open()).rejects.toEqual(storageFailed)
    await vi.advanceTimersByTimeAsync(5_000)
    await open
    vi.useRealTimers()
    store.close()
    const close = vi.spyOn(IDBDatabase.prototype, 'close')
    other.close()
    await deletion
    await eventually(() => expect(close).toHaveBeenCalledTimes(2))
  })

  test('an open that fails behind an endless transaction leaves no connection behind', async () => {
    const name = newName()
    await new IndexedDbStore(name).update(KEY, count)
    const thaw = await freezeTransaction(name)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const close = vi.spyOn(IDBDatabase.prototype, 'close')
    const open = expect(new IndexedDbStore(name).open()).rejects.toEqual(storageFailed)
    await vi.advanceTimersByTimeAsync(5_000)
    await open
    vi.useRealTimers()
    expect(close).toHaveBeenCalledOnce()
    thaw()
  })

  test('a transaction behind an endless one fails at its deadline, and never applies', async () => {
    const name = newName()
    const store = new IndexedDbStore(name)
    const { connections } = watchTransactions()
    await store.update(KEY, count)
    const before = connections.at(-1)!
    const thaw = await freezeTransaction(name)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const change = vi.fn(count)
    const update = expect(store.update(KEY, change)).rejects.toMatchObject({
      code: 'storage-failed',
      retryAfter: 1_000,
    })
    await vi.advanceTimersByTimeAsync(5_000)
    await update
    vi.useRealTimers()
    thaw()
    expect(await store.update(KEY, count)).toBe(2)
    expect(change).not.toHaveBeenCalled()
    // The connection may be dead.
    expect(connections.at(-1)).not.toBe(before)
  })

  test('those who wait behind it fail with it, not each after a deadline of its own', async () => {
    const name = newName()
    const store = new IndexedDbStore(name)
    await store.update(KEY, count)
    const thaw = await freezeTransaction(name)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const calls = [store.update(KEY, count), store.read(KEY), store.keys()]
    const failed = Promise.all(calls.map((call) => expect(call).rejects.toEqual(storageFailed)))
    await vi.advanceTimersByTimeAsync(5_000)
    await failed
    vi.useRealTimers()
    thaw()
    expect(await store.update(KEY, count)).toBe(2)
  })

  test("the deadline of a transaction begins when its page's others are over", async () => {
    const database = new Database<{ made: { key: string; value: number } }>({
      name: newName(),
      version: 1,
      stores: ['made'],
      create: (db) => void db.createObjectStore('made'),
      meaning: '',
    })
    await database.open()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    /** A commit of two seconds, as a disk under load has it. */
    const slow = (n: number) =>
      database.transact('readwrite', async (tx) => {
        await tx.objectStore('made').put(n, 'n')
        await vi.advanceTimersByTimeAsync(2_000)
        return n
      })
    expect(await Promise.all([1, 2, 3, 4].map(slow))).toEqual([1, 2, 3, 4])
    vi.useRealTimers()
    database.close()
  })

  test('an open during a stay in the back/forward cache does not fail for it', async () => {
    const name = newName()
    const other = await openRaw(name, 1)
    const deletion = requested(indexedDB.deleteDatabase(name))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const opened = new IndexedDbStore(name).open()
    // When the page goes on, the timer is long due, and the answer is on its way.
    await vi.advanceTimersToNextTimerAsync()
    other.close()
    await deletion
    vi.useRealTimers()
    await opened
  })
})
