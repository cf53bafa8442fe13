/** The register: what happened to each number stays, in order, and no change of it goes unseen. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { chain } from '../../../src/addons/consecutive/chain.js'
import { exported } from '../../../src/addons/consecutive/chain-export.js'
import { consecutive } from '../../../src/addons/consecutive/index.js'
import { sealOfState } from '../../../src/addons/consecutive/register.js'
import { canonical, sha256 } from '../../../src/addons/consecutive/sha256.js'
import { newSum } from '../../../src/addons/consecutive/sum.js'
import { type SqliteDatabase, sqliteStore } from '../../../src/addons/sqlite/index.js'
import type { Entry, NumberRow } from '../../../src/device/series-store.js'
import { newName, openRaw, requested } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { audit } from './auditor.js'
import { databaseOf, exportOf, idsOf, openTill, registry } from './devices.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

const refusal = (message: RegExp) =>
  expect.objectContaining({ code: 'invalid-argument', message: expect.stringMatching(message) })

/** By Node's own crypto, which shares no code with the register. */
const byNode = (text: string) => createHash('sha256').update(text).digest('hex')

/** Somebody changes what a till has stored. */
async function change<T extends object>(
  name: string,
  store: 'numbers' | 'entries' | 'series' | 'links',
  what: (all: T[]) => T | undefined,
  remove = false,
): Promise<void> {
  const db = await openRaw(databaseOf(name))
  const of = db.transaction(store, 'readwrite').objectStore(store)
  const [keys, all] = [await requested(of.getAllKeys()), (await requested(of.getAll())) as T[]]
  const changed = what(all)!
  const i = all.indexOf(changed)
  if (remove) await requested(of.delete(keys[i]!))
  else await requested(of.keyPath ? of.put(changed) : of.put(changed, keys[0]!))
  db.close()
}

/** A till's SQLite file. */
function file() {
  const folder = mkdtempSync(join(tmpdir(), 'hilo-series-'))
  const database = new DatabaseSync(join(folder, 'till.db'))
  onTestFinished(() => {
    database.close()
    rmSync(folder, { recursive: true })
  })
  return { database, store: sqliteStore({ database: database as unknown as SqliteDatabase }) }
}

/** Somebody cuts off what came after an entry, with its numbers, so that the rest fits. */
async function cutOff(name: string, after: number): Promise<void> {
  const kept: Entry[] = []
  await change<Entry>(name, 'entries', (all) => {
    kept.push(...all)
    return all[0]
  })
  for (const { place } of kept.slice(after))
    await change<Entry>(name, 'entries', (all) => all.find((each) => each.place === place), true)
  for (const { what, made } of kept.slice(after))
    if (what === 'taken')
      await change<NumberRow>(name, 'numbers', (all) => all.find((row) => row.place === made), true)
  const { place, hash } = kept[after - 1]!
  await change<{ current: { heard: number; made: number } }>(name, 'series', ([state]) => {
    const { current, ...rest } = state!
    const cut = { ...rest, current: { ...current, heard: 1, made: 1 }, tail: { place, hash } }
    return { ...cut, seal: sealOfState(cut as never) }
  })
}

test.each([0, 1, 3, 55, 56, 63, 64, 65, 119, 120, 1000])('a hash of %i characters', (length) => {
  const text = Array.from({ length }, (_, i) => String.fromCodePoint(0x20 + ((i * 37) % 500))).join(
    '',
  )
  expect(sha256(text)).toBe(byNode(text))
  const sum = newSum()
  for (const part of [text, 'é', '', text, text.slice(1)]) sum.add(part)
  expect(sum.hex()).toBe(byNode(`${text}é${text}${text.slice(1)}`))
})

test('a value is written the same, whatever the order of its keys', () => {
  expect(canonical({ b: [{ d: 1, c: null }], a: 'é' })).toBe('{"a":"é","b":[{"c":null,"d":1}]}')
  // Sums by tax rate. An object has such keys in the order of their numbers.
  expect(canonical({ b: 1, 7: { 5: 'x' }, 19: [undefined], c: undefined })).toBe(
    '{"19":[null],"7":{"5":"x"},"b":1}',
  )
})

describe('the register', () => {
  test('has an entry of each thing that happened, each with the hash before', async () => {
    const name = newName()
    const { receipts } = openTill(shop, { name })
    await idsOf(receipts, 'a', 'b')
    await receipts.settle('a', 'refused', { reason: 'wrong tax number', by: 'bert', ref: 'R1' })
    await receipts.settle('a', 'confirmed', { by: 'anna' })
    await receipts.settle('a', 'confirmed', { by: 'nobody' })
    const entries: Entry[] = []
    await change<Entry>(name, 'entries', (all) => {
      entries.push(...all)
      return all[0]
    })
    expect(entries.map(({ what, id }) => [what, id])).toEqual([
      ['begun', undefined],
      ['taken', 'A-000001'],
      ['taken', 'A-000002'],
      ['settled', 'A-000001'],
      ['settled', 'A-000001'],
    ])
    let previous = ''
    for (const { hash, of: _, ...entry } of entries as (Entry & { of: string })[]) {
      expect(entry.previous).toBe(previous)
      const sorted = Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1))
      expect(hash).toBe(byNode(JSON.stringify(Object.fromEntries(sorted))))
      previous = hash
    }
    const [report] = await receipts.report()
    const at = expect.any(String)
    expect(report!.numbers[0]!.settled).toEqual([
      { state: 'refused', at, reason: 'wrong tax number', by: 'bert', ref: 'R1' },
      { state: 'confirmed', at, by: 'anna' },
    ])
    expect(await receipts.verify()).toEqual({
      chains: [{ chain: 'register', count: 5, last: { chain: 'register', at: 5, hash: previous } }],
      broken: [],
    })
  })

  const CHANGES: [field: string, value: unknown][] = [
    ['state', 'cancelled'],
    ['reason', 'card declined'],
    ['by', 'nobody'],
    ['ref', 'R2'],
    ['takenAt', '2026-01-01T08:00:00.000Z'],
    ['settledAt', '2026-01-01T08:00:00.000Z'],
    ['key', 'another sale'],
    ['number', 7],
    ['period', '2020'],
    ['id', 'A-000007'],
    ['content', 'x'],
    ['heard', false],
    ['isBack', 1],
    ['open', 1],
  ]

  test.each(CHANGES)('a %s that was changed afterwards is named', async (field, value) => {
    const name = newName()
    const { receipts } = openTill(shop, { name })
    await receipts.next({ key: 'a', content: { total: '5' } })
    await idsOf(receipts, 'b', 'c')
    await receipts.settle('a', 'confirmed', { by: 'anna', ref: 'R1' })
    await change<NumberRow>(name, 'numbers', (all) => Object.assign(all[0]!, { [field]: value }))
    expect((await receipts.verify()).broken).toEqual([
      { chain: 'register', at: expect.any(Number), id: 'A-000001', why: 'changed', field },
    ])
  })

  test.each([
    ['letter', { letter: 'B' }],
    ['place', { place: 9 }],
  ])('a number that was moved to another %s is named at both', async (_, to) => {
    const name = newName()
    const { receipts } = openTill(shop, { name })
    await idsOf(receipts, 'a')
    await change<NumberRow>(name, 'numbers', (all) => all[0], true)
    const row = { of: 'receipts', letter: 'A', place: 1, period: '', number: 1, id: 'A-000001' }
    await change<object>(name, 'numbers', () => ({ ...row, state: 'open', takenAt: '', ...to }))
    expect((await receipts.verify()).broken).toMatchObject([
      { id: 'A-000001', why: 'missing' },
      { id: 'A-000001', why: 'missing' },
    ])
  })

  test.each<[string, object]>([
    ['what', { what: 'late' }],
    ['at', { at: '2026-01-01T08:00:00.000Z' }],
    ['reason', { reason: 'x' }],
    ['by', { by: 'nobody' }],
    ['state', { state: 'cancelled' }],
    ['key', { key: 'another' }],
    ['made', { made: 2 }],
    ['series', { series: 'B' }],
    ['hash', { hash: 'x' }],
    ['previous', { previous: 'x' }],
  ])('an entry with another %s is named', async (_, other) => {
    const name = newName()
    const { receipts } = openTill(shop, { name })
    await idsOf(receipts, 'a', 'b')
    await receipts.settle('a', 'confirmed', { by: 'anna' })
    await change<Entry>(name, 'entries', (all) => Object.assign(all[3]!, other))
    const { broken } = await receipts.verify()
    expect(broken).toContainEqual(expect.objectContaining({ chain: 'register', at: 4 }))
  })

  type State = { current?: object; ended: object[]; ledger?: string }
  const inCurrent = (field: object) => (state: State) => ({
    ...state,
    current: { ...state.current, ...field },
  })

  test.each<[field: string, what: (state: State) => State]>([
    ['series', inCurrent({ letter: 'C' })],
    ['series', ({ current, ...state }) => state],
    ['ledger', (state) => ({ ...state, ledger: 'another' })],
    ['after', inCurrent({ after: { last: 9, periods: [{ period: '', first: 1, last: 9 }] } })],
    ['ranges', inCurrent({ ranges: [{ from: 1, to: 9000 }] })],
    ['highest', inCurrent({ highest: { SETP: 7 } })],
    ['closedAt', inCurrent({ closedAt: 0 })],
    ['closing', inCurrent({ empty: { '2027': { closing: { count: 0, open: 0 } } } })],
    ['ended', (state) => ({ ...state, ended: [{ ...state.ended[0], letter: 'C' }] })],
    ['ended', (state) => ({ ...state, ended: [] })],
    ['state', inCurrent({ heard: 0 })],
    ['state', inCurrent({ closings: [{ period: '2026', closed: false }] })],
    ['state', inCurrent({ token: 'x' })],
    ['state', (state) => ({ ...state, seal: undefined })],
  ])('a %s of the series that was changed afterwards is named', async (field, what) => {
    const name = newName()
    const { receipts } = openTill(shop, { name, series: { period: 'year', timeZone: 'UTC' } })
    await idsOf(receipts, 'a')
    const key = { database: 'default', collection: 'receipts', letter: 'A' }
    await shop.ledger.closeSeries({ ...key, by: 'anna', reason: 'a test', at: Date.now() })
    await idsOf(receipts, 'b')
    await receipts.closePeriod(String(new Date().getUTCFullYear()))
    await receipts.closePeriod('2020')
    await shop.ledger.giveRange({ ...key, letter: 'B', range: { from: 2001, to: 3000 } })
    await receipts.next({ key: 'c', date: new Date('2019-06-01T08:00:00Z') })
    await expect.poll(async () => (await exportOf(receipts)).includes('"what":"ranges"')).toBe(true)
    expect((await receipts.verify()).broken).toEqual([])
    await change<State>(name, 'series', ([state]) => what(state!))
    const named = { chain: 'register', at: expect.any(Number), why: 'changed', field }
    expect((await receipts.verify()).broken).toContainEqual(named)
  })

  test.each([
    ['letter', "'Z'", { why: 'missing' }],
    ['place', '9', { why: 'missing' }],
    ['period', "'2020'", { field: 'period' }],
    ['number', '7', { field: 'number' }],
    ['id', "'A-000007'", { field: 'id' }],
    ['key', 'NULL', { field: 'key' }],
    ['open', '1', { field: 'open' }],
    ['record', "json_set(record, '$.state', 'cancelled')", { field: 'state' }],
  ])('a %s that sqlite3 changed in the file is named', async (column, value, named) => {
    const { database, store } = file()
    const receipts = consecutive(shop.open({ store }).hilo, 'receipts')
    await idsOf(receipts, 'a', 'b')
    await receipts.settle('b', 'confirmed')
    expect((await receipts.verify()).broken).toEqual([])
    database.exec(`UPDATE offline_hilo_numbers SET ${column} = ${value} WHERE number = 2`)
    expect((await receipts.verify()).broken).toContainEqual(expect.objectContaining(named))
  })

  test.each(['{torn', '', 'null', '7', '"text"'])(
    'a record that became %j is named',
    async (to) => {
      const { database, store } = file()
      const receipts = consecutive(shop.open({ store }).hilo, 'receipts')
      await idsOf(receipts, 'a', 'b')
      for (const table of ['numbers', 'entries'])
        database.prepare(`UPDATE offline_hilo_${table} SET record = ? WHERE place = 2`).run(to)
      const named = { chain: 'register', at: 2 }
      expect((await receipts.verify()).broken).toContainEqual(expect.objectContaining(named))
      database.prepare('UPDATE offline_hilo_series SET record = ?').run(to)
      await expect(receipts.next({ key: 'c' })).rejects.toMatchObject({ code: 'storage-failed' })
    },
  )

  test('how far the server has heard, where somebody changed it, is named for good', async () => {
    const name = newName()
    const { receipts } = openTill(shop, { name })
    await idsOf(receipts, 'a', 'b')
    await change<State>(name, 'series', ([state]) => inCurrent({ heard: 0 })(state!))
    await idsOf(receipts, 'c')
    expect((await receipts.verify()).broken).toMatchObject([{ why: 'changed', field: 'state' }])
  })

  test('a state that was deleted is named, and no number is made beside the others', async () => {
    const name = newName()
    const { receipts } = openTill(shop, { name })
    await idsOf(receipts, 'a', 'b')
    await change<State>(name, 'series', ([state]) => state, true)
    const after = openTill(shop, { name })
    const named = { chain: 'register', at: 3, why: 'missing', field: 'state' }
    expect((await after.receipts.verify()).broken).toEqual([named])
    await expect(after.receipts.next({ key: 'c' })).rejects.toMatchObject({
      code: 'storage-failed',
      message: expect.stringMatching(/lost their state: somebody deleted it.*Export what is left/),
    })
  })

  test.each([1, 2, 3])(
    '%i numbers that were deleted at the end are not made again',
    async (count) => {
      const name = newName()
      const { receipts, hilo } = openTill(shop, { name })
      await idsOf(receipts, 'a', 'b', 'c')
      await hilo.close()
      for (let i = 0; i < count; i++)
        await change<NumberRow>(name, 'numbers', (all) => all.at(-1), true)
      const after = openTill(shop, { name })
      await expect(after.receipts.next({ key: 'd' })).rejects.toMatchObject({
        code: 'storage-failed',
        message: expect.stringMatching(/device have lost numbers\./),
      })
      const { broken } = await after.receipts.verify()
      expect(broken.filter(({ why }) => why === 'missing')).toHaveLength(count)
    },
  )

  test('a number that was deleted before the server heard of it is not made again', async () => {
    const name = newName()
    const { receipts, hilo } = openTill(shop, { name, series: { wait: 0 } })
    await idsOf(receipts, 'a')
    shop.isDown = true
    await idsOf(receipts, 'b', 'c')
    await hilo.close()
    await change<NumberRow>(name, 'numbers', (all) => all.at(-1), true)
    const after = openTill(shop, { name, series: { wait: 0 } })
    await expect(after.receipts.next({ key: 'd' })).rejects.toMatchObject({
      code: 'storage-failed',
      message: expect.stringMatching(/device have lost numbers\./),
    })
    const named = { chain: 'register', why: 'missing', id: 'A-000003' }
    expect((await after.receipts.verify()).broken).toMatchObject([named])
  })

  test.each<[field: string, at: number, other: object]>([
    ['kind', 1, { kind: 'proforma' }],
    ['time', 1, { time: '2026-01-01T08:00:00+00:00' }],
    ['number', 1, { number: 7 }],
    ['period', 1, { period: '2020' }],
    ['data', 1, { data: 'x' }],
    ['flags', 1, { flags: ['clock'] }],
    ['kind', 2, { kind: 'event' }],
    ['key', 2, { key: 'another' }],
    ['time', 2, { time: '2026-01-01T08:00:00+00:00' }],
    ['flags', 2, { flags: ['broken'] }],
  ])('a %s of record %i that was changed afterwards is named', async (_, at, other) => {
    const name = newName()
    const text = ({ id, content }: { id?: string; content: unknown }, previous: string) =>
      `${id};${content};${previous}`
    const { receipts } = openTill(shop, { name, series: { chain: chain({ text }) } })
    await idsOf(receipts, 'a')
    await receipts.record({ key: 'void a', kind: 'cancellation' })
    expect((await receipts.verify()).broken).toEqual([])
    await change<object>(name, 'links', (all) => Object.assign(all[at - 1]!, other))
    const named = { chain: 'register', why: 'changed', field: 'record' }
    expect((await receipts.verify()).broken).toMatchObject([named])
  })

  test('a record that was added behind its back is named', async () => {
    const name = newName()
    const text = ({ at }: { at: number }, previous: string) => `${at};${previous}`
    const { receipts } = openTill(shop, { name, series: { chain: chain({ text }) } })
    await idsOf(receipts, 'a')
    const last = (await receipts.verify()).chains[1]!.last!
    const forged = { text: `2;${last.hash}`, previous: last.hash, hash: byNode(`2;${last.hash}`) }
    await change<object>(name, 'links', ([link]) => {
      const { id, number, series, ...of } = link as Record<string, unknown>
      return { ...of, ...forged, at: 2, kind: 'event', key: 'forged' }
    })
    const named = { chain: 'register', at: 0, why: 'missing', field: 'record' }
    expect((await receipts.verify()).broken).toEqual([named])
  })

  test('an end that was cut off is named, and each of several breaks', async () => {
    const name = newName()
    const { receipts } = openTill(shop, { name })
    await idsOf(receipts, 'a', 'b', 'c')
    await receipts.settle('a', 'confirmed')
    await change<Entry>(name, 'entries', (all) => all.at(-1), true)
    await change<NumberRow>(name, 'numbers', (all) => Object.assign(all[1]!, { key: 'x' }))
    const { broken } = await receipts.verify()
    expect(broken).toContainEqual({ chain: 'register', at: 5, why: 'missing' })
    expect(broken).toContainEqual(expect.objectContaining({ field: 'state', id: 'A-000001' }))
    expect(broken).toContainEqual(expect.objectContaining({ field: 'key', id: 'A-000002' }))
    await change<Entry>(name, 'entries', (all) => all[1], true)
    const gap = { chain: 'register', at: 2, why: 'missing' }
    expect((await receipts.verify()).broken).toContainEqual(gap)
  })

  test('what was recomputed, or cut off, differs from a link that was kept elsewhere', async () => {
    const name = newName()
    const { receipts } = openTill(shop, { name })
    await idsOf(receipts, 'a', 'b')
    const known = (await receipts.verify()).chains[0]!.last!
    expect((await receipts.verify({ known })).broken).toEqual([])
    const forged = { known: { ...known, hash: 'x' } }
    expect((await receipts.verify(forged)).broken).toMatchObject([{ at: 3, why: 'known' }])
    const later = { known: { ...known, at: 4 } }
    expect((await receipts.verify(later)).broken).toMatchObject([{ at: 4, why: 'missing' }])
  })
})

describe('what the server keeps of the register', () => {
  test('is its last entry, so that an end which was cut off is named', async () => {
    const name = newName()
    const till = openTill(shop, { name })
    await idsOf(till.receipts, 'a', 'b')
    const { last } = (await till.receipts.verify()).chains[0]!
    await expect.poll(registry).toMatchObject([{ last: 2, register: { at: 3, hash: last!.hash } }])
    // What is told of nobody yet is not protected.
    await till.receipts.settle('b', 'confirmed')
    const { register } = (await registry())[0]!
    const known = { chain: 'register', ...register! }
    expect(await till.receipts.verify({ known })).toMatchObject({ broken: [] })
    await till.hilo.close()
    await cutOff(name, 2)
    const after = openTill(shop, { name })
    after.hilo.goOffline()
    expect((await after.receipts.verify()).broken).toEqual([])
    const named = [{ chain: 'register', at: 3, why: 'missing' }]
    expect((await after.receipts.verify({ known })).broken).toEqual(named)
    // It goes on, and tells a shorter register.
    after.hilo.goOnline()
    await idsOf(after.receipts, 'c')
    await expect.poll(registry).toMatchObject([{ last: 2, register }])
    const other = [{ ...named[0], why: 'known' }]
    expect((await after.receipts.verify({ known })).broken).toMatchObject(other)
  })
})

test('each refusal of an authority is an entry, also a second one for another reason', async () => {
  const { receipts } = openTill(shop, {})
  await idsOf(receipts, 'a')
  const refuse = (reason: string) => receipts.settle('a', 'refused', { reason })
  for (const reason of ['wrong tax number', 'wrong tax number', 'wrong date']) await refuse(reason)
  await receipts.settle('a', 'confirmed')
  const [report] = await receipts.report()
  expect(report!.numbers[0]!.settled).toMatchObject([
    { state: 'refused', reason: 'wrong tax number' },
    { state: 'refused', reason: 'wrong date' },
    { state: 'confirmed' },
  ])
  expect((await receipts.verify()).broken).toEqual([])
})

describe('a key', () => {
  test.each([
    ['with a chain', { chain: chain({ text: ({ id }, previous) => `${id};${previous}` }) }],
    ['without a chain', {}],
  ])('has one content, %s: another one is refused with both hashes', async (_, series) => {
    const { receipts } = openTill(shop, { series })
    const made = await receipts.next({ key: 'a', content: { total: '5', tax: '1' } })
    const again = { key: 'a', content: { tax: '1', total: '5' } }
    expect(await receipts.next(again)).toMatchObject({ id: made.id })
    expect(await receipts.next({ key: 'a' })).toMatchObject({ id: made.id })
    const [was, is] = ['{"tax":"1","total":"5"}', '{"total":"9"}'].map(byNode)
    await expect(receipts.next({ key: 'a', content: { total: '9' } })).rejects.toEqual(
      refusal(new RegExp(`${made.id} was made for the key "a" .*${was}.*${is}`)),
    )
    await idsOf(receipts, 'b')
    await expect(receipts.next({ key: 'b', content: 1 })).rejects.toEqual(refusal(/is none/))
    expect((await receipts.report())[0]!.numbers).toMatchObject([{ content: was }, {}])
  })

  test('has one date: another one is refused with both', async () => {
    const { receipts } = openTill(shop, { series: { period: 'year' } })
    const [was, is] = ['2026-12-31T22:00:00.000Z', '2027-01-01T22:00:00.000Z']
    const made = await receipts.next({ key: 'a', date: new Date(was) })
    expect(await receipts.next({ key: 'a', date: new Date(was) })).toMatchObject({ id: made.id })
    expect(await receipts.next({ key: 'a' })).toMatchObject({ id: made.id })
    await expect(receipts.next({ key: 'a', date: new Date(is) })).rejects.toEqual(
      refusal(new RegExp(`${made.id} was made for the key "a" .*${was}.*${is}.* without date`)),
    )
    await receipts.next({ key: 'b' })
    await expect(receipts.next({ key: 'b', date: new Date(is) })).rejects.toEqual(refusal(/other/))
    expect((await receipts.report())[0]!.numbers).toHaveLength(2)
  })

  test('of a number has one kind', async () => {
    const text = (_: unknown, previous: string) => previous
    const { receipts } = openTill(shop, { series: { chain: chain({ text }) } })
    const made = await receipts.next({ key: 'a', kind: 'sale' })
    await receipts.next({ key: 'b' })
    const other = { key: 'a', kind: 'refund' }
    await expect(receipts.next(other)).rejects.toEqual(
      refusal(/the key has a record of kind sale; this is refund/),
    )
    await expect(receipts.next({ key: 'b', kind: 'sale' })).rejects.toEqual(
      refusal(/kind number; /),
    )
    // Who asks for the number again need not know its kind.
    expect([
      await receipts.next({ key: 'a' }),
      await receipts.next({ key: 'a', kind: 'sale' }),
    ]).toEqual([made, made])
    expect((await receipts.verify()).broken).toEqual([])
  })

  test('of a record has one content and one kind', async () => {
    const text = (_: unknown, previous: string) => previous
    const { receipts } = openTill(shop, { series: { chain: chain({ text }) } })
    await receipts.record({ key: 'a', kind: 'event', content: 1 })
    await expect(receipts.record({ key: 'a', kind: 'event', content: 2 })).rejects.toEqual(
      refusal(/record 1 was made for the key "a"/),
    )
    await expect(receipts.record({ key: 'a', kind: 'void', content: 1 })).rejects.toEqual(
      refusal(/the key has a record of kind event; this is void/),
    )
    expect((await receipts.verify()).broken).toEqual([])
  })
})

describe('a rule that an update of the app changes', () => {
  test('breaks no older record, and hides no later forgery', async () => {
    const name = newName()
    const before = chain({ text: ({ id }, previous) => `${id};${previous}` })
    const after = chain({ text: ({ id, content }, previous) => `${id};${content};${previous}` })
    await idsOf(openTill(shop, { name, series: { chain: before } }).receipts, 'a', 'b')
    const { receipts } = openTill(shop, { name, series: { chain: after } })
    await receipts.next({ key: 'c', content: 'c' })
    await receipts.next({ key: 'd', content: 'd' })
    expect((await receipts.verify()).broken).toEqual([])
    const [report] = await receipts.report()
    expect(new Set(report!.numbers.map(({ rule }) => rule)).size).toBe(2)
    const db = await openRaw(databaseOf(name))
    const links = db.transaction('links', 'readwrite').objectStore('links')
    for (const at of [1, 4]) {
      const link = await requested(links.get(['receipts', 'A', at]))
      await requested(links.put({ ...link, content: 'forged' }))
    }
    db.close()
    const { broken } = await receipts.verify()
    expect(broken.map(({ chain, id, why }) => [chain, id, why])).toEqual([
      ['A', 'A-000004', 'text'],
      ['register', 'A-000001', 'changed'],
      ['register', 'A-000004', 'changed'],
    ])
  })
})

describe('an export', () => {
  test('has the numbers of a period as a table, also without a chain', async () => {
    const series = { period: (date: Date) => String(date.getUTCFullYear()) }
    const { receipts } = openTill(shop, { series })
    await receipts.next({ key: 'old', date: new Date('2026-06-01T08:00:00Z') })
    await receipts.next({ key: 'a "good" sale', date: new Date('2027-06-01T08:00:00Z') })
    await receipts.settle('a "good" sale', 'confirmed', { by: 'anna' })
    const table = (await exportOf(receipts, { period: '2027', form: 'csv' })).split('\r\n')
    expect(table).toHaveLength(3)
    expect(table[0]).toMatch(/^"series","period","number","id","state","key"/)
    expect(table[1]).toMatch(/^"A","2027","1","A-2027-000001","confirmed","a ""good"" sale",/)
    const all = (await exportOf(receipts))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(all[0]).toMatchObject({
      record: 'head',
      collection: 'receipts',
      series: [{ series: 'A', predecessor: null }],
    })
    expect(all.filter(({ record }) => record === 'number')).toHaveLength(2)
    const entries = all.filter(({ record }) => record === 'entry')
    expect(entries.map(({ what }) => what)).toEqual(['begun', 'taken', 'taken', 'settled'])
    await expect(exportOf(receipts, { form: 'xml' as never })).rejects.toEqual(refusal(/form is/))
  })

  test('of a period has its own totals, not those of all', async () => {
    const { receipts } = openTill(shop, { series: { period: 'year', timeZone: 'UTC' } })
    for (const year of ['2026', '2027', '2027'])
      await receipts.next({ key: crypto.randomUUID(), date: new Date(`${year}-06-01T08:00:00Z`) })
    const lines = (await exportOf(receipts, { period: '2027' })).trim().split('\n')
    expect(JSON.parse(lines.at(-1)!).totals).toMatchObject({ open: 2, holes: 0 })
    expect(JSON.parse(lines[0]!)).toMatchObject({
      count: 2,
      series: [{ first: 'A-2027-000001', last: 'A-2027-000002' }],
    })
  })

  test('has the head of the app beside its own, or says what it cannot write', async () => {
    const { receipts } = openTill(shop, {})
    const head = { record: 'end', device: 'Till 3', issuer: 'Shop Ltd' }
    const [line] = (await exportOf(receipts, { head })).split('\n')
    expect(JSON.parse(line!)).toMatchObject({ ...head, record: 'head' })
    for (const none of [{ total: 1n }, 'Shop Ltd'] as never[])
      await expect(exportOf(receipts, { head: none })).rejects.toEqual(refusal(/head/))
  })

  test('is written also by a page without HTTPS, which has no crypto.subtle', async () => {
    const { receipts } = openTill(shop, {})
    await idsOf(receipts, 'a', 'b €')
    const whole = crypto
    const getRandomValues = whole.getRandomValues.bind(whole)
    vi.stubGlobal('crypto', { getRandomValues })
    const text = await exportOf(receipts)
    vi.stubGlobal('crypto', whole)
    expect(audit(text)).toEqual([])
  })

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])(
    'as a table has %j as a text, not as a formula',
    async (reason) => {
      const { receipts } = openTill(shop, {})
      await idsOf(receipts, 'a')
      await receipts.settle('a', 'cancelled', { reason, by: '12,5 "net"\nline 2' })
      const table = await exportOf(receipts, { form: 'csv' })
      expect(table).toContain(`"12,5 ""net""\nline 2","'${reason}",`)
      expect((await exportOf(receipts)).includes(JSON.stringify(reason))).toBe(true)
    },
  )

  test('of 130,000 numbers has each of them', async () => {
    const count = 130_000
    const numbers = Array.from({ length: count }, (_, i): NumberRow => {
      return {
        letter: 'A',
        place: i + 1,
        period: '',
        number: i + 1,
        id: `A-${i + 1}`,
        key: `${i}`,
        state: 'open',
        takenAt: '2027-01-01T08:00:00.000Z',
      }
    })
    const state = { version: 1 as const, ended: [] }
    const current = { letter: 'A', begun: 'b', token: 't', heard: 0 }
    const stored = { state: { ...state, current }, numbers, links: [], entries: [] }
    let lines = 0
    let end = ''
    for await (const line of exported(stored, {}, {}, undefined)) {
      lines++
      end = line
    }
    expect(lines).toBe(count + 2)
    expect(JSON.parse(end).totals).toMatchObject({ open: count, holes: 0 })
  }, 60_000)
})
