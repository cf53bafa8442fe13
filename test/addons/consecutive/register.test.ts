/** The register: what happened to each number stays, in order, and no change of it goes unseen. */
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { chain } from '../../../src/addons/consecutive/chain.js'
import { exported } from '../../../src/addons/consecutive/chain-export.js'
import { canonical, sha256 } from '../../../src/addons/consecutive/sha256.js'
import type { Entry, NumberRow } from '../../../src/device/series-store.js'
import { newName, openRaw, requested } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { databaseOf, exportOf, idsOf, openTill } from './devices.js'

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
  store: 'numbers' | 'entries' | 'series',
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

test.each([0, 1, 3, 55, 56, 63, 64, 65, 119, 120, 1000])('a hash of %i characters', (length) => {
  const text = Array.from({ length }, (_, i) => String.fromCodePoint(0x20 + ((i * 37) % 500))).join(
    '',
  )
  expect(sha256(text)).toBe(byNode(text))
})

test('a value is written the same, whatever the order of its keys', () => {
  expect(canonical({ b: [{ d: 1, c: null }], a: 'é' })).toBe('{"a":"é","b":[{"c":null,"d":1}]}')
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

  test('of a record has one content, too', async () => {
    const text = (_: unknown, previous: string) => previous
    const { receipts } = openTill(shop, { series: { chain: chain({ text }) } })
    await receipts.record({ key: 'a', kind: 'event', content: 1 })
    await expect(receipts.record({ key: 'a', kind: 'event', content: 2 })).rejects.toEqual(
      refusal(/record 1 was made for the key "a"/),
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
