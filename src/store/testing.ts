/**
 * `offline-hilo/store/testing`: the contract of `DeviceStore` as checks that any test runner can
 * run. A store that passes them all may hold ranges: no check needs anything but the port.
 */
import { type DeviceState, emptyState, type LeaseNote, type Note } from '../device/state.js'
import type {
  DeviceStore,
  Entry,
  Link,
  NumberRow,
  SeriesStore,
  SeriesTransaction,
  StoreKey,
} from './store.js'

/** One new and empty storage, which several processes or tabs can open. */
export interface StoreBench {
  /** Opens the storage once more. */
  open(): DeviceStore | Promise<DeviceStore>
  /** How notes get into the storage, if not by the store's own `leaveNotes`. */
  leaveNotes?(key: StoreKey, notes: readonly Note[]): void | Promise<void>
}

export interface StoreCheck {
  /** The promise of the store. */
  name: string
  /** Rejects with an error that names the store's mistake. */
  run(): Promise<void>
}

const KEY: StoreKey = ['https://api.example.com', 'Shop', 'orders/']

/**
 * @param makeBench makes a storage of its own for each check
 * @example
 * for (const { name, run } of storeChecks(() => ({ open: () => myStore(newFile()) })))
 *   test(name, run)
 */
export function storeChecks(makeBench: () => StoreBench | Promise<StoreBench>): StoreCheck[] {
  const check = (name: string, run: (bench: StoreBench) => Promise<void>): StoreCheck => ({
    name,
    run: async () => run(await makeBench()),
  })
  return [
    check('hands each change what the one before has stored', async (bench) => {
      const store = await bench.open()
      const seen: unknown[] = []
      for (let i = 0; i < 3; i++)
        await store.update(KEY, (stored) => {
          seen.push((stored as DeviceState | undefined)?.issued)
          return countUp(stored)
        })
      mustBe(seen, [undefined, 1, 2], 'the changes were handed')
      mustBe(await storedIn(store), { ...emptyState(), issued: 3 }, 'what is stored')
    }),

    check('runs one change at a time, through whichever instance it comes', async (bench) => {
      const stores = await Promise.all(Array.from({ length: 4 }, () => bench.open()))
      const results = await Promise.all(
        Array.from({ length: 40 }, (_, i) => stores[i % 4]!.update(KEY, countUp)),
      )
      mustBe(new Set(results).size, 40, 'different results of 40 changes at once')
      mustBe((await storedIn(stores[0]!)).issued, 40, 'the count afterwards')
    }),

    check('calls each change once', async (bench) => {
      const store = await bench.open()
      let calls = 0
      const changes = Array.from({ length: 10 }, () =>
        store.update(KEY, (stored) => {
          calls++
          return countUp(stored)
        }),
      )
      await Promise.all(changes)
      mustBe(calls, 10, 'the calls of 10 changes')
    }),

    check(
      'applies nothing of a change that throws, rejects with it, and goes on',
      async (bench) => {
        const store = await bench.open()
        await store.update(KEY, countUp)
        const bang = new Error('bang')
        mustBe(await rejection(store.update(KEY, throwing(bang))), bang, 'the rejection')
        mustBe(await store.update(KEY, countUp), 2, 'the count of the next change')
      },
    ),

    check('keeps what is stored apart from the objects it was given and gave', async (bench) => {
      const store = await bench.open()
      const given = emptyState()
      await store.update(KEY, () => ({ state: given, result: 0 }))
      given.issued = 99
      const { stored } = await store.read(KEY)
      ;(stored as DeviceState).issued = 98
      mustBe(await storedIn(store), emptyState(), 'what is stored')
    }),

    check('keeps what it is told to after it was closed and opened again', async (bench) => {
      const store = await bench.open()
      await store.update(KEY, countUp)
      const { isDurable } = store
      store.close()
      const { stored } = await (await bench.open()).read(KEY)
      if (isDurable) mustBe(stored, { ...emptyState(), issued: 1 }, 'what is stored')
    }),

    check('reads what the next change would be handed, and changes nothing', async (bench) => {
      const store = await bench.open()
      mustBe(await store.read(KEY), { stored: undefined, notes: [] }, 'what is read of nothing')
      await store.update(KEY, countUp)
      mustBe((await store.read(KEY)).stored, { ...emptyState(), issued: 1 }, 'what is read')
    }),

    check('lists the keys under which something is stored', async (bench) => {
      const store = await bench.open()
      mustBe(await store.keys(), [], 'the keys of an empty storage')
      const keys = [KEY, OTHER_KEYS[1]![1]]
      for (const key of keys) await store.update(key, countUp)
      const listed = (await store.keys()).map((key) => JSON.stringify(key)).sort()
      mustBe(listed, keys.map((key) => JSON.stringify(key)).sort(), 'the keys')
    }),

    ...OTHER_KEYS.map(([what, other]) =>
      check(`keeps a key with another ${what} apart`, async (bench) => {
        const store = await bench.open()
        await store.update(KEY, countUp)
        mustBe(await store.update(other, countUp), 1, 'the first count of the other key')
        mustBe(await store.update(KEY, countUp), 2, 'the second count of the key')
      }),
    ),

    check('keeps a record that cannot be used when it is set aside', async (bench) => {
      const store = await bench.open()
      await store.update(KEY, () => ({ state: { unusable: 1 } as never, result: 0 }))
      await store.update(KEY, (stored) => ({ ...countUp(undefined), setAside: stored }))
      mustBe((await storedIn(store)).issued, 1, 'the count that replaced the record')
    }),

    check('hands a note out once, to its own key, in the step that removes it', async (bench) => {
      const store = await bench.open()
      if (!(await leave(bench, store, [note('page1'), note('page2')]))) return
      mustBe(await takeNotes(store, OTHER_KEYS[2]![1]), [], 'the notes of another key')
      mustBe(
        (await store.read(KEY)).notes,
        [note('page1'), note('page2')],
        'the notes that are read',
      )
      const taken = await Promise.all([takeNotes(store, KEY), takeNotes(store, KEY)])
      mustBe(taken, [[note('page1'), note('page2')], []], 'the notes of two changes')
    }),

    check('keeps a note when the change that would settle it throws', async (bench) => {
      const store = await bench.open()
      if (!(await leave(bench, store, [note('page1')]))) return
      await rejection(store.update(KEY, throwing(new Error('bang'))))
      mustBe(await takeNotes(store, KEY), [note('page1')], 'the notes of the next change')
    }),

    ...SERIES_CHECKS.map(([name, run]) =>
      check(name, async (bench) => {
        const opened = (await bench.open()).series
        // Series are in IndexedDB where the store has none.
        if (opened) await run(async (key = KEY) => (await bench.open()).series!(key))
      }),
    ),
  ]
}

type SeriesCheck = [
  name: string,
  run: (open: (key?: StoreKey) => Promise<SeriesStore>) => Promise<void>,
]

const SERIES_CHECKS: SeriesCheck[] = [
  [
    'keeps what is saved of a series, and finds it by key, place, period and chain',
    async (open) => {
      const series = await open()
      const rows = [number(1, 'a', '2026'), number(2, 'b', '2027'), number(3, 'c', '2026', 2)]
      const links = rows.map(({ place, key }) => linkOf(place, key!))
      const entries = rows.map(({ place }) => entryOf(place))
      await series.transact('readwrite', async (tx) => {
        tx.saveState({ version: 1 })
        rows.forEach(tx.addNumber)
        links.forEach(tx.addLink)
        entries.forEach(tx.addEntry)
      })
      const { key: _, open: __, ...settled } = rows[1]!
      await series.transact('readwrite', async (tx) => tx.saveNumber(settled))
      const all = [rows[0], settled, rows[2]]
      await (await open()).transact('readonly', async (tx) => {
        mustBe(await tx.state(), { version: 1 }, 'the state')
        mustBe(await tx.numbers(), all, 'the numbers')
        mustBe(await tx.links(), links, 'the links')
        mustBe(await tx.numberOf('c'), rows[2], 'the number of a key')
        mustBe(await tx.numberOf('b'), undefined, 'the number of a key that has none any more')
        mustBe(await tx.numberWith(rows[2]!.id), rows[2], 'the number with an id')
        mustBe(await tx.numberWith('A'), undefined, 'the number with an id that none has')
        mustBe(await tx.lastNumber('A'), rows[2], 'the last number')
        mustBe(await tx.lastNumber('A', '2027'), settled, 'the last number of a period')
        mustBe(await tx.lastNumber('B'), undefined, 'the last number of another series')
        mustBe(await tx.numbersAfter('A', 1), all.slice(1), 'the numbers after the first one')
        mustBe(await tx.openNumbers(), [rows[0], rows[2]], 'the open numbers')
        mustBe(await tx.linkOf('b', 'A'), links[1], 'the link of a key')
        mustBe(await tx.linkOf('b', ''), undefined, 'the link of a key in the chain of the device')
        mustBe(await tx.lastLink('A'), links[2], 'the last link')
        mustBe(await tx.entries(0, 9), entries, 'the entries')
        mustBe(await tx.entries(1, 1), entries.slice(1, 2), 'the entry after the first one')
      })
    },
  ],
  [
    'writes nothing of a transaction that throws, or adds what is there',
    async (open) => {
      const series = await open()
      await series.transact('readwrite', async (tx) => {
        tx.addNumber(number(1, 'a', ''))
        tx.addLink(linkOf(1, 'a'))
        tx.addEntry(entryOf(1))
      })
      const bang = new Error('bang')
      const failing: ((tx: SeriesTransaction) => void)[] = [
        (tx) => tx.addNumber(number(1, 'b', '2027')),
        (tx) => tx.addNumber(number(2, 'a', '2027')),
        (tx) => tx.addNumber(number(2, 'b', '', 1)),
        (tx) => tx.addNumber({ ...number(2, 'b', ''), id: number(1, 'a', '').id }),
        (tx) => tx.addLink(linkOf(1, 'b')),
        (tx) => tx.addLink(linkOf(2, 'a')),
        (tx) => tx.addEntry({ ...entryOf(1), at: '' }),
        throwing(bang),
      ]
      for (const fail of failing) {
        const failed = series.transact('readwrite', async (tx) => {
          tx.saveState({ version: 1 })
          fail(tx)
        })
        mustBe((await rejection(failed)) !== undefined, true, 'whether it is rejected')
      }
      await series.transact('readonly', async (tx) => {
        mustBe(await tx.state(), undefined, 'the state')
        mustBe(await tx.numbers(), [number(1, 'a', '')], 'the numbers')
        mustBe(await tx.links(), [linkOf(1, 'a')], 'the links')
        mustBe(await tx.entries(0, 9), [entryOf(1)], 'the entries')
      })
    },
  ],
  [
    'shares the chain of the device between the collections of a database, and nothing else',
    async (open) => {
      const [url, database] = KEY
      const link = { ...linkOf(1, 'a'), chain: '' }
      await (await open()).transact('readwrite', async (tx) => {
        tx.saveState({ version: 1 })
        tx.addNumber(number(1, 'a', ''))
        tx.addLink(link)
        tx.addLink(linkOf(1, 'a'))
      })
      await (await open([url, database, 'other'])).transact('readonly', async (tx) => {
        mustBe(await tx.links(), [link], 'the links of another collection')
        mustBe(await tx.lastLink(''), link, 'the last link of the device')
        mustBe(await tx.linkOf('a', ''), link, 'the link of a key in the chain of the device')
        mustBe(await tx.lastLink('A'), undefined, 'the last link of a series elsewhere')
        mustBe(await tx.linkOf('a', 'A'), undefined, 'the link of a key elsewhere')
        const rest = [await tx.state(), await tx.lastNumber('A'), await tx.numberOf('a')]
        mustBe(rest, [undefined, undefined, undefined], 'the rest of another collection')
        const all = [await tx.numbers(), await tx.openNumbers()]
        mustBe(all, [[], []], 'the numbers of another collection')
      })
      await (await open([url, 'Elsewhere', 'other'])).transact('readonly', async (tx) => {
        mustBe(await tx.links(), [], 'the links of another database')
      })
    },
  ],
  [
    'runs one transaction of a series at a time, through whichever instance it comes',
    async (open) => {
      const opened = await Promise.all(Array.from({ length: 4 }, open))
      const count = (series: SeriesStore, key: string) =>
        series.transact('readwrite', async (tx) => {
          const { place = 0 } = (await tx.lastNumber('A')) ?? {}
          tx.addNumber(number(place + 1, key, ''))
        })
      await Promise.all(Array.from({ length: 40 }, (_, i) => count(opened[i % 4]!, `${i}`)))
      const last = await opened[0]!.transact('readonly', (tx) => tx.lastNumber('A'))
      mustBe(last?.place, 40, 'the last of 40 numbers that were made at once')
    },
  ],
]

const number = (place: number, key: string, period: string, number = place): NumberRow => ({
  letter: 'A',
  place,
  period,
  number,
  id: `A-${period}-${number}`,
  state: 'open',
  takenAt: '2027-01-01T08:00:00.000Z',
  key,
  open: 1,
})

const linkOf = (at: number, key: string): Link => ({
  chain: 'A',
  at,
  kind: 'number',
  time: '2027-01-01T09:00:00+01:00',
  content: null,
  key,
  text: key,
  previous: '',
  hash: key,
})

const entryOf = (place: number): Entry => ({
  place,
  what: 'begun',
  at: '2027-01-01T08:00:00.000Z',
  previous: '',
  hash: '',
})

const OTHER_KEYS: [what: string, key: StoreKey][] = [
  ['server', ['https://other.example.com', 'Shop', 'orders/']],
  ['database', ['https://api.example.com', 'Shop2', 'orders/']],
  ['prefix', ['https://api.example.com', 'Shop', 'orders/2/']],
  ['split of the same letters', ['https://api.example.com', 'Sho', 'porders/']],
  ['case', ['https://api.example.com', 'Shop', 'Orders/']],
]

const countUp = (stored: unknown) => {
  const state = (stored as DeviceState | undefined) ?? emptyState()
  return { state: { ...state, issued: state.issued + 1 }, result: state.issued + 1 }
}

const throwing = (error: Error) => () => {
  throw error
}

const note = (page: string): LeaseNote => ({ lease: `${page}:0.0`, next: 17 })

const storedIn = (store: DeviceStore): Promise<DeviceState> =>
  store.update(KEY, (stored) => ({
    state: stored as DeviceState,
    result: structuredClone(stored) as DeviceState,
  }))

const takeNotes = (store: DeviceStore, key: StoreKey): Promise<Note[]> =>
  store.update(key, (stored, notes) => ({ ...countUp(stored), result: notes }))

/** @returns false where nobody can leave notes: a store that does not outlive its pages */
async function leave(bench: StoreBench, store: DeviceStore, notes: Note[]): Promise<boolean> {
  await store.update(KEY, countUp)
  if (bench.leaveNotes) await bench.leaveNotes(KEY, notes)
  else if (store.leaveNotes) await store.leaveNotes(KEY, notes)
  else return false
  return true
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

/** @throws Error that shows both when they differ */
function mustBe(actual: unknown, expected: unknown, what: string): void {
  const isSame =
    actual === expected ||
    (!(expected instanceof Error) && JSON.stringify(actual) === JSON.stringify(expected))
  if (!isSame)
    throw new Error(
      `The store breaks its contract: ${what} should be ${show(expected)}, and is ${show(actual)}.`,
    )
}

const show = (value: unknown): string =>
  value instanceof Error ? String(value) : JSON.stringify(value)
