/**
 * Collections whose numbers come from a function of the app. The function is a counter in memory,
 * which does what good and bad counters do.
 */
import { afterEach, describe, expect, onTestFailed, test, vi } from 'vitest'
import {
  type CounterHook,
  CounterUnusable,
  type Ledger,
  type LedgerOptions,
  LedgerUnavailable,
  openLedger,
} from '../src/index.js'
import { seededRandom } from './devices.js'
import { newFolder } from './folders.js'
import { grantOf, newId, span } from './ledger-bench.js'
import { newDatabase } from './postgres.js'
import { runCli } from './run-cli.js'

const KEY = { database: 'Shop', collection: 'orders' }
const WISH = { ...KEY, count: 32, lastMax: 0, serverTag: 'A', at: 0 }

const ledgers = new Set<Ledger>()
afterEach(async () => {
  vi.useRealTimers()
  for (const ledger of ledgers) await ledger.close()
  ledgers.clear()
})

/** Blocks of 100, counted from 0. */
function counter(next = 0) {
  const moves: number[] = []
  return {
    moves,
    nextHi: async () => {
      moves.push(next)
      return next++
    },
  }
}

async function open(hook: Partial<CounterHook>, storage: LedgerOptions = { dataDir: newFolder() }) {
  const ledger = await openLedger({
    create: true,
    ...storage,
    counters: {
      Shop: { orders: { nextHi: counter().nextHi, isFree: () => true, blockSize: 100, ...hook } },
    },
  })
  ledgers.add(ledger)
  const claim = async (change: object = {}) =>
    (await ledger.claim([{ ...WISH, id: newId(), ...change }]))[0]!
  return {
    ledger,
    claim,
    take: async (change?: object) => grantOf(await claim(change)),
    close: async () => {
      ledgers.delete(ledger)
      await ledger.close()
    },
  }
}

function signal() {
  let give = () => {}
  const heard = new Promise<void>((resolve) => {
    give = resolve
  })
  return { heard, give }
}

/** As some drivers give rows, `node:sqlite` for one. */
const BARE_ROW = Object.assign(Object.create(null), { hi: 1 })

/** What the ledger has granted or could grant. */
const heldBy = async (ledger: Ledger) =>
  (await ledger.status()).map(({ free, outstanding }) => ({ free, outstanding }))

const STORAGES: [string, () => Promise<LedgerOptions>][] = [
  ['SQLite', async () => ({ dataDir: newFolder() })],
  ['PostgreSQL', async () => ({ databaseUrl: await newDatabase() })],
]

describe.each(STORAGES)('a ledger in %s', (_, newStorage) => {
  test('takes a block, grants parts of it with tokens, and keeps the rest', async () => {
    const { moves, nextHi } = counter(1)
    const { ledger, take } = await open({ nextHi }, await newStorage())
    expect(await take()).toMatchObject({
      low: 100,
      high: 131,
      serverTag: 'A',
      token: expect.stringMatching(/^[\w.-]{30,}$/),
      ledger: await ledger.readName(),
    })
    expect(span(await take({ count: 68 }))).toEqual([132, 199])
    expect(moves).toEqual([1, 2])
    expect(span(await take({ count: 100 }))).toEqual([200, 299])
    expect(span(await take())).toEqual([300, 331])
    expect(moves).toEqual([1, 2, 3])
  })

  test('what comes back is granted again, with and without a token', async () => {
    const { moves, nextHi } = counter(1)
    const { ledger, take } = await open({ nextHi }, await newStorage())
    const { token } = await take()
    expect(await ledger.giveBack({ ...KEY, end: 131, last: 110, token, at: 0 })).toBe(21)
    expect(await ledger.giveBack({ ...KEY, end: 131, last: 110, token, at: 0 })).toBe(0)
    expect(span(await take({ count: 21 }))).toEqual([111, 131])
    expect(span(await take({ id: undefined }))).toEqual([132, 163])
    expect(await ledger.giveBack({ ...KEY, end: 163, last: 140, at: 0 })).toBe(23)
    expect(span(await take({ count: 23 }))).toEqual([141, 163])
    expect(moves).toHaveLength(2)
  })

  test('a block that came, and was not stored, is a gap', async () => {
    const storage = await newStorage()
    const { moves, nextHi } = counter()
    let fails = true
    const crashing = async () => {
      const hi = await nextHi()
      if (fails) throw new Error('the machine went down')
      return hi
    }
    const { claim, take } = await open({ nextHi: crashing }, storage)
    await expect(claim()).rejects.toThrow('the machine went down')
    fails = false
    expect(span(await take())).toEqual([100, 131])
    expect(moves).toEqual([0, 1, 2])
  })

  test('a block that another server was faster than is a gap', async () => {
    const storage = await newStorage()
    const { nextHi } = counter()
    let release = (_: number) => {}
    const called = signal()
    const slow = async () => {
      const hi = await nextHi()
      if (hi > 0) return hi
      called.give()
      return new Promise<number>((resolve) => {
        release = () => resolve(hi)
      })
    }
    const late = await open({ nextHi: slow }, storage)
    const other = await open({ nextHi }, storage)
    const first = late.take()
    await called.heard
    expect(span(await other.take())).toEqual([100, 131])
    release(0)
    const granted = [span(await first), span(await other.take()), span(await late.take())]
    expect(granted.sort(([a], [b]) => a - b)).toEqual([
      [132, 163],
      [164, 195],
      [196, 227],
    ])
  })

  test('a counter that gives one block to two servers grants no number of it twice', async () => {
    const storage = await newStorage()
    let hi = 0
    let calls = 0
    // Reads, waits, and writes: two at once read the same.
    const both = signal()
    const nextHi = async () => {
      const read = hi
      if (++calls === 2) both.give()
      await both.heard
      hi = read + 1
      return read
    }
    const servers = [await open({ nextHi }, storage), await open({ nextHi }, storage)]
    const granted = (await Promise.all(servers.map(({ take }) => take()))).map(span)
    for (let i = 0; i < 12; i++) granted.push(span(await servers[i % 2]!.take()))
    expect(twiceIn(granted)).toEqual([])
  })

  test('floors are raised also by a command, which has not the function', async () => {
    const storage = await newStorage()
    const { ledger, close, take } = await open({ nextHi: counter(1).nextHi }, storage)
    await take()
    await close()
    expect(ledger.isBound(KEY)).toBe(true)
    const place =
      storage.dataDir === undefined
        ? ['--database-url', storage.databaseUrl!]
        : ['--data', storage.dataDir]
    expect(await runCli(['raise-floor', 'Shop', 'orders', '950', ...place, '--yes'])).toMatchObject(
      { code: 0 },
    )
    const again = await open({ nextHi: counter(2).nextHi }, storage)
    await expect(again.claim()).rejects.toThrow(
      /numbers up to 950 came before, or are below a floor/,
    )
    await again.close()
    const set = await open({ nextHi: counter(10).nextHi }, storage)
    expect(span(await set.take())).toEqual([1000, 1031])
  })
})

/** Numbers that are in two spans. */
function twiceIn(spans: readonly (readonly [number, number])[]): number[] {
  const met = new Set<number>()
  const twice: number[] = []
  for (const [low, high] of spans)
    for (let number = low; number <= high; number++)
      if (met.has(number)) twice.push(number)
      else met.add(number)
  return twice
}

describe('what hi means', () => {
  test.each([
    ['block', 0, [1, 99]],
    ['block', 3, [300, 399]],
    ['first', 0, [1, 99]],
    ['first', 41, [41, 140]],
    ['last', 99, [1, 99]],
    ['last', 140, [41, 140]],
  ] as const)('%s: %i', async (hiIs, hi, numbers) => {
    const given = [hi, hi + (hiIs === 'block' ? 1 : 100)]
    const { take } = await open({ hiIs, nextHi: async () => given.shift()! })
    expect(span(await take({ count: numbers[1] - numbers[0] + 1 }))).toEqual(numbers)
  })

  test('blocks of one number, from 0 on: 0 is granted to nobody', async () => {
    const { moves, nextHi } = counter()
    const { take } = await open({ blockSize: 1, nextHi })
    expect(span(await take({ count: 4 }))).toEqual([1, 4])
    expect(moves).toEqual([0, 1, 2, 3, 4])
  })

  test('a bigint, and a number that is no promise', async () => {
    let hi = 7n
    const { take } = await open({ nextHi: () => hi++ })
    expect(span(await take())).toEqual([700, 731])
  })
})

test('a claim of several blocks takes them one after another', async () => {
  const { nextHi } = counter(1)
  let running = 0
  const alone = async () => {
    expect(++running).toBe(1)
    const hi = await nextHi()
    await new Promise((resolve) => setImmediate(resolve))
    running--
    return hi
  }
  const { take } = await open({ nextHi: alone })
  const granted = await Promise.all([take({ count: 250 }), take({ count: 250 }), take()])
  expect(twiceIn(granted.map(span))).toEqual([])
  expect(granted.map(({ low, high }) => high - low + 1)).toEqual([250, 250, 32])
})

describe('a function that misbehaves grants nothing', () => {
  test.each<[string, unknown, string]>([
    ['half a number', 1.5, 'nextHi of Shop/orders gave 1.5. It has to give a whole number'],
    ['no number', Number.NaN, 'gave NaN'],
    ['no end', Number.POSITIVE_INFINITY, 'gave Infinity'],
    ['nothing', undefined, 'gave undefined'],
    ['null', null, 'gave null'],
    ['a text', '41', 'gave the text "41"'],
    ['an object', { hi: 1 }, 'gave an object with hi. It has to give a whole number'],
    ['a row that has no prototype', BARE_ROW, 'gave an object with hi. It has to give a whole'],
    ['a symbol', Symbol('hi'), 'It has to give a whole number'],
    ['a negative one', -1, 'gave -1'],
    ['a negative bigint', -1n, 'gave -1'],
    ['more than JavaScript counts', 2 ** 53, 'It has to give a whole number'],
    ['a bigint beyond', 2n ** 53n, 'JavaScript counts up to 2^53−1'],
    ['a block that ends beyond', 2 ** 53 - 1, 'the block would end at 900719925474099199'],
  ])('%s', async (_, given, message) => {
    const { claim, take, ledger } = await open({ nextHi: async () => given as never })
    await expect(claim()).rejects.toThrow(CounterUnusable)
    await expect(claim()).rejects.toThrow(message)
    await expect(take()).rejects.toThrow(message)
    expect(await heldBy(ledger)).toEqual([{ free: 0, outstanding: 0 }])
  })

  test('it throws', async () => {
    const { claim, ledger } = await open({
      nextHi: () => {
        throw new Error('ECONNREFUSED 127.0.0.1:6379')
      },
    })
    await expect(claim()).rejects.toThrow(LedgerUnavailable)
    await expect(claim()).rejects.toThrow(
      'nextHi of Shop/orders failed: ECONNREFUSED 127.0.0.1:6379. Nothing was granted.',
    )
    expect(await heldBy(ledger)).toEqual([{ free: 0, outstanding: 0 }])
  })

  test('it never answers', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const called = signal()
    let waits: AbortSignal | undefined
    const { claim, ledger } = await open({
      nextHi: (call) => {
        waits = call.signal
        called.give()
        return new Promise(() => {})
      },
    })
    const refused = expect(claim()).rejects.toThrow(/gave nothing within 5 seconds/)
    await called.heard
    await vi.advanceTimersByTimeAsync(5_000)
    await refused
    expect(waits!.aborted).toBe(true)
    vi.useRealTimers()
    expect(await heldBy(ledger)).toEqual([{ free: 0, outstanding: 0 }])
  })

  /** The first two blocks are granted, and used up. */
  const THIRD: [string, Partial<CounterHook>, number[], number][] = [
    ['the same hi', {}, [4, 5], 5],
    ['a lower hi', {}, [4, 5], 4],
    ['a first number in the block before', { hiIs: 'first' }, [400, 500], 550],
    ['a last number in the block before', { hiIs: 'last' }, [400, 500], 599],
  ]
  test.each(THIRD)('%s', async (_, hook, first, third) => {
    const dataDir = newFolder()
    const given = [...first, third, third]
    const nextHi = async () => {
      if (given.length === 0) throw new Error('It was asked again.')
      return given.shift()!
    }
    const { take, claim, ledger, close } = await open({ ...hook, nextHi }, { dataDir })
    await take({ count: 200 })
    const before = await heldBy(ledger)
    await expect(claim()).rejects.toThrow(/Nothing was granted\. If the counter went back/)
    expect(await heldBy(ledger)).toEqual(before)
    await close()
    // The ledger remembers it.
    const again = await open({ ...hook, nextHi }, { dataDir })
    await expect(again.claim()).rejects.toThrow(CounterUnusable)
    expect(await heldBy(again.ledger)).toEqual(before)
  })

  test('a last number below the size of a block', async () => {
    const { claim } = await open({ hiIs: 'last', nextHi: async () => 50 })
    await expect(claim()).rejects.toThrow('the counter moves by less than blockSize')
  })

  test('a bad block after a good one: nothing of either is granted', async () => {
    const given = [3, 3]
    const { claim, ledger } = await open({ nextHi: async () => given.shift()! })
    await expect(claim({ count: 150 })).rejects.toThrow(CounterUnusable)
    expect(await heldBy(ledger)).toEqual([{ free: 0, outstanding: 0 }])
  })

  test('no answer after good blocks: these are granted', async () => {
    const given = [3, 4]
    const { take } = await open({
      nextHi: async () => {
        const hi = given.shift()
        if (hi === undefined) throw new Error('gone')
        return hi
      },
    })
    expect(span(await take({ count: 250 }))).toEqual([300, 499])
  })
})

describe('the first two blocks of a process', () => {
  test.each<[string, Partial<CounterHook>, number[], string]>([
    ['are one block', {}, [5, 5, 6, 7], 'gave 5, which stands for the numbers 500 to 599'],
    ['go back', {}, [5, 4, 6, 7], 'Nothing was granted. If the counter went back'],
    ['overlap: first', { hiIs: 'first' }, [1, 51, 101, 201], 'it moves by less than blockSize'],
    ['overlap: last', { hiIs: 'last' }, [100, 150, 250, 350], 'it moves by less than blockSize'],
    ['are no whole numbers', {}, [5, 5.5, 6, 7], 'It has to give a whole number'],
    [
      'are numbers, and no places of blocks',
      {},
      [1, 101, 201, 301, 401, 501],
      'gave 1, 101, 201, 301: each time 100 more, or further. These are numbers, and no places of',
    ],
  ])('%s: nothing is granted until the server starts again', async (_, hook, given, message) => {
    const dataDir = newFolder()
    const nextHi = async () => given.shift()!
    const { claim, ledger, close } = await open({ ...hook, nextHi }, { dataDir })
    for (let i = 0; i < 3; i++) await expect(claim()).rejects.toThrow(message)
    await expect(claim()).rejects.toThrow('before this server starts again: correct it first')
    expect(await heldBy(ledger)).toEqual([{ free: 0, outstanding: 0 }])
    await close()
    const right = counter(9).nextHi
    const step = hook.hiIs ? 100 : 1
    const again = await open({ ...hook, nextHi: async () => (await right()) * step }, { dataDir })
    expect(grantOf(await again.claim()).high).toBeGreaterThan(0)
  })

  test('may be far apart, if others have taken the blocks between', async () => {
    const given = [1, 201, 202]
    const { take } = await open({ nextHi: async () => given.shift()! })
    expect(span(await take({ count: 100 }))).toEqual([100, 199])
    expect(span(await take())).toEqual([20_100, 20_131])
  })

  test('wait for the next claim where the app does not answer', async () => {
    const given = [1, undefined, 3, 4]
    const asked: number[] = []
    const nextHi = async () => {
      const hi = given.shift()
      if (hi === undefined) throw new Error('gone')
      return hi
    }
    const isFree = ({ low }: { low: number }) => {
      asked.push(low)
      if (asked.length === 2) throw new Error('gone, too')
      return true
    }
    const { claim, take } = await open({ nextHi, isFree })
    await expect(claim()).rejects.toThrow('nextHi of Shop/orders failed: gone')
    await expect(claim()).rejects.toThrow('isFree of Shop/orders failed: gone, too')
    expect(span(await take({ count: 100 }))).toEqual([100, 199])
    expect(span(await take())).toEqual([300, 331])
    expect(given).toEqual([4])
  })

  test('that waited while a floor was raised above them are a gap', async () => {
    const { nextHi, moves } = counter(1)
    let isDown = true
    const isFree = () => {
      if (isDown) throw new Error('gone')
      return true
    }
    const { claim, take, ledger } = await open({ nextHi, isFree })
    await expect(claim()).rejects.toThrow('isFree of Shop/orders failed: gone')
    await ledger.raiseFloor({ ...KEY, floor: 150 })
    isDown = false
    expect(span(await take())).toEqual([300, 331])
    expect(moves).toEqual([1, 2, 3, 4])
  })

  test('are no numbers of which the back end has ids', async () => {
    const used = new Set([250])
    const { claim, ledger } = await open({ nextHi: counter(1).nextHi, isFree: notIn(used) })
    const message =
      'nextHi of Shop/orders gave 2, which stands for the numbers 200 to 299, and isFree says ' +
      'that somebody has an id of these.'
    for (let i = 0; i < 3; i++) await expect(claim()).rejects.toThrow(message)
    expect(await heldBy(ledger)).toEqual([{ free: 0, outstanding: 0 }])
  })
})

/** A back end that has these ids. */
const notIn =
  (used: ReadonlySet<number>): Exclude<CounterHook['isFree'], false> =>
  async ({ low, high }) =>
    [...used].every((id) => id < low || id > high)

describe.each(STORAGES)('numbers of which the back end has an id, in %s', (_, newStorage) => {
  async function begun() {
    const used = new Set<number>()
    const cautions: string[] = []
    const nextHi = counter(1).nextHi
    const opened = await open({ nextHi, isFree: notIn(used) }, await newStorage())
    opened.ledger.onCaution!((caution) => cautions.push(caution))
    expect(span(await opened.take())).toEqual([100, 131])
    return { ...opened, used, cautions }
  }

  test('leave for nobody, also from stock, and that is told once', async () => {
    const { take, claim, used, cautions } = await begun()
    used.add(140).add(170)
    const id = newId()
    expect(span(await take({ id }))).toEqual([196, 227])
    expect(cautions).toHaveLength(2)
    expect(cautions[0]).toContain(
      'shop/orders: isFree says that somebody has an id from 132 to 163 already, so they are ' +
        'granted to nobody.',
    )
    // Its answer was lost.
    expect(await claim({ id })).toMatchObject({ isRepeat: true, grant: { low: 196, high: 227 } })
    expect(cautions).toHaveLength(2)
    expect(span(await take())).toEqual([228, 259])
  })

  test('a device that shows its tokens has new ones, once', async () => {
    const { take, claim, used } = await begun()
    const { token } = await take()
    used.add(170)
    const shown = { id: newId(), shown: [{ token, next: 132 }] }
    const outcome = await claim(shown)
    expect(outcome).toMatchObject({ grant: { low: 196 }, results: [{ high: 163 }] })
    expect(await claim(shown)).toEqual({ ...outcome, isRepeat: true })
  })

  test('of a hundred ranges in a row: the claim is refused, and goes on from there', async () => {
    const { claim, take, used, cautions } = await begun()
    for (let id = 132; id < 250; id++) used.add(id)
    const wish = { id: newId(), count: 1 }
    await expect(claim(wish)).rejects.toThrow(/said 100 times in one claim that ids are in use/)
    expect(cautions).toHaveLength(100)
    expect(grantOf(await claim(wish)).low).toBe(250)
    expect(span(await take({ count: 1 }))).toEqual([251, 251])
  })
})

test('the app hears the names as they are configured, however a client spells them', async () => {
  const heard = new Set<string>()
  const { take } = await open({
    isFree({ database, collection }) {
      heard.add(`${database}/${collection}`)
      return true
    },
  })
  await take({ database: 'SHOP', collection: 'Orders' })
  expect([...heard]).toEqual(['Shop/orders'])
})

describe('a function isFree that', () => {
  /** The numbers of `WISH` were free when the server began. */
  async function later(answer: () => never) {
    let isBegun = false
    const other = { ...WISH, collection: 'parts' }
    const opened = await open({ isFree: () => (isBegun ? answer() : true) })
    await opened.take()
    isBegun = true
    return { ...opened, both: () => opened.ledger.claim([{ ...WISH, id: newId() }, other]) }
  }

  test.each<[string, () => unknown, string]>([
    ['fails', () => Promise.reject(new Error('gone')), 'isFree of Shop/orders failed: gone.'],
    ['gives nothing', () => undefined, 'isFree of Shop/orders gave undefined. It has to give true'],
    ['gives rows', () => [], 'It has to give true, if nobody has an id from low to high'],
    ['gives a row that has no prototype', () => BARE_ROW, 'gave an object with hi. It has to give'],
    ['fails with one', () => Promise.reject(BARE_ROW), 'failed: an object with hi.'],
  ])('%s: nothing is granted, and the claims beside it have theirs', async (_, answer, message) => {
    const { claim, both } = await later(answer as () => never)
    await expect(claim()).rejects.toThrow(message)
    const [refused, granted] = await both()
    expect(refused).toMatchObject({ refused: 'short' })
    expect(grantOf(granted!)).toMatchObject({ low: 1, high: 32 })
  })

  test('is false: that nobody looks is told at the start', async () => {
    const { ledger } = await open({ isFree: false })
    const cautions: string[] = []
    ledger.onCaution!((caution) => cautions.push(caution))
    expect(cautions).toEqual([
      expect.stringContaining('shop/orders: nobody looks whether the numbers of nextHi are free'),
    ])
  })
})

describe('the ledger remembers how the counter counts', () => {
  test.each<[string, Partial<CounterHook>, string]>([
    ['another size', { blockSize: 50 }, 'the configuration says a function in blocks of 50'],
    ['another meaning', { hiIs: 'last' }, 'hi is last'],
  ])('%s is refused', async (_, change, message) => {
    const dataDir = newFolder()
    const { take, close } = await open({}, { dataDir })
    await take()
    await close()
    await expect(open(change, { dataDir })).rejects.toThrow(message)
    await open({}, { dataDir })
  })
})

describe('the setting', () => {
  const nextHi = async () => 1
  const isFree = false as const
  test.each<[string, object, RegExp]>([
    [
      'no word of free numbers',
      { Shop: { orders: { nextHi, blockSize: 1 } } },
      /isFree: has to be a function that says/,
    ],
    [
      'true for free numbers',
      { Shop: { orders: { nextHi, isFree: true, blockSize: 1 } } },
      /isFree: has to be a function that says whether nobody has an id from low to high; or false/,
    ],
    [
      'one collection twice',
      {
        Shop: {
          orders: { nextHi, isFree, blockSize: 1 },
          Orders: { nextHi, isFree, blockSize: 1 },
        },
      },
      /is there twice/,
    ],
  ])('%s is refused', async (_, counters, message) => {
    await expect(
      openLedger({ dataDir: newFolder(), create: true, counters: counters as never }),
    ).rejects.toThrow(message)
  })

  test('one collection in both settings is refused, and so is a region', async () => {
    const counters = { Shop: { orders: { nextHi, isFree, blockSize: 100 } } }
    const upstream = { url: 'http://127.0.0.1:9', database: 'Shop' }
    const options = { dataDir: newFolder(), create: true, counters }
    await expect(
      openLedger({ ...options, collections: { shop: { ORDERS: { upstream } } } }),
    ).rejects.toThrow('shop/orders is in collections and in counters')
    await expect(
      openLedger({ ...options, upstream: { url: 'http://127.0.0.1:9' } }),
    ).rejects.toThrow('give upstream, or collections and counters, not both')
  })
})

test('devices, a back end and crashes on one counter, at random: nothing comes twice', async () => {
  const seed = Date.now() % 1e6
  onTestFailed(() => console.error(`seed ${seed}`))
  const random = seededRandom(seed)
  const dataDir = newFolder()
  let next = 1
  const taken: [number, number][] = []
  const block = () => {
    next += 100
    return next - 100
  }
  const nextHi = async () => {
    const hi = block()
    if (random() < 0.2) throw new Error('crash')
    return hi
  }
  const servers = [
    await open({ hiIs: 'first', nextHi }, { dataDir }),
    await open({ hiIs: 'first', nextHi }, { dataDir }),
  ]
  for (let i = 0; i < 200; i++) {
    const { ledger, take } = servers[Math.floor(random() * 2)]!
    if (random() < 0.2) {
      const low = block()
      taken.push([low, low + 99])
      continue
    }
    const grant = await take({
      count: 1 + Math.floor(random() * 150),
      ...(random() < 0.3 && { id: undefined }),
    }).catch((error) => {
      expect(error.message).toContain('crash')
      return undefined
    })
    if (!grant) continue
    const { low, high, token } = grant
    const last = random() < 0.5 ? high : low + Math.floor(random() * (high - low))
    const back = last < high ? await ledger.giveBack({ ...KEY, end: high, last, token, at: 0 }) : 0
    taken.push([low, back > 0 ? last : high])
  }
  expect(twiceIn(taken)).toEqual([])
  expect(taken.length).toBeGreaterThan(50)
})
