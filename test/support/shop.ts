/**
 * The whole of it in Node: pages with the owner in their own realm, a fake IndexedDB, and the real
 * server on SQLite.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { createHiloHandler, type Ledger, openLedger } from '../../server/src/index.js'
import { SQLITE_FILE } from '../../server/src/sql/schema.js'
import { Hilo, type HiloRealm } from '../../src/client/hilo.js'
import type { HiloError } from '../../src/core/errors.js'
import type { Owner } from '../../src/device/contract.js'
import type { HiloOptions } from '../../src/device/hilo-options.js'
import type { DeviceStore } from '../../src/store/store.js'
import { createOwner } from '../../src/worker/owner.js'
import { browserWorld } from '../../src/worker/world.js'
import { newName } from './idb.js'
import { FakePage, fakeLocalStorage } from './page.js'
import { shownLog } from './shown-log.js'
import { flush } from './world.js'

/** As a HiLo server refuses: with a body that says so. */
export const refusal = (status: number, headers: HeadersInit = {}): Response =>
  Response.json({ Url: '/', Type: 'Error', Message: 'No.', Error: 'No.' }, { status, headers })

export interface Shop {
  /** The server's, for what a person does there. */
  ledger: Ledger
  /** Every request that reached the server. */
  requests: {
    method: string
    action: string
    query: Record<string, string>
    /** Empty where nothing was sent. */
    body: Record<string, unknown>
  }[]
  /** While true, no request gets through. */
  isDown: boolean
  /** Answers the next requests in the server's place. */
  answer: ((request: Request) => Response | Promise<Response> | undefined) | undefined
  /** Loads the file that pages load late. */
  onlineCalls: HiloRealm['onlineCalls']
  /**
   * The server stops while its ledger is copied.
   * @returns puts the copy in the ledger's place
   */
  backUp(): Promise<() => Promise<void>>
  /** Highest number the server has granted and not taken back. */
  max(collection?: string): Promise<number>
  /** A new page of this device, in front. */
  open(options?: Omit<HiloOptions, 'worker'>): { hilo: Hilo; page: FakePage }
  /** A page that exists already starts again in this device. */
  openIn(page: FakePage, options?: Omit<HiloOptions, 'worker'>): Hilo
  close(): Promise<void>
}

/** A device without anything on it, and a server that has granted nothing yet. */
export async function newShop(): Promise<Shop> {
  const folder = mkdtempSync(join(tmpdir(), 'offline-hilo-'))
  const start = async () => {
    const ledger = await openLedger({ create: true, dataDir: folder })
    return { ledger, handle: createHiloHandler({ ledger, log: shownLog, open: true }) }
  }
  let { ledger, handle } = await start()
  const name = newName()
  const opened: { hilo: Hilo; page: FakePage }[] = []
  // A request that nobody answers would be waited for until its timeout.
  const over = new AbortController()
  const gone = new Promise<never>((_, reject) =>
    over.signal.addEventListener('abort', () => reject(new TypeError('fetch failed'))),
  )
  gone.catch(() => {})
  vi.stubGlobal('localStorage', fakeLocalStorage())
  const shop: Shop = {
    get ledger() {
      return ledger
    },
    requests: [],
    isDown: false,
    answer: undefined,
    onlineCalls: () => import('../../src/client/online-calls.js'),
    async backUp() {
      const [file, copy] = [SQLITE_FILE, newName()].map((each) => join(folder, each)) as [
        string,
        string,
      ]
      const whileStopped = async (work: () => void) => {
        shop.isDown = true
        await ledger.close()
        work()
        ;({ ledger, handle } = await start())
        shop.isDown = false
      }
      await whileStopped(() => copyFileSync(file, copy))
      return () => whileStopped(() => copyFileSync(copy, file))
    },
    async max(collection = 'orders') {
      const all = await ledger.status()
      return all.find((each) => each.collection.toLowerCase() === collection)?.max ?? 0
    },
    open(options) {
      const page = new FakePage()
      return { page, hilo: shop.openIn(page, options) }
    },
    openIn(page, options = {}) {
      page.enter()
      const hilo = new Hilo(
        { url: 'https://shop.example.com', name, ...options },
        {
          spawn: undefined,
          ownerHere: async () => ownerOf(page),
          onlineCalls: () => shop.onlineCalls(),
        },
      )
      opened.push({ hilo, page })
      return hilo
    },
    async close() {
      shop.isDown = true
      over.abort()
      for (const { page } of opened) page.thaw()
      await Promise.all(opened.map(({ hilo }) => hilo.close()))
      await ledger.close()
      rmSync(folder, { recursive: true, force: true })
      vi.unstubAllGlobals()
    },
  }
  vi.stubGlobal('fetch', async (input: string, init?: RequestInit) => {
    if (shop.isDown) throw new TypeError('fetch failed')
    const request = new Request(input, init)
    const { pathname, searchParams } = new URL(input)
    shop.requests.push({
      method: request.method,
      action: pathname.split('/').at(-1)!,
      query: Object.fromEntries(searchParams),
      body: JSON.parse(String(init?.body ?? '{}')),
    })
    const answer = shop.answer?.(request)
    return answer ? Promise.race([answer, gone]) : handle(request)
  })
  return shop
}

/** The owner in its page's realm: while the page stands still, so does all of it. */
function ownerOf(page: FakePage): Owner {
  const world = browserWorld()
  const standing = (store: DeviceStore): DeviceStore => ({
    get isDurable() {
      return store.isDurable
    },
    update: (key, change) => page.running().then(() => store.update(key, change)),
    read: (key) => page.running().then(() => store.read(key)),
    keys: () => page.running().then(() => store.keys()),
    close: () => store.close(),
  })
  const owner = createOwner({
    ...world,
    openStore: async (...args) => standing(await world.openStore(...args)),
  })
  const inPage =
    <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      const answer = await call(...args)
      await page.running()
      return answer
    }
  return {
    ...owner,
    open: (config, callbacks) =>
      owner.open(config, {
        ...callbacks,
        changed: (...told) => void page.running().then(() => callbacks.changed(...told)),
        stored: (...told) => void page.running().then(() => callbacks.stored(...told)),
        parkExcess: (target) => page.running().then(() => callbacks.parkExcess(target)),
      }),
    exchange: inPage(owner.exchange),
    claim: inPage(owner.claim),
    reserve: inPage(owner.reserve),
    release: inPage(owner.release),
    collections: inPage(owner.collections),
    inspect: inPage(owner.inspect),
  }
}

/** The error that a call rejects with. */
export const errorOf = (call: Promise<unknown>): Promise<HiloError> =>
  call.then(
    () => {
      throw new Error('it did not fail')
    },
    (error: HiloError) => error,
  )

/** The code of that error, if the call rejects. */
export const codeOf = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => undefined,
    (error: HiloError) => error.code,
  )

/**
 * Long enough for what a page still does by itself after a call: a file that it loads, its
 * connection, its offers, a check-in.
 */
export async function quiet(): Promise<void> {
  await vi.dynamicImportSettled()
  for (let i = 0; i < 50; i++) await flush()
}

export const numberOf = (id: string): number => Number(/(\d+)-A$/.exec(id)![1])
