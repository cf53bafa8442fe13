/**
 * What a page leaves as it goes: each note in two places, each give-back sent once, all inside one
 * call.
 */
import { IDBDatabase, IDBFactory, IDBTransaction } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Parting } from '../../src/client/parting.js'
import type { OwnerConfig, Target } from '../../src/core/contract.js'
import { IndexedDbStore } from '../../src/store/indexeddb.js'
import { newName, openRaw, recordsOf } from '../support/idb.js'
import { fakeLocalStorage } from '../support/page.js'
import { range } from '../support/ranges.js'

const target: Target = { database: 'Shop', tag: 'orders', separator: '/', reserve: 32 }
const invoices: Target = { ...target, tag: 'invoices' }
const note = { lease: 'page1:0.0', next: 5 }

beforeEach(() => {
  vi.stubGlobal('localStorage', fakeLocalStorage())
})

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** A page whose owner has created the database, with the connection for its last note open. */
async function preparedPage(name = newName()) {
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
  const parting = new Parting(config)
  const opened = vi.spyOn(IDBFactory.prototype, 'open')
  parting.prepare()
  const request = opened.mock.results[0]!.value as IDBOpenDBRequest
  await new Promise((done) => request.addEventListener('success', done))
  opened.mockRestore()
  return { parting, name, config }
}

const keysOf = () => Object.keys(localStorage)

describe('leaving', () => {
  test('puts each note in two places at once', async () => {
    const { parting, name } = await preparedPage()
    parting.leave(target, [note, { lease: 'page1:1.0', next: 9 }])
    expect(keysOf()).toHaveLength(2)
    expect(await recordsOf(name, 'notes')).toEqual([note, { lease: 'page1:1.0', next: 9 }])
  })

  test('keeps the notes of two collections apart, even under one name', async () => {
    const { parting } = await preparedPage()
    parting.leave(target, [note])
    parting.leave(invoices, [note])
    expect(keysOf()).toHaveLength(2)
    parting.read(target)
    parting.forget(target, [note])
    expect(parting.read(invoices)).toEqual([note])
  })

  test('does all of it inside the call: one transaction, committed by hand, nothing read, nothing opened', async () => {
    const { parting } = await preparedPage()
    const open = vi.spyOn(IDBFactory.prototype, 'open')
    const begin = vi.spyOn(IDBDatabase.prototype, 'transaction')
    const commit = vi.spyOn(IDBTransaction.prototype, 'commit')
    const read = vi.spyOn(Object.getPrototypeOf(localStorage), 'getItem')
    parting.leave(target, [note])
    expect(begin).toHaveBeenCalledOnce()
    expect(commit).toHaveBeenCalledOnce()
    expect(open).not.toHaveBeenCalled()
    expect(read).not.toHaveBeenCalled()
    expect(keysOf()).toHaveLength(1)
  })

  test('leaves the other copy where one place fails', async () => {
    const { parting, name } = await preparedPage()
    vi.spyOn(Object.getPrototypeOf(localStorage), 'setItem').mockImplementation(() => {
      throw new DOMException('Full', 'QuotaExceededError')
    })
    parting.leave(target, [note])
    expect(await recordsOf(name, 'notes')).toEqual([note])
    vi.restoreAllMocks()
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(() => {
      throw new DOMException('Closing', 'InvalidStateError')
    })
    parting.leave(target, [note])
    expect(keysOf()).toHaveLength(1)
  })

  test('without either place is no error: it costs a gap', async () => {
    const { config } = await preparedPage()
    vi.stubGlobal('localStorage', undefined)
    vi.stubGlobal('indexedDB', undefined)
    const parting = new Parting(config)
    parting.prepare()
    expect(() => parting.leave(target, [note])).not.toThrow()
    expect(parting.read(target)).toEqual([])
  })

  test('with nothing to say begins nothing', async () => {
    const { parting } = await preparedPage()
    const begin = vi.spyOn(IDBDatabase.prototype, 'transaction')
    parting.leave(target, [])
    expect(begin).not.toHaveBeenCalled()
    expect(keysOf()).toEqual([])
  })
})

describe('the next page', () => {
  test('finds the notes of its own collection, database and server', async () => {
    const { parting, config } = await preparedPage()
    parting.leave(target, [note])
    expect(new Parting(config).read(target)).toEqual([note])
    for (const other of [invoices, { ...target, database: 'Other' }, { ...target, separator: '-' }])
      expect(parting.read(other)).toEqual([])
    expect(new Parting({ ...config, url: 'https://other.example.com' }).read(target)).toEqual([])
    expect(new Parting({ ...config, name: `${config.name}-2` }).read(target)).toEqual([])
  })

  test('keeps them until they are settled, and then no more', async () => {
    const { parting } = await preparedPage()
    parting.leave(target, [note])
    parting.read(target)
    expect(parting.read(target)).toEqual([note])
    parting.forget(target, [note])
    expect(parting.read(target)).toEqual([])
    expect(keysOf()).toEqual([])
  })

  test('takes no notice of what others keep there, or have broken', async () => {
    const { parting, config } = await preparedPage()
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
    parting.leave(target, [note])
    expect(parting.read(target)).toEqual([note])
  })
})

describe('the connection for the last note', () => {
  test('never creates the database: only the owner does', async () => {
    const name = newName()
    const opened = vi.spyOn(IDBFactory.prototype, 'open')
    new Parting({ url: 'https://x', name, page: 'page', headers: {}, timeout: 1000 }).prepare()
    const request = opened.mock.results[0]!.value as IDBOpenDBRequest
    await new Promise((done) => request.addEventListener('error', done))
    expect((await indexedDB.databases()).map((database) => database.name)).not.toContain(name)
  })

  test('is opened once, however often it is prepared', async () => {
    const { parting } = await preparedPage()
    const open = vi.spyOn(IDBFactory.prototype, 'open')
    parting.prepare()
    expect(open).not.toHaveBeenCalled()
  })

  test('gives way to a newer version of the package at once', async () => {
    const { parting, name } = await preparedPage()
    ;(await openRaw(name, 1000)).close()
    expect(() => parting.leave(target, [note])).not.toThrow()
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

  test('sends each range once, highest first, inside the call, so that it outlives the page', async () => {
    const { parting } = await preparedPage()
    const giving = parting.giveBack(target, [range(1, 5, { token: 't' }), range(9, 12)])
    expect(
      sent().map(([url, { method, keepalive }]) => [new URL(url).search, method, keepalive]),
    ).toEqual([
      ['?tag=orders&end=12&last=8', 'PUT', true],
      ['?tag=orders&end=5&last=0&lease=t', 'POST', true],
    ])
    await giving
    expect(sent()).toHaveLength(2)
  })

  test('carries the headers that were last used, for there is no time to ask for new ones', async () => {
    const { config } = await preparedPage()
    const parting = new Parting({
      ...config,
      headers: { Authorization: 'Bearer 1' },
      credentials: 'include',
    })
    await parting.giveBack(target, [range(1, 5)])
    expect(sent()[0]![1]).toMatchObject({
      headers: { Authorization: 'Bearer 1' },
      credentials: 'include',
    })
    parting.headers = { Authorization: 'Bearer 2' }
    await parting.giveBack(target, [range(1, 5)])
    expect(sent()[1]![1]).toMatchObject({ headers: { Authorization: 'Bearer 2' } })
  })

  test('resolves when all answers are here, whatever they say: the next check-in tells what arrived', async () => {
    const { parting } = await preparedPage()
    vi.mocked(fetch)
      .mockResolvedValueOnce(new Response('', { status: 403 }))
      .mockRejectedValueOnce(new TypeError('fetch failed'))
    await expect(parting.giveBack(target, [range(1, 5), range(9, 12)])).resolves.toBeUndefined()
    expect(sent()).toHaveLength(2)
  })
})
