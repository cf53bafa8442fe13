/**
 * What a page leaves as it goes: each note in two places, each give-back sent once, all inside one
 * call.
 */
import { IDBDatabase, IDBFactory, IDBTransaction } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { giveBack } from '../../src/client/give-back.js'
import { PageExit } from '../../src/client/page-exit.js'
import type { OwnerConfig, Target } from '../../src/device/contract.js'
import { IndexedDbStore } from '../../src/store/indexeddb.js'
import { FakeBuckets } from '../support/buckets.js'
import { eventually } from '../support/eventually.js'
import { newName, openRaw, recordsOf, requested } from '../support/idb.js'
import { fakeLocalStorage } from '../support/page.js'
import { range } from '../support/ranges.js'

const target: Target = { database: 'Shop', collection: 'orders', separator: '/', reserve: 32 }
const invoices: Target = { ...target, collection: 'invoices' }
const note = { lease: 'page1:0.0', next: 5 }

beforeEach(() => {
  vi.stubGlobal('localStorage', fakeLocalStorage())
})

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** A page whose owner has created the database, while the connection for its last note opens. */
async function openingPage(name = newName()) {
  const store = new IndexedDbStore(name)
  await store.open()
  store.close()
  const config: OwnerConfig = {
    url: 'https://api.example.com',
    name,
    page: 'page',
    headers: {},
    timeout: 1000,
  }
  const pageExit = new PageExit(config)
  const opened = vi.spyOn(IDBFactory.prototype, 'open')
  pageExit.openStore()
  const request = opened.mock.results[0]!.value as IDBOpenDBRequest
  opened.mockRestore()
  const isOpen = new Promise((done) => request.addEventListener('success', done))
  return { pageExit, name, config, request, isOpen }
}

/** The same with that connection open. */
async function preparedPage(name?: string) {
  const page = await openingPage(name)
  await page.isOpen
  return page
}

const keysOf = () => Object.keys(localStorage)

describe('leaving', () => {
  test('puts each note in two places at once', async () => {
    const { pageExit, name } = await preparedPage()
    pageExit.leaveNotes(target, [note, { lease: 'page1:1.0', next: 9 }])
    expect(keysOf()).toHaveLength(2)
    expect(await recordsOf(name, 'notes')).toEqual([note, { lease: 'page1:1.0', next: 9 }])
  })

  test('keeps the notes of two collections apart, even under one name', async () => {
    const { pageExit } = await preparedPage()
    pageExit.leaveNotes(target, [note])
    pageExit.leaveNotes(invoices, [note])
    expect(keysOf()).toHaveLength(2)
    pageExit.readNotes(target)
    pageExit.forgetNotes(target, [note.lease])
    expect(pageExit.readNotes(invoices)).toEqual([note])
  })

  test('does all of it inside the call: one transaction, committed by hand', async () => {
    const { pageExit } = await preparedPage()
    const open = vi.spyOn(IDBFactory.prototype, 'open')
    const begin = vi.spyOn(IDBDatabase.prototype, 'transaction')
    const commit = vi.spyOn(IDBTransaction.prototype, 'commit')
    const read = vi.spyOn(Object.getPrototypeOf(localStorage), 'getItem')
    pageExit.leaveNotes(target, [note])
    expect(begin).toHaveBeenCalledOnce()
    expect(commit).toHaveBeenCalledOnce()
    expect(open).not.toHaveBeenCalled()
    expect(read).not.toHaveBeenCalled()
    expect(keysOf()).toHaveLength(1)
  })

  test('leaves the other copy where one place fails', async () => {
    const { pageExit, name } = await preparedPage()
    vi.spyOn(Object.getPrototypeOf(localStorage), 'setItem').mockImplementation(() => {
      throw new DOMException('Full', 'QuotaExceededError')
    })
    pageExit.leaveNotes(target, [note])
    expect(await recordsOf(name, 'notes')).toEqual([note])
    vi.restoreAllMocks()
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(() => {
      throw new DOMException('Closing', 'InvalidStateError')
    })
    pageExit.leaveNotes(target, [note])
    expect(keysOf()).toHaveLength(1)
  })

  test('without either place is no error: it costs a gap', async () => {
    const { config } = await preparedPage()
    vi.stubGlobal('localStorage', undefined)
    vi.stubGlobal('indexedDB', undefined)
    const pageExit = new PageExit(config)
    pageExit.openStore()
    expect(() => pageExit.leaveNotes(target, [note])).not.toThrow()
    expect(pageExit.readNotes(target)).toEqual([])
  })

  test('with nothing to say begins nothing', async () => {
    const { pageExit } = await preparedPage()
    const begin = vi.spyOn(IDBDatabase.prototype, 'transaction')
    pageExit.leaveNotes(target, [])
    expect(begin).not.toHaveBeenCalled()
    expect(keysOf()).toEqual([])
  })
})

describe('where the owner is in a bucket', () => {
  let buckets: FakeBuckets

  beforeEach(() => {
    buckets = new FakeBuckets().install()
  })

  /** A page whose owner has said so. */
  async function pageInBucket() {
    const name = newName()
    const store = new IndexedDbStore(name)
    await store.open()
    store.close()
    const config: OwnerConfig = { url: 'https://x.test', name, page: 'p', headers: {}, timeout: 1 }
    const pageExit = new PageExit(config)
    const notes = async () => {
      const db = await requested(buckets.own.indexedDB.open(name))
      return requested(db.transaction('notes').objectStore('notes').getAll())
    }
    return { pageExit, name, notes }
  }

  test('the note goes there, inside the call', async () => {
    const { pageExit, name, notes } = await pageInBucket()
    const opened = vi.spyOn(buckets.own.indexedDB, 'open')
    pageExit.openStore(true)
    await eventually(() => expect(opened.mock.results[0]?.value.readyState).toBe('done'))
    buckets.open.mockClear()
    opened.mockClear()
    const begin = vi.spyOn(IDBDatabase.prototype, 'transaction')
    pageExit.leaveNotes(target, [note])
    expect(begin).toHaveBeenCalledOnce()
    expect([buckets.open, opened].map((each) => each.mock.calls)).toEqual([[], []])
    expect(await notes()).toEqual([note])
    expect((await indexedDB.databases()).map((each) => each.name)).not.toContain(name)
  })

  test('a bucket that does not open is opened with the next answer', async () => {
    const { pageExit } = await pageInBucket()
    const opened = vi.spyOn(buckets.own.indexedDB, 'open')
    buckets.failure = new DOMException('Unknown error', 'UnknownError')
    pageExit.openStore(true)
    await new Promise((resolve) => setTimeout(resolve))
    buckets.failure = undefined
    pageExit.openStore(true)
    await eventually(() => expect(opened).toHaveBeenCalledOnce())
  })

  test('a page that may not open a database there leaves no rejection behind', async () => {
    const { pageExit } = await pageInBucket()
    const opened = vi.spyOn(buckets.own.indexedDB, 'open').mockImplementationOnce(() => {
      throw new DOMException('The operation is insecure.', 'SecurityError')
    })
    pageExit.openStore(true)
    await eventually(() => expect(opened).toHaveBeenCalledOnce())
    await new Promise((resolve) => setTimeout(resolve))
    pageExit.openStore(true)
    await eventually(() => expect(opened).toHaveBeenCalledTimes(2))
  })
})

test('a page that was closed while its connection opened closes that, too', async () => {
  const { request: kept } = await preparedPage()
  expect(() => kept.result.transaction('notes')).not.toThrow()
  const { pageExit, request, isOpen } = await openingPage()
  pageExit.close()
  await isOpen
  const isClosed = expect.objectContaining({ name: 'InvalidStateError' })
  expect(() => request.result.transaction('notes')).toThrow(isClosed)
})

describe('the next page', () => {
  test('finds the notes of its own collection, database and server', async () => {
    const { pageExit, config } = await preparedPage()
    pageExit.leaveNotes(target, [note])
    expect(new PageExit(config).readNotes(target)).toEqual([note])
    for (const other of [invoices, { ...target, database: 'Other' }, { ...target, separator: '-' }])
      expect(pageExit.readNotes(other)).toEqual([])
    expect(new PageExit({ ...config, url: 'https://other.example.com' }).readNotes(target)).toEqual(
      [],
    )
    expect(new PageExit({ ...config, name: `${config.name}-2` }).readNotes(target)).toEqual([])
  })

  test('keeps them until they are settled, and then no more', async () => {
    const { pageExit } = await preparedPage()
    pageExit.leaveNotes(target, [note])
    pageExit.readNotes(target)
    expect(pageExit.readNotes(target)).toEqual([note])
    pageExit.forgetNotes(target, [note.lease])
    expect(pageExit.readNotes(target)).toEqual([])
    expect(keysOf()).toEqual([])
  })

  test('ignores keys of other programs, and broken notes', async () => {
    const { pageExit, config } = await preparedPage()
    localStorage.setItem('cart', '{"notes":[1]}')
    for (const [i, text] of [
      '',
      '{',
      'null',
      '7',
      '[]',
      '{"notes":1}',
      '{"key":1,"notes":[1]}',
    ].entries())
      localStorage.setItem(`${config.name}/note/${i}`, text)
    pageExit.leaveNotes(target, [note])
    expect(pageExit.readNotes(target)).toEqual([note])
  })
})

describe('the connection for the last note', () => {
  test('never creates the database: only the owner does', async () => {
    const name = newName()
    const opened = vi.spyOn(IDBFactory.prototype, 'open')
    new PageExit({ url: 'https://x', name, page: 'page', headers: {}, timeout: 1000 }).openStore()
    const request = opened.mock.results[0]!.value as IDBOpenDBRequest
    await new Promise((done) => request.addEventListener('error', done))
    expect((await indexedDB.databases()).map((database) => database.name)).not.toContain(name)
  })

  test('is opened once, however often it is prepared', async () => {
    const { pageExit } = await preparedPage()
    const open = vi.spyOn(IDBFactory.prototype, 'open')
    pageExit.openStore()
    expect(open).not.toHaveBeenCalled()
  })

  test('gives way to a newer version of the package at once', async () => {
    const { pageExit, name } = await preparedPage()
    ;(await openRaw(name, 1000)).close()
    expect(() => pageExit.leaveNotes(target, [note])).not.toThrow()
    expect(keysOf()).toHaveLength(1)
  })
})

describe('giving back', () => {
  const sent = () => vi.mocked(fetch).mock.calls as unknown as [string, RequestInit][]

  beforeEach(() => {
    vi.stubGlobal(
      'fetch',
      vi.fn(async () => new Response('')),
    )
  })

  test('sends each range once, highest first, inside the call: it outlives the page', async () => {
    const { pageExit } = await preparedPage()
    pageExit.sender = giveBack
    const giving = pageExit.giveBack(target, [range(1, 5, { token: 't' }), range(9, 12)])
    expect(
      sent().map(([url, { method, keepalive }]) => [new URL(url).search, method, keepalive]),
    ).toEqual([
      ['?tag=orders&end=12&last=8', 'PUT', true],
      ['', 'POST', true],
    ])
    await giving
    expect(sent()).toHaveLength(2)
  })

  test('sends ranges with tokens of all collections of a database together', async () => {
    const { config } = await preparedPage()
    const pageExit = new PageExit({ ...config, headers: { Authorization: 'Bearer 1' } })
    pageExit.sender = giveBack
    const south = { ...target, database: 'South' }
    pageExit.together(() => {
      pageExit.giveBack(target, [range(1, 5, { token: 'a' }), range(9, 12)])
      pageExit.giveBack(invoices, [range(7, 8, { token: 'b' })])
      pageExit.giveBack(south, [range(3, 3, { token: 'c' })])
      expect(sent()).toEqual([])
    })
    const bodies = sent().map(([url, { body }]) => [
      new URL(url).pathname.split('/')[2],
      body && JSON.parse(String(body)),
    ])
    const authorization = 'Bearer 1'
    const returns = [
      { tag: 'invoices', end: 8, last: 6, token: 'b' },
      { tag: 'orders', end: 5, last: 0, token: 'a' },
    ]
    expect(bodies).toEqual([
      ['Shop', undefined],
      ['Shop', { returns, authorization }],
      ['South', { tag: 'orders', end: 3, last: 2, token: 'c', authorization }],
    ])
  })

  test('sends at most 100 in a request; what a browser would refuse does not outlive', async () => {
    const { pageExit } = await preparedPage()
    pageExit.sender = giveBack
    const token = 't'.repeat(200)
    const ranges = Array.from({ length: 450 }, (_, i) => range(2 * i, 2 * i, { token }))
    await pageExit.giveBack(target, ranges)
    const counts = sent().map(([, { body }]) => JSON.parse(String(body)).returns.length)
    expect(counts).toEqual([100, 100, 100, 100, 50])
    expect(sent().map(([, { keepalive }]) => keepalive)).toEqual([true, true, false, false, false])
  })

  test('carries the headers of last time: there is no time to ask for new ones', async () => {
    const { config } = await preparedPage()
    const pageExit = new PageExit({
      ...config,
      headers: { Authorization: 'Bearer 1' },
      credentials: 'include',
    })
    pageExit.sender = giveBack
    await pageExit.giveBack(target, [range(1, 5)])
    expect(sent()[0]![1]).toMatchObject({
      headers: { Authorization: 'Bearer 1' },
      credentials: 'include',
    })
    pageExit.headers = { Authorization: 'Bearer 2' }
    await pageExit.giveBack(target, [range(1, 5)])
    expect(sent()[1]![1]).toMatchObject({ headers: { Authorization: 'Bearer 2' } })
  })

  test('shows a token in plain text without headers: it needs no preflight', async () => {
    const { config } = await preparedPage()
    const pageExit = new PageExit({ ...config, headers: { Authorization: 'Bearer 1' } })
    pageExit.sender = giveBack
    await pageExit.giveBack(target, [range(1, 5, { token: 't' })])
    vi.stubGlobal('location', new URL('https://api.example.com/app'))
    await pageExit.giveBack(target, [range(1, 5, { token: 't' })])
    const [elsewhere, atHome] = sent().map(([, init]) => init)
    expect(elsewhere!.body).toBe(
      '{"tag":"orders","end":5,"last":0,"token":"t","authorization":"Bearer 1"}',
    )
    expect(new Request('https://x', elsewhere).headers.get('Content-Type')).toMatch(/^text\/plain/)
    expect(elsewhere).not.toHaveProperty('headers')
    expect(atHome).toMatchObject({ headers: { Authorization: 'Bearer 1' } })
  })

  test('resolves with the last answer, whatever it says: a check-in tells the rest', async () => {
    const { pageExit } = await preparedPage()
    pageExit.sender = giveBack
    vi.mocked(fetch)
      .mockResolvedValueOnce(new Response('', { status: 403 }))
      .mockRejectedValueOnce(new TypeError('fetch failed'))
    await expect(pageExit.giveBack(target, [range(1, 5), range(9, 12)])).resolves.toBeUndefined()
    expect(sent()).toHaveLength(2)
  })
})
