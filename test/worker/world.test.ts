/** The world an owner is given: which storage it gets, and when none. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { IndexedDbStore } from '../../src/store/indexeddb.js'
import { MemoryStore } from '../../src/store/memory.js'
import { browserWorld } from '../../src/worker/world.js'
import { eventually } from '../support/eventually.js'
import { freezeTransaction, newName, openRaw } from '../support/idb.js'
import { flush } from '../support/world.js'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  vi.useRealTimers()
})

describe('opening the storage', () => {
  test('gives the durable one', async () => {
    expect(await browserWorld().openStore(newName(), () => {})).toBeInstanceOf(IndexedDbStore)
  })

  test('without IndexedDB gives one in memory, which says so', async () => {
    vi.stubGlobal('indexedDB', undefined)
    const store = await browserWorld().openStore(newName(), () => {})
    expect(store).toBeInstanceOf(MemoryStore)
    expect(store.isDurable).toBe(false)
  })

  test('without IndexedDB opens no channel, which would keep Deno’s process alive', () => {
    const given = Object.getOwnPropertyDescriptor(globalThis, 'indexedDB')!
    onTestFinished(() => void Object.defineProperty(globalThis, 'indexedDB', given))
    expect(browserWorld().openTabs).toBeDefined()
    Reflect.deleteProperty(globalThis, 'indexedDB')
    expect(browserWorld().openTabs).toBeUndefined()
  })

  test('that refuses to open, as in some private modes, gives one in memory', async () => {
    vi.spyOn(indexedDB, 'open').mockImplementation(() => {
      throw new DOMException('Not here', 'SecurityError')
    })
    expect(await browserWorld().openStore(newName(), () => {})).toBeInstanceOf(MemoryStore)
  })

  test('that opens, but runs no transaction, gives one in memory until it does', async () => {
    const name = newName()
    await new IndexedDbStore(name).open()
    const thaw = await freezeTransaction(name)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const opened = browserWorld().openStore(name, () => {})
    await vi.advanceTimersByTimeAsync(5_000)
    expect((await opened).isDurable).toBe(false)
    thaw()
    await vi.advanceTimersByTimeAsync(1_000)
    vi.useRealTimers()
    await eventually(async () => expect((await opened).isDurable).toBe(true))
  })

  test('of a newer version of the package fails: in memory the numbers would repeat', async () => {
    const name = newName()
    ;(await openRaw(name, 1000)).close()
    await expect(browserWorld().openStore(name, () => {})).rejects.toMatchObject({
      code: 'outdated',
    })
  })
})

test.each([
  [true, 'persistent'],
  [false, 'best-effort'],
])('storage that the browser has promised to keep (%s) is %s', async (persisted, kind) => {
  vi.stubGlobal('navigator', { storage: { persisted: async () => persisted } })
  expect(await browserWorld().storageKind()).toBe(kind)
})

test('storage of a browser that cannot say is best-effort', async () => {
  vi.stubGlobal('navigator', {})
  expect(await browserWorld().storageKind()).toBe('best-effort')
})

describe('a lock', () => {
  /** A lock manager as browsers have it, with one lock. */
  class Locks {
    #queue: Promise<unknown> = Promise.resolve()
    readonly names: string[] = []

    request(
      name: string,
      { signal }: { signal: AbortSignal },
      run: () => Promise<unknown>,
    ): Promise<unknown> {
      this.names.push(name)
      const mine = this.#queue.then(() => {
        signal.throwIfAborted()
        return run()
      })
      const given = new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      )
      this.#queue = mine.catch(() => {})
      return Promise.race([mine, given])
    }
  }

  let locks: Locks

  beforeEach(() => {
    locks = new Locks()
    vi.stubGlobal('navigator', { locks })
  })

  test('lets one run at a time', async () => {
    const world = browserWorld()
    const order: string[] = []
    const run = (name: string) => () => {
      order.push(`${name} begins`)
      return Promise.resolve().then(() => order.push(`${name} ends`))
    }
    await Promise.all([world.lock('x', run('a')), world.lock('x', run('b'))])
    expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
    expect(locks.names).toEqual(['x', 'x'])
  })

  test('in a frozen page is not waited for: after two seconds the work runs', async () => {
    const world = browserWorld()
    world.lock('x', () => new Promise(() => {}))
    const deadline = new AbortController()
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(deadline.signal)
    const run = vi.fn(async () => 'done')
    const waiting = world.lock('x', run)
    await flush()
    expect(run).not.toHaveBeenCalled()
    expect(timeout).toHaveBeenCalledWith(2_000)
    deadline.abort()
    expect(await waiting).toBe('done')
  })

  test('that is held is kept as long as the work takes', async () => {
    vi.useFakeTimers()
    const run = vi.fn(() => new Promise((resolve) => setTimeout(() => resolve('done'), 60_000)))
    const work = browserWorld().lock('x', run)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await work).toBe('done')
    expect(run).toHaveBeenCalledOnce()
  })

  test('passes on what the work throws, and does not run it again', async () => {
    const run = vi.fn(() => Promise.reject(new Error('bang')))
    await expect(browserWorld().lock('x', run)).rejects.toThrow('bang')
    expect(run).toHaveBeenCalledOnce()
  })

  test('that the browser refuses or does not know is done without', async () => {
    vi.stubGlobal('navigator', {
      locks: { request: () => Promise.reject(new DOMException('no', 'SecurityError')) },
    })
    expect(await browserWorld().lock('x', async () => 'done')).toBe('done')
    vi.stubGlobal('navigator', {})
    expect(await browserWorld().lock('x', async () => 'done')).toBe('done')
    vi.stubGlobal('navigator', undefined)
    expect(await browserWorld().lock('x', async () => 'done')).toBe('done')
  })
})

describe('tabs do not hear each other', () => {
  const openTabs = () =>
    browserWorld().openTabs!('name', 'page', { onChange() {}, parkExcess: async () => {} })

  test('where there is no BroadcastChannel', () => {
    vi.stubGlobal('BroadcastChannel', undefined)
    expect(openTabs()).toBeUndefined()
  })

  test('where the browser forbids one, as Firefox does with cookies blocked', () => {
    vi.stubGlobal(
      'BroadcastChannel',
      class {
        constructor() {
          throw new DOMException('The operation is insecure.', 'SecurityError')
        }
      },
    )
    expect(openTabs()).toBeUndefined()
  })
})

test('every id is a new UUID', () => {
  const world = browserWorld()
  const ids = Array.from({ length: 100 }, () => world.newId())
  expect(new Set(ids).size).toBe(100)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/)
})
