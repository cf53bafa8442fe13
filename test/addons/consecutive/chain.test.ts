/** Chains: each record holds the link of the one before, and nothing stops the till. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { chain } from '../../../src/addons/consecutive/chain.js'
import type { Link } from '../../../src/device/series-store.js'
import { newName, openRaw, requested } from '../../support/idb.js'
import { jq, openssl, unless } from '../../support/programs.js'
import { newShop, type Shop } from '../../support/shop.js'
import { databaseOf, exportOf, idsOf, openTill } from './devices.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(async () => {
  vi.useRealTimers()
  await shop.close()
})

const refusal = (code: string, message: string) =>
  expect.objectContaining({ name: 'HiloError', code, message: expect.stringContaining(message) })

const clock = (time: string) => vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(time) })

const plain = chain<{ total: string }>({
  text: ({ id, kind, content }, previous) => `${kind};${id ?? ''};${content?.total};${previous}`,
})

/** By Node's own crypto, which shares no code with the chain. */
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
/** By a program that shares no code with anything here. */
const byOpenssl = (text: string) =>
  execFileSync(openssl.find()!, ['dgst', '-sha256', '-r'], { input: text }).toString().slice(0, 64)
const leftOut = unless(jq) || unless(openssl)

describe('a chain', () => {
  test('links each record with the one before, also those without a number', async () => {
    const { receipts } = openTill(shop, { series: { chain: plain } })
    const first = await receipts.next({ key: 'a', content: { total: '10.00' } })
    expect(first.hash).toBe(sha256('number;A-000001;10.00;'))
    const second = await receipts.record({
      key: 'void a',
      kind: 'cancellation',
      content: { total: '0' },
    })
    expect(second).toEqual({ at: 2, hash: sha256(`cancellation;;0;${first.hash}`) })
    const third = await receipts.next({ key: 'b', kind: 'invoice', content: { total: '7' } })
    expect(third.hash).toBe(sha256(`invoice;A-000002;7;${second.hash}`))
    expect(await receipts.next({ key: 'a', content: { total: '10.00' } })).toMatchObject(first)
    const again = { key: 'void a', kind: 'cancellation', content: { total: '0' } }
    expect(await receipts.record(again)).toEqual(second)
    expect(await receipts.verify()).toMatchObject({
      chains: [
        { chain: 'register' },
        { chain: 'A', count: 3, last: { chain: 'A', at: 3, hash: third.hash } },
      ],
      broken: [],
    })
  })

  test('has the period of a number in its record, and no field where there is none', async () => {
    const told: object[] = []
    const telling = chain({ text: (record) => `${told.push(record)}` })
    await openTill(shop, { series: { chain: telling } }).receipts.next({ key: 'a' })
    expect(told[0]).toMatchObject({ series: 'A', number: 1 })
    expect(told[0]).not.toHaveProperty('period')
    const [name, period] = [newName(), () => '2027']
    await openTill(shop, { name, series: { chain: telling, period } }).receipts.next({ key: 'a' })
    expect(told.at(-1)).toHaveProperty('period', '2027')
  })

  test('is made by many tabs at once, one record after another', async () => {
    const pages = [0, 1, 2].map(() => openTill(shop, { series: { chain: plain } }).receipts)
    const keys = Array.from({ length: 12 }, (_, i) => `sale ${i}`)
    const made = await Promise.all(
      keys.map((key, i) =>
        i % 4 === 3
          ? pages[i % 3]!.record({ key, kind: 'event', content: { total: key } })
          : pages[i % 3]!.next({ key, content: { total: key } }),
      ),
    )
    expect(new Set(made.map(({ hash }) => hash)).size).toBe(12)
    const { chains, broken } = await pages[0]!.verify()
    expect(broken).toEqual([])
    expect(chains).toMatchObject([{}, { count: 12 }])
  })

  test('takes a number with its key and its link in one strict transaction', async () => {
    const { hilo, receipts } = openTill(shop, { series: { chain: plain } })
    await receipts.next({ key: 'a' })
    hilo.goOffline()
    const begun = vi.spyOn(IDBDatabase.prototype, 'transaction')
    await receipts.next({ key: 'b' })
    const ofSeries = begun.mock.calls.filter(([stores]) => [...stores].includes('links'))
    begun.mockRestore()
    expect(ofSeries).toEqual([
      [['series', 'numbers', 'links', 'entries'], 'readwrite', { durability: 'strict' }],
    ])
  })

  test('goes on after a reload, offline and over a new year', async () => {
    const series = { chain: plain, period: (date: Date) => String(date.getUTCFullYear()) }
    clock('2026-12-31T20:00:00Z')
    const { hash } = await openTill(shop, { series }).receipts.next({ key: 'a' })
    const { hilo, receipts } = openTill(shop, { series })
    hilo.goOffline()
    clock('2027-01-01T08:00:00Z')
    const made = await receipts.next({ key: 'b' })
    expect(made.hash).toBe(sha256(`number;A-2027-000001;undefined;${hash}`))
    expect(made).not.toHaveProperty('flags')
  })

  test('goes on in the next series of the device, if it is the device’s', async () => {
    const ofDevice = chain({ text: ({ id }, previous) => `${id};${previous}`, over: 'device' })
    const { receipts } = openTill(shop, { series: { chain: ofDevice } })
    const { hash } = await receipts.next({ key: 'a' })
    await closeSeries('A')
    await idsOf(receipts, 'b')
    const after = await receipts.next({ key: 'c' })
    expect(after.id).toMatch(/^B-/)
    const { chains, broken } = await receipts.verify()
    expect([chains.length, broken]).toEqual([2, []])
    expect(chains[1]!.last!.hash).toBe(after.hash)
    expect(hash).toBe(sha256('A-000001;'))
  })

  test('flags a clock that goes back, and goes on', async () => {
    clock('2027-01-01T08:00:00Z')
    const { receipts } = openTill(shop, { series: { chain: plain } })
    await receipts.next({ key: 'a' })
    clock('2027-01-01T07:59:00Z')
    expect(await receipts.next({ key: 'b' })).toMatchObject({ number: 2, flags: ['clock'] })
    const [report] = await receipts.report()
    expect(report!.numbers[1]).toMatchObject({ flags: ['clock'] })
    expect((await receipts.verify()).broken).toEqual([])
  })

  test('that was broken is flagged and goes on; verify names each record', async () => {
    const name = newName()
    const { receipts } = openTill(shop, { name, series: { chain: plain } })
    for (const key of ['a', 'b', 'c']) await receipts.next({ key, content: { total: '5' } })
    await rewrite(name, 2, (link) => ({ ...link, content: { total: '1' } }))
    expect(await receipts.verify()).toMatchObject({
      broken: [
        { chain: 'A', at: 2, id: 'A-000002', why: 'text' },
        { chain: 'register', id: 'A-000002', why: 'changed', field: 'record' },
      ],
    })
    await rewrite(name, 2, (link) => ({ ...link, text: link.text.replace('5', '1') }))
    expect(await receipts.verify()).toMatchObject({
      broken: [{ at: 2, why: 'hash' }, { field: 'record' }],
    })
    await rewrite(name, 3, (link) => ({ ...link, text: 'other' }))
    const after = openTill(shop, { name, series: { chain: plain } }).receipts
    const made = await after.next({ key: 'd', content: { total: '5' } })
    expect(made).toMatchObject({ number: 4, flags: ['broken'] })
    await rewrite(name, 4, (link) => ({ ...link, text: 'other' }))
    const refusing = chain({ text: ({ id }) => `${id}`, broken: 'refuse' })
    const strict = openTill(shop, { name, series: { chain: refusing } }).receipts
    await expect(strict.next({ key: 'e' })).rejects.toEqual(refusal('storage-failed', 'record 4'))
    expect((await after.report())[0]!.numbers).toHaveLength(4)
  })

  test.each([
    ['lost', () => undefined, { chain: 'A', at: 2, why: 'missing' }],
    ['changed', (link: Link) => ({ ...link, previous: 'x' }), { at: 2, why: 'previous' }],
  ])('a record that was %s in its middle is named', async (_, changed, named) => {
    const name = newName()
    const { receipts } = openTill(shop, { name, series: { chain: plain } })
    for (const key of ['a', 'b', 'c']) await receipts.next({ key, content: { total: '5' } })
    await rewrite(name, 2, changed)
    expect((await receipts.verify()).broken[0]).toMatchObject(named)
  })

  test('that has lost a record without a number is found by the register', async () => {
    const name = newName()
    const { receipts } = openTill(shop, { name, series: { chain: plain } })
    await receipts.next({ key: 'a' })
    await receipts.record({ key: 'b', kind: 'cancellation' })
    await rewrite(name, 2, () => undefined)
    for (const each of [receipts, openTill(shop, { name }).receipts])
      expect((await each.verify()).broken).toEqual([{ chain: 'A', at: 2, why: 'missing' }])
  })

  test('that has lost its end is found by what its numbers and others know', async () => {
    const name = newName()
    const { receipts } = openTill(shop, { name, series: { chain: plain } })
    for (const key of ['a', 'b', 'c']) await receipts.next({ key, content: { total: '5' } })
    const last = (await receipts.verify()).chains[1]!.last!
    expect(await receipts.verify({ known: last })).toMatchObject({ broken: [] })
    expect(await receipts.verify({ known: { ...last, hash: 'x' } })).toMatchObject({
      broken: [{ at: 3, why: 'known' }],
    })
    const { chain: _, ...withoutChain } = last
    for (const known of [withoutChain, await receipts.verify(), 'x', null] as never[])
      await expect(receipts.verify({ known })).rejects.toEqual(
        refusal('invalid-argument', '`known` is one link: { chain, at, hash }'),
      )
    await rewrite(name, 3, () => undefined)
    expect(await receipts.verify()).toMatchObject({ broken: [{ at: 3, why: 'missing' }] })
    const after = openTill(shop, { name, series: { chain: plain } }).receipts
    expect(await after.next({ key: 'd' })).toMatchObject({ number: 4, flags: ['broken'] })
  })

  test.each([
    ['a record', 'links', (link: object) => ({ ...link, at: 'x' })],
    ['a number', 'numbers', (row: object) => ({ ...row, link: { chain: 'A', at: 'x' } })],
  ] as const)('goes on where %s has a place that is none', async (_, table, changed) => {
    const name = newName()
    const { receipts } = openTill(shop, { name, series: { chain: plain } })
    for (const key of ['a', 'b']) await receipts.next({ key, content: { total: '5' } })
    await rewrite(name, 2, changed, table)
    const after = openTill(shop, { name, series: { chain: plain } }).receipts
    expect(await after.next({ key: 'c' })).toMatchObject({ number: 3, flags: ['broken'] })
    expect((await after.verify()).broken).not.toEqual([])
  })

  test('of numbers that get another id at each call is refused', async () => {
    let calls = 0
    const formatId = (number: number, series: string) => `${series}-${number}-${calls++}`
    const { receipts } = openTill(shop, { series: { chain: plain, formatId } })
    await expect(receipts.next({ key: 'a' })).rejects.toEqual(
      refusal('invalid-argument', 'formatId makes one id of a number; this is A-1-'),
    )
  })

  test('refuses what it cannot make, and makes no number then', async () => {
    const wrong = chain({ text: () => 7 as never })
    const { receipts } = openTill(shop, { series: { chain: wrong } })
    await expect(receipts.next({ key: 'a' })).rejects.toEqual(refusal('invalid-argument', 'text'))
    expect((await receipts.report())[0]!.numbers).toEqual([])
    await expect(receipts.next({ key: 'a', content: 1n })).rejects.toEqual(
      refusal('invalid-argument', 'content'),
    )
    await expect(receipts.next({ key: 'a', content: Promise.resolve(1) })).rejects.toEqual(
      refusal('invalid-argument', 'content is what JSON can write; this is [object Promise]'),
    )
    const without = openTill(shop, { name: newName() }).receipts
    await expect(without.next({ key: 'a', kind: 'cancellation' })).rejects.toEqual(
      refusal('invalid-argument', 'chain'),
    )
    expect(() => openTill(shop, { series: { chain: {} as never } })).toThrow('chain')
    for (const options of [{}, { text: () => '', digest: 'MD5' }, { text: () => '', over: 'all' }])
      expect(() => chain(options as never)).toThrow('No chain was made')
  })

  test('has a record of each number: one that a page without the chain made is named', async () => {
    const name = newName()
    const { receipts } = openTill(shop, { name, series: { chain: plain } })
    await receipts.next({ key: 'a' })
    await openTill(shop, { name }).receipts.next({ key: 'b' })
    const broken = { chain: 'A', at: 2, id: 'A-000002', why: 'missing' }
    expect(await receipts.verify()).toMatchObject({ broken: [broken] })
    await receipts.next({ key: 'c' })
    expect(await receipts.verify()).toMatchObject({ broken: [broken], chains: [{}, { count: 2 }] })
  })
})

describe('an export', () => {
  test.skipIf(leftOut)(`is checked by jq and openssl${leftOut}`, async () => {
    const { receipts } = openTill(shop, { series: { chain: plain, device: 'Till 3' } })
    for (const key of ['a', 'b', 'c']) await receipts.next({ key, content: { total: 'é5' } })
    await receipts.record({ key: 'd', kind: 'event', content: { total: '1' } })
    await receipts.settle('a', 'confirmed')
    await receipts.settle('b', 'cancelled', { reason: 'card declined' })
    const lines = await exportOf(receipts, { head: { issuer: 'Shop Ltd' } })
    const select = (filter: string) =>
      execFileSync(jq.find()!, ['-rj', filter], { input: lines }).toString()
    const rows = select('select(.record == "number" or .record == "record") | tojson, "\\n"')
      .trim()
      .split('\n')
      .map((row) => JSON.parse(row))
    expect(JSON.parse(select('select(.record == "head")'))).toMatchObject({
      issuer: 'Shop Ltd',
      device: 'Till 3',
      rule: { digest: 'SHA-256', encoding: 'hex', initial: '' },
      series: [
        {
          series: 'A',
          first: 'A-000001',
          last: 'A-000003',
          firstAt: rows[0].takenAt,
          lastAt: rows[2].takenAt,
        },
      ],
      count: 4,
    })
    expect(rows.map(({ id, state, reason }) => [id, state, reason])).toEqual([
      ['A-000001', 'confirmed', undefined],
      ['A-000002', 'cancelled', 'card declined'],
      ['A-000003', 'open', undefined],
      [undefined, undefined, undefined],
    ])
    let previous = ''
    for (const row of rows) {
      expect([row.previous, row.hash]).toEqual([previous, byOpenssl(row.text)])
      previous = row.hash
    }
    const [body, end] = [
      lines.trim().split('\n').slice(0, -1),
      JSON.parse(lines.trim().split('\n').at(-1)!),
    ]
    expect(end).toMatchObject({
      totals: { confirmed: 1, cancelled: 1, open: 1, doubtful: 0, holes: 0, heard: 3 },
      outages: [],
      check: { broken: [], chains: [{}, { last: { chain: 'A', at: 4, hash: previous } }] },
      sha256: byOpenssl(`${body.join('\n')}\n`),
    })
  })

  test('says since when the server has not heard, and when it could not', async () => {
    const at = (minute: number) => clock(`2027-03-01T09:0${minute}:00Z`)
    const time = (minute: number) => `2027-03-01T09:0${minute}:00.000Z`
    at(0)
    const { hilo, receipts } = openTill(shop, { series: { chain: plain } })
    await receipts.next({ key: 'a' })
    hilo.goOffline()
    for (const minute of [1, 2]) {
      at(minute)
      await receipts.next({ key: `offline ${minute}` })
    }
    const outage = { first: 'A-000002', last: 'A-000003', firstAt: time(1), lastAt: time(2) }
    const end = async () => JSON.parse((await exportOf(receipts)).trim().split('\n').at(-1)!)
    expect(await end()).toMatchObject({
      totals: { heard: 1, heardUntil: time(0) },
      outages: [outage],
    })
    hilo.goOnline()
    await receipts.next({ key: 'b' })
    expect(await end()).toMatchObject({
      totals: { heard: 4, heardUntil: time(2) },
      outages: [outage],
    })
  })
})

/** Somebody closes a series at the server. */
async function closeSeries(series: string) {
  const body = JSON.stringify({ collection: 'receipts', series, by: 'anna', reason: 'moved' })
  const url = 'https://shop.example.com/databases/default/hilo/series/close'
  const headers = { 'content-type': 'application/json' }
  expect((await fetch(url, { method: 'POST', body, headers })).ok).toBe(true)
}

/** Changes what a device has stored of a record; undefined: nothing is stored any more. */
async function rewrite(
  name: string,
  at: number,
  change: (link: Link) => object | undefined,
  table = 'links',
) {
  const db = await openRaw(databaseOf(name))
  const links = db.transaction(table, 'readwrite').objectStore(table)
  const changed = change(await requested(links.get(['receipts', 'A', at])))
  await (changed ? requested(links.put(changed)) : requested(links.delete(['receipts', 'A', at])))
  db.close()
}

test.each([
  ['UTC', '2026-11-21T12:00:00+00:00'],
  ['Europe/Madrid', '2026-11-21T13:00:00+01:00'],
  ['Asia/Kathmandu', '2026-11-21T17:45:00+05:45'],
  ['America/St_Johns', '2026-11-21T08:30:00-03:30'],
])('a record has the time of its shop, in %s', async (timeZone, text) => {
  clock('2026-11-21T12:00:00.900Z')
  const times: string[] = []
  const timed = chain({ text: ({ time }) => String(times.push(time)) })
  await openTill(shop, { series: { chain: timed, timeZone } }).receipts.next({ key: 'a' })
  expect(new Set(times)).toEqual(new Set([text]))
})
