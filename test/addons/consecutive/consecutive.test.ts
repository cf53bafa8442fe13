/** Consecutive numbers as an app makes them: over a fake IndexedDB, with the real server. */
import { getEventListeners } from 'node:events'
import { IDBDatabase, IDBFactory, IDBIndex, IDBObjectStore, IDBTransaction } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type Consecutive,
  type ConsecutiveOptions,
  consecutive,
} from '../../../src/addons/consecutive/index.js'
import { HiloError } from '../../../src/core/errors.js'

import { newName } from '../../support/idb.js'
import { FakeLocks } from '../../support/locks.js'
import { codeOf, errorOf, newShop, refusal as refused, type Shop } from '../../support/shop.js'
import {
  copyProfile,
  currentOf,
  expectWhole,
  idsOf,
  inEachStore,
  openTill,
  registry,
} from './devices.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
  // Node 24 has Web Locks, older ones have none: a test that needs them brings its own.
  vi.stubGlobal('navigator', {})
})
afterEach(async () => {
  vi.restoreAllMocks()
  await shop.close()
})

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** The server's answer to the next check-in. */
/** As the ledger of the shop says it. */
const answering = async (body: object) =>
  Response.json({ ...body, ledger: await shop.ledger.readName() })

function answerOnce(body: object): void {
  shop.answer = ({ url }) => {
    if (!/checkin$/.test(url)) return undefined
    shop.answer = undefined
    return answering(body)
  }
}

const refusal = (code: string, message: string) =>
  expect.objectContaining({ name: 'HiloError', code, message: expect.stringContaining(message) })

inEachStore(() => {
  describe('a series', () => {
    test('counts from 1 without a hole, online and offline; each device has its own', async () => {
      const { hilo, receipts } = openTill(shop)
      expect(await idsOf(receipts, 'a', 'b')).toEqual(['A-000001', 'A-000002'])
      hilo.goOffline()
      expect(await receipts.next({ key: 'c' })).toEqual({ id: 'A-000003', number: 3, heard: false })
      const other = openTill(shop, { name: newName() })
      expect(await idsOf(other.receipts, 'a')).toEqual(['B-000001'])
    })

    test('goes on in the next page, and in several at once', async () => {
      const pages = [openTill(shop), openTill(shop), openTill(shop)]
      const keys = Array.from({ length: 30 }, (_, i) => `sale ${i}`)
      const made = await Promise.all(keys.map((key, i) => pages[i % 3]!.receipts.next({ key })))
      expect(made.map(({ number }) => number).sort((a, b) => a - b)).toEqual(
        keys.map((_, i) => i + 1),
      )
      expect(await registry()).toHaveLength(1)
      const { receipts } = openTill(shop)
      expect(await idsOf(receipts, 'next', 'sale 0')).toEqual(['A-000031', made[0]!.id])
      expectWhole(await receipts.report())
    })

    test('is asked by many calls at once, which share one listener and leave none', async () => {
      const warned = vi.fn()
      process.on('warning', warned)
      onTestFinished(() => void process.off('warning', warned))
      const { receipts } = openTill(shop)
      const { signal } = new AbortController()
      const keys = Array.from({ length: 30 }, (_, i) => `sale ${i}`)
      await Promise.all(keys.map((key) => receipts.next({ key, signal })))
      expect(getEventListeners(signal, 'abort')).toEqual([])
      expect(warned).not.toHaveBeenCalled()
    })

    test('belongs to one collection of one database', async () => {
      const { hilo, receipts } = openTill(shop)
      await idsOf(receipts, 'a', 'b')
      const bills = consecutive(hilo, 'bills')
      const elsewhere = openTill(shop, { database: 'Other' }).receipts
      expect(await idsOf(bills, 'a')).toEqual(['A-000001'])
      expect(await idsOf(elsewhere, 'a')).toEqual(['A-000001'])
      expect((await bills.report())[0]!.numbers).toHaveLength(1)
      expect((await bills.report())[0]).not.toHaveProperty('ranges')
    })

    test('has the form that the app wants, which stays with a number', async () => {
      const formatId = (number: number, series: string) => `2026/${series}/${number}`
      const { receipts } = openTill(shop, { series: { formatId } })
      expect(await idsOf(receipts, 'a')).toEqual(['2026/A/1'])
      expect(await idsOf(openTill(shop).receipts, 'a', 'b')).toEqual(['2026/A/1', 'A-000002'])
    })

    test('is asked for again while a number is not made: a key has its own already', async () => {
      const formatId = vi.fn((number: number) => `${number}, asked ${formatId.mock.calls.length}`)
      const { receipts } = openTill(shop, { series: { formatId } })
      formatId.mockClear()
      expect(await idsOf(receipts, 'a', 'a', 'b', 'b')).toEqual([
        '1, asked 1',
        '1, asked 1',
        '2, asked 3',
        '2, asked 3',
      ])
    })

    test.each<[string, () => unknown, string]>([
      [
        'throws',
        () => {
          throw new Error('no form')
        },
        'formatId failed: no form',
      ],
      [
        'makes nothing',
        () => undefined,
        'what formatId makes of 2 of A is a text that is not empty',
      ],
      ['makes an empty text', () => '', 'this is empty'],
      ['makes a number', (...args: unknown[]) => args[0], 'this is 2'],
      ['makes a promise', async () => 'A-000002', 'this is [object Promise]'],
    ])('takes no number when its form %s', async (_, formatId, message) => {
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a')
      const other = openTill(shop, { series: { formatId: formatId as () => string } }).receipts
      const wrong = refusal('invalid-argument', message)
      await expect(other.next({ key: 'b' })).rejects.toEqual(wrong)
      expect(await idsOf(receipts, 'c')).toEqual(['A-000002'])
    })

    test('says in which letter it goes on, how far it is, what the server knows', async () => {
      const { hilo, receipts } = openTill(shop)
      expect(await currentOf(receipts)).toBeUndefined()
      await idsOf(receipts, 'a', 'b')
      const current = () => currentOf(receipts)
      await expect.poll(current).toEqual({ series: 'A', last: 2, made: 2, heard: 2 })
      hilo.goOffline()
      await idsOf(receipts, 'c')
      expect(await current()).toEqual({ series: 'A', last: 3, made: 3, heard: 2 })
    })

    test('tells the server how far it has come, under the name of its device', async () => {
      const { receipts } = openTill(shop, { series: { device: 'Till 3' } })
      await idsOf(receipts, 'a', 'b')
      await expect.poll(registry).toMatchObject([{ series: 'A', device: 'Till 3', last: 2 }])
    })
  })

  test('an option with a wrong name is refused, with the nearest one', () => {
    const series = { formatID: 1 } as ConsecutiveOptions
    expect(() => openTill(shop, { series })).toThrow(
      'no `options.formatID`. Did you mean `formatId`?',
    )
  })

  test.each<[string, (of: Consecutive, options: never) => unknown, object, string]>([
    ['next', (of, options) => of.next(options), { key: 'b', sginal: 1 }, '`signal`'],
    ['next', (of, options) => of.next(options), { kye: 'b' }, '`key`'],
    [
      'next',
      (of, options) => of.next(options),
      { key: 'b', timeout: 5 },
      'Known: key, date, by, signal',
    ],
    ['next', (of, options) => of.next(options), AbortSignal.abort(), 'a plain object'],
    ['next', (of, options) => of.next(options), { key: 'b', signal: { aborted: false } }, 'signal'],
    ['record', (of, options) => of.record(options), { key: 'b', kindd: 'x' }, '`kind`'],
    ['verify', (of, options) => of.verify(options), { knwon: {} }, '`known`'],
    ['settle', (of, options) => of.settle('a', 'confirmed', options), { b: 'bert' }, '`by`'],
    ['settle', (of, options) => of.settle('a', 'cancelled', options), { By: 'bert' }, '`by`'],
    ['settle', (of, options) => of.settle('a', 'voided', options), { raeson: 'x' }, '`reason`'],
    [
      'settle',
      (of, options) => of.settle('a', 'confirmed', options),
      '' as never,
      'a plain object',
    ],
    ['unfinished', (of, options) => of.unfinished(options), { al: true }, '`all`'],
    ['unfinished', (of, options) => of.unfinished(options), { all: 'yes' }, 'all is true or false'],
    ['unfinished', (of, options) => of.unfinished(options), [], 'a plain object'],
    ['report', (of, options) => of.report(options), { numbers: 'no' }, 'numbers is true or false'],
  ])('%s refuses a wrong option: %#', async (_, call, options, message) => {
    const { receipts } = openTill(shop)
    await idsOf(receipts, 'a')
    const calling = Promise.resolve().then(() => call(receipts, options as never))
    await expect(calling).rejects.toEqual(refusal('invalid-argument', message))
    expect(await receipts.unfinished({ all: true })).toMatchObject([{ key: 'a' }])
    expect((await receipts.report())[0]!.numbers).toHaveLength(1)
  })

  describe('a key', () => {
    test('gets the same number again, whatever became of it but a cancelled receipt', async () => {
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a', 'b')
      await receipts.settle('a', 'confirmed')
      expect(await idsOf(receipts, 'a', 'b', 'a')).toEqual(['A-000001', 'A-000002', 'A-000001'])
      await receipts.settle('b', 'cancelled', { reason: 'card declined' })
      await expect(receipts.next({ key: 'b' })).rejects.toEqual(
        refusal(
          'invalid-argument',
          'A-000002 was made for the key "b" and cancelled: card declined',
        ),
      )
    })

    test.each([
      ['nothing', undefined, 'a key is a text that is not empty; this is undefined'],
      ['an empty text', '', 'a key is a text that is not empty; this is empty'],
      ['a number', 7, 'a key is a text that is not empty; this is 7'],
      ['257 bytes', 'é'.repeat(129), 'a key has at most 256 bytes of UTF-8; this is a text of 258'],
    ])('cannot be %s', async (_, key, message) => {
      const { receipts } = openTill(shop)
      const wrong = refusal('invalid-argument', message)
      await expect(receipts.next({ key: key as string })).rejects.toEqual(wrong)
      await expect(receipts.settle(key as string, 'confirmed')).rejects.toEqual(wrong)
      expect(await idsOf(receipts, 'é'.repeat(128))).toEqual(['A-000001'])
    })

    test.each([
      [undefined, 'a key is a text that is not empty'],
      [null, 'a key is a text that is not empty'],
      ['sale 7', 'a plain object, as in { key }; this is "sale 7"'],
    ])('is not given by %j', async (options, message) => {
      const wrong = refusal('invalid-argument', message)
      await expect(openTill(shop).receipts.next(options as never)).rejects.toEqual(wrong)
    })
  })

  describe('a number', () => {
    test('is open until it is confirmed or cancelled, and says so also after a crash', async () => {
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a', 'b', 'c', 'd')
      await receipts.settle('a', 'confirmed')
      await receipts.settle('c', 'cancelled', { reason: 'card declined' })
      const after = openTill(shop).receipts
      expect(await after.unfinished()).toEqual([
        { id: 'A-000002', number: 2, key: 'b' },
        { id: 'A-000004', number: 4, key: 'd' },
      ])
      const [report] = await after.report()
      expect(report!.numbers.map(({ state, reason }) => [state, reason])).toEqual([
        ['confirmed', undefined],
        ['open', undefined],
        ['cancelled', 'card declined'],
        ['open', undefined],
      ])
    })

    test('is settled once: to repeat it changes nothing, to turn it round is refused', async () => {
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a', 'b')
      await receipts.settle('a', 'confirmed')
      await receipts.settle('b', 'cancelled', { reason: 'card declined' })
      const report = await receipts.report()
      await receipts.settle('a', 'confirmed')
      await receipts.settle('b', 'cancelled', { reason: 'another reason' })
      await expect(receipts.settle('a', 'cancelled', { reason: 'returned' })).rejects.toEqual(
        refusal('invalid-argument', 'A-000001 was confirmed'),
      )
      await expect(receipts.settle('b', 'confirmed')).rejects.toEqual(
        refusal('invalid-argument', 'A-000002 was cancelled (card declined)'),
      )
      await expect(receipts.settle('never taken', 'confirmed')).rejects.toEqual(
        refusal('invalid-argument', 'No number was made for the key "never taken"'),
      )
      const whole = ({ heard: _, ...rest }: object & { heard?: number }) => rest
      expect((await receipts.report()).map(whole)).toEqual(report.map(whole))
    })

    test('says what became of it later, when, and by whom', async () => {
      const { receipts } = openTill(shop)
      const { number } = await receipts.next({ key: 'a' })
      await idsOf(receipts, 'b')
      await expect(receipts.settle('a', 'voided', { reason: 'returned' })).rejects.toEqual(
        refusal('invalid-argument', 'A-000001 is open, so no receipt has it yet'),
      )
      await receipts.settle('a', 'confirmed', { by: 'anna' })
      await receipts.settle('a', 'voided', { reason: 'returned', by: 'bert' })
      await receipts.settle('a', 'voided', { reason: 'again' })
      await receipts.settle('b', 'refused', { reason: 'wrong tax number' })
      for (const act of [
        receipts.settle('a', 'confirmed'),
        receipts.settle('a', 'refused', { reason: 'late' }),
      ])
        await expect(act).rejects.toEqual(refusal('invalid-argument', 'was voided (returned)'))
      const [series] = await receipts.report()
      const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      const times = { takenAt: time, settledAt: time }
      expect(series!.numbers).toMatchObject([
        { key: 'a', state: 'voided', reason: 'returned', by: 'bert', ...times },
        { key: 'b', state: 'refused', reason: 'wrong tax number', ...times },
      ])
      expect(await receipts.next({ key: 'a' })).toMatchObject({ number })
    })

    test.each([
      [
        'a state that is none',
        (of: Consecutive) => of.settle('a', 'lost' as never, { reason: 'x' }),
        'voided',
      ],
      ['nobody', (of: Consecutive) => of.settle('a', 'confirmed', { by: '' }), '`by` is a text'],
      [
        'a wrong option',
        (of: Consecutive) => of.settle('a', 'confirmed', { who: 'x' } as never),
        'who',
      ],
    ])('is not settled with %s', async (_, act, message) => {
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a')
      await expect(act(receipts)).rejects.toEqual(refusal('invalid-argument', message))
      expect(await receipts.unfinished()).toHaveLength(1)
    })

    test.each([
      ['no text', '', 'a reason is a text that is not empty'],
      ['too long', 'a'.repeat(1025), 'a reason has at most 1024 bytes of UTF-8'],
    ])('is not cancelled with a reason that is %s', async (_, reason, message) => {
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a')
      await expect(receipts.settle('a', 'cancelled', { reason: reason })).rejects.toEqual(
        refusal('invalid-argument', message),
      )
      expect(await receipts.unfinished()).toHaveLength(1)
    })
  })

  describe('without a series', () => {
    test('offline nothing is made, and the message says what is needed', async () => {
      const { hilo, receipts } = openTill(shop)
      hilo.goOffline()
      const needed = refusal('server-unreachable', "a series of 'receipts' needs the server once")
      await expect(receipts.next({ key: 'a' })).rejects.toEqual(needed)
      hilo.goOnline()
      shop.isDown = true
      await expect(receipts.next({ key: 'a' })).rejects.toEqual(needed)
      expect(await receipts.report()).toEqual([])
      shop.isDown = false
      expect(await idsOf(receipts, 'a')).toEqual(['A-000001'])
    })

    test('a claim whose answer was lost is repeated, and gives one letter', async () => {
      const { receipts } = openTill(shop)
      const handle = globalThis.fetch
      vi.stubGlobal('fetch', async (...args: Parameters<typeof fetch>) => {
        await handle(...args)
        throw new TypeError('the answer was lost')
      })
      await expect(receipts.next({ key: 'a' })).rejects.toThrow('needs the server')
      vi.stubGlobal('fetch', handle)
      expect(await idsOf(receipts, 'a')).toEqual(['A-000001'])
      expect(await registry()).toHaveLength(1)
    })

    test('a claim that a copy of the device has used is followed by another one', async () => {
      const [name, copy] = [newName(), newName()]
      const { hilo, receipts } = openTill(shop, { name })
      shop.answer = ({ url }) =>
        /series$/.test(url) ? new Response('', { status: 503 }) : undefined
      await expect(receipts.next({ key: 'a' })).rejects.toThrow('needs the server')
      shop.answer = undefined
      await copyProfile(name, copy)
      expect(await idsOf(receipts, 'a', 'b')).toEqual(['A-000001', 'A-000002'])
      await expect.poll(registry).toMatchObject([{ last: 2 }])
      await hilo.close()
      expect(await idsOf(openTill(shop, { name: copy }).receipts, 'a')).toEqual(['B-000001'])
    })

    test('two copies that begin with one claim at once make no number twice', async () => {
      const [name, copy] = [newName(), newName()]
      const { receipts } = openTill(shop, { name })
      shop.isDown = true
      await expect(receipts.next({ key: 'a' })).rejects.toThrow('needs the server')
      shop.isDown = false
      await copyProfile(name, copy)
      const copied = openTill(shop, { name: copy }).receipts
      const made = await Promise.all([idsOf(receipts, 'a'), idsOf(copied, 'b')])
      expect(new Set(made.flat()).size).toBe(2)
    })

    test.each([
      [403, 'server-refused', 'answered 403'],
      [503, 'server-unreachable', 'answered 503'],
    ])('a server that answers %i gives none', async (status, code, message) => {
      const { receipts } = openTill(shop)
      shop.answer = () => refused(status)
      await expect(receipts.next({ key: 'a' })).rejects.toEqual(refusal(code, message))
    })

    test('the sign-in page of a network is no HiLo server, for a series as for ids', async () => {
      const { hilo, receipts } = openTill(shop)
      shop.answer = () => new Response('<!doctype html><title>Sign in</title>')
      for (const call of [() => hilo.nextId('orders'), () => receipts.next({ key: 'a' })]) {
        const error = await errorOf(call())
        expect(error.code).toBe('no-hilo-server')
        expect(HiloError.isOutOfIds(error)).toBe(true)
      }
    })

    test.each([['<!doctype html><title>Sign in</title>'], ['{"login":"https://hotel.example/"}']])(
      'what a portal answers is no answer: %s',
      async (body) => {
        const { receipts } = openTill(shop)
        shop.answer = () => new Response(body)
        const error = await receipts.next({ key: 'a' }).catch((thrown) => thrown)
        expect(error).toEqual(refusal('no-hilo-server', 'Check `url`, that the server runs'))
      },
    )

    test('that was refused, corrected and sent again is confirmed then', async () => {
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a')
      await receipts.settle('a', 'refused', { reason: 'wrong tax number', ref: 'answer 1' })
      await receipts.settle('a', 'confirmed', { by: 'anna' })
      const [series] = await receipts.report()
      expect(series!.numbers).toMatchObject([{ key: 'a', state: 'confirmed', by: 'anna' }])
      expect(series!.numbers[0]).not.toHaveProperty('reason')
      expect(series!.numbers[0]).not.toHaveProperty('ref')
    })

    test.each([
      ['{"series":"b","token":"x","ledger":"k"}'],
      ['{"series":"B","ledger":"k"}'],
      ['{"series":["B"],"token":"x","ledger":"k"}'],
      ['{"series":"B","token":"x"}'],
      ['{"series":"B","token":"x","ledger":"k","after":{"last":6}}'],
      ['{"series":"B","token":"x","ledger":"k","after":{"last":6,"periods":[]}}'],
      ['{"series":"B","token":"x","ledger":"k","after":{"periods":[{"period":"","last":6}]}}'],
      ['{"series":"B","token":"x","ledger":"k","after":{"last":6,"periods":[{"last":6}]}}'],
      ['{"series":"B","token":"x","ledger":"k","after":{"last":6,"periods":[{"period":""}]}}'],
    ])('an answer that is none is refused: %s', async (body) => {
      const { receipts } = openTill(shop)
      shop.answer = () => new Response(body)
      await expect(receipts.next({ key: 'a' })).rejects.toEqual(
        refusal('invalid-response', 'says nothing of a series'),
      )
    })
  })

  describe('a series ends', () => {
    test('when the storage is lost: another letter', async () => {
      const { receipts } = openTill(shop, { name: newName(), series: { device: 'Till 3' } })
      await idsOf(receipts, 'a', 'b')
      await expect.poll(registry).toMatchObject([{ last: 2 }])
      const after = openTill(shop, { name: newName(), series: { device: 'Till 3' } })
      expect(await idsOf(after.receipts, 'c')).toEqual(['B-000001'])
      expect(await after.receipts.report()).toMatchObject([{ series: 'B' }])
    })

    test('when it is a copy: found before its next number online, and told', async () => {
      const [name, copy] = [newName(), newName()]
      const original = openTill(shop, { name })
      await idsOf(original.receipts, 'a', 'b')
      await expect.poll(() => original.receipts.report()).toMatchObject([{ heard: 2 }])
      original.hilo.goOffline()
      await copyProfile(name, copy)
      const copied = openTill(shop, { name: copy })
      const forks: unknown[] = []
      copied.hilo.addEventListener('fork', ({ detail }) => forks.push(detail))
      copied.hilo.goOffline()
      expect(await idsOf(copied.receipts, 'c', 'd')).toEqual(['A-000003', 'A-000004'])
      original.hilo.goOnline()
      expect(await idsOf(original.receipts, 'x')).toEqual(['A-000003'])
      await expect.poll(registry).toMatchObject([{ last: 3 }])
      copied.hilo.goOnline()
      expect(await idsOf(copied.receipts, 'e', 'c')).toEqual(['B-000001', 'A-000003'])
      expect(forks).toEqual([{ collection: 'receipts' }])
      const [first, second] = await copied.receipts.report()
      expect(first).toMatchObject({
        series: 'A',
        ended: { kind: 'copied', heard: 3, doubtful: { from: 3, to: 4 } },
      })
      expect(first!.numbers.map(({ isDoubtful }) => isDoubtful ?? false)).toEqual([
        false,
        false,
        true,
        true,
      ])
      expect(second).toMatchObject({ series: 'B', numbers: [{ key: 'e' }] })
      expect(await registry()).toMatchObject([
        { series: 'A', doubtful: { from: 3, to: 4 } },
        { series: 'B' },
      ])
      expect(await idsOf(original.receipts, 'y')).toEqual(['A-000004'])
    })

    test('not because an answer to a check-in was lost: it is sent again by its id', async () => {
      const { hilo, receipts } = openTill(shop)
      await idsOf(receipts, 'a')
      await expect.poll(() => receipts.report()).toMatchObject([{ heard: 1 }])
      const handle = globalThis.fetch
      vi.stubGlobal('fetch', async (...args: Parameters<typeof fetch>) => {
        await handle(...args)
        throw new TypeError('the answer was lost')
      })
      hilo.goOffline()
      hilo.goOnline()
      expect(await idsOf(receipts, 'b')).toEqual(['A-000002'])
      vi.stubGlobal('fetch', handle)
      expect(await idsOf(openTill(shop).receipts, 'c')).toEqual(['A-000003'])
      expect(await registry()).toHaveLength(1)
    })

    test('when somebody has closed it at the server', async () => {
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a')
      await expect.poll(registry).toMatchObject([{ last: 1 }])
      const closed = { at: '2026-11-22T08:00:00.000Z', by: 'anna', reason: 'the till was stolen' }
      answerOnce({ token: 'newest', closed })
      const after = openTill(shop).receipts
      expect(await idsOf(after, 'b')).toEqual(['B-000001'])
      const [first] = await after.report()
      expect(first).toMatchObject({ series: 'A', ended: { kind: 'closed', ...closed } })
    })

    test('when the server does not know it any more: a later letter follows', async () => {
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a')
      await expect.poll(registry).toMatchObject([{ last: 1 }])
      answerOnce({ unknown: true })
      expect(await idsOf(openTill(shop).receipts, 'b')).toEqual(['B-000001'])
      const claims = shop.requests.filter(({ action }) => action === 'series')
      expect(claims.at(-1)!.body).toMatchObject({ ended: { series: 'A', from: 1, to: 0 } })
    })
  })

  describe('a server', () => {
    test('that calls each claim used is asked by two, not for ever', async () => {
      const { receipts } = openTill(shop)
      shop.answer = () => refused(410)
      await expect(receipts.next({ key: 'a' })).rejects.toEqual(
        refusal('server-refused', 'needs the server once'),
      )
      const claims = shop.requests.filter(({ action }) => action === 'series')
      expect(new Set(claims.map(({ body }) => body.claim)).size).toBe(2)
    })

    test('that ends each series is asked for three, not for ever', async () => {
      const { receipts } = openTill(shop)
      shop.answer = ({ url }) => (/checkin$/.test(url) ? answering({ unknown: true }) : undefined)
      await expect(receipts.next({ key: 'a' })).rejects.toEqual(
        refusal('invalid-response', "gives series of 'receipts' and ends each"),
      )
      expect(await registry()).toHaveLength(3)
    })

    test('that refuses the device stops its numbers, until it accepts it again', async () => {
      const { hilo, receipts } = openTill(shop)
      await idsOf(receipts, 'a')
      const body = { Url: '/', Type: 'Unauthorized', Message: 'The token is gone.', Error: 'Gone.' }
      shop.answer = () => Response.json(body, { status: 403 })
      const refused = refusal('server-refused', 'the server refuses this device')
      await expect(receipts.next({ key: 'b' })).rejects.toEqual(refused)
      hilo.goOffline()
      await expect(receipts.next({ key: 'b' })).rejects.toEqual(refused)
      await expect(openTill(shop).receipts.next({ key: 'c' })).rejects.toEqual(refused)
      expect(await idsOf(receipts, 'a')).toEqual(['A-000001'])
      shop.answer = undefined
      hilo.goOnline()
      expect(await receipts.next({ key: 'b' })).toEqual({ id: 'A-000002', number: 2, heard: true })
      expectWhole(await receipts.report())
    })

    test('that does not answer holds up one number, and no other until it answers', async () => {
      const { receipts } = openTill(shop, { series: { wait: 20 } })
      await receipts.prepare()
      await idsOf(receipts, 'a')
      const handle = globalThis.fetch
      const answers: (() => void)[] = []
      vi.stubGlobal('fetch', async (...args: Parameters<typeof fetch>) => {
        await new Promise<void>((resolve) => answers.push(resolve))
        return handle(...args)
      })
      expect(await receipts.next({ key: 'b' })).toMatchObject({ number: 2, heard: false })
      const late = vi.spyOn(globalThis, 'setTimeout')
      expect(await receipts.next({ key: 'c' })).toMatchObject({ number: 3, heard: false })
      late.mockRestore()
      vi.stubGlobal('fetch', handle)
      for (const answer of answers) answer()
      await expect.poll(() => currentOf(receipts)).toMatchObject({ heard: 3 })
      expect(await receipts.next({ key: 'd' })).toMatchObject({ number: 4, heard: true })
      const [report] = await receipts.report()
      expect(report!.numbers.map(({ heard }) => heard)).toEqual([
        undefined,
        false,
        false,
        undefined,
      ])
    })

    test('that comes back is asked before the next number, where nothing tells of it', async () => {
      const { receipts } = openTill(shop)
      expect(await receipts.next({ key: 'a' })).toMatchObject({ heard: true })
      shop.isDown = true
      expect(await receipts.next({ key: 'b' })).toMatchObject({ heard: false })
      expect(await receipts.next({ key: 'c' })).toMatchObject({ heard: false })
      shop.isDown = false
      expect(await receipts.next({ key: 'd' })).toMatchObject({ id: 'A-000004', heard: true })
      expect(await registry()).toMatchObject([{ last: 4 }])
    })

    test('that comes back is not asked at once where the browser tells of it', async () => {
      vi.stubGlobal('navigator', { onLine: true })
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a')
      shop.isDown = true
      expect(await receipts.next({ key: 'b' })).toMatchObject({ heard: false })
      shop.isDown = false
      expect(await receipts.next({ key: 'c' })).toMatchObject({ heard: false })
    })

    test('that gives the series later than a call waits leaves that call a number', async () => {
      const send = fetch
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      vi.stubGlobal('fetch', async (url: string, init?: RequestInit) => {
        await vi.advanceTimersByTimeAsync(2_000)
        return send(url, init)
      })
      const { receipts } = openTill(shop, { series: { wait: 1_000 } })
      const { number, heard } = await receipts.next({ key: 'sale 1' })
      vi.useRealTimers()
      expect([number, heard]).toEqual([1, false])
    })

    test('whose old answers are repeated gives no series to two, and hears nothing', async () => {
      const handle = globalThis.fetch
      const kept = new Map<string, string>()
      let isRepeated = false
      vi.stubGlobal('fetch', async (url: string, init?: RequestInit) => {
        const { pathname } = new URL(url)
        if (isRepeated && kept.has(pathname)) return new Response(kept.get(pathname))
        const answer = await handle(url, init)
        kept.set(pathname, await answer.clone().text())
        return answer
      })
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a', 'b')
      isRepeated = true
      expect(await receipts.next({ key: 'c' })).toMatchObject({ number: 3, heard: false })
      const other = openTill(shop, { name: newName() }).receipts
      await expect(other.next({ key: 'a' })).rejects.toEqual(
        refusal('no-hilo-server', 'it answers another request'),
      )
      isRepeated = false
      expect(await receipts.next({ key: 'd' })).toMatchObject({ number: 4, heard: true })
      expect(await idsOf(other, 'a')).toEqual(['B-000001'])
    })

    test('permits with an answer the numbers that its question named, no later ones', async () => {
      const { receipts } = openTill(shop, { series: { wait: 1_000 } })
      await idsOf(receipts, 'a')
      const handle = globalThis.fetch
      const asked: unknown[] = []
      vi.stubGlobal('fetch', (...args: Parameters<typeof fetch>) => {
        asked.push(JSON.parse(String(args[1]?.body)))
        return asked.length === 1 ? handle(...args) : new Promise(() => {})
      })
      const made = await Promise.all(['b', 'c'].map((key) => receipts.next({ key })))
      expect(asked).toMatchObject([{ last: 2 }, { last: 3 }])
      expect(made).toMatchObject([
        { number: 2, heard: true },
        { number: 3, heard: false },
      ])
    })

    test('hears of a number later where the app wants that, and is not waited for', async () => {
      const { receipts } = openTill(shop, { series: { wait: 0 } })
      expect(await receipts.next({ key: 'a' })).toMatchObject({ number: 1, heard: false })
      await expect.poll(registry).toMatchObject([{ last: 1 }])
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      expect(await receipts.next({ key: 'b' })).toMatchObject({ number: 2, heard: false })
      vi.useRealTimers()
    })

    test('is asked although the browser says that it is offline', async () => {
      vi.stubGlobal('navigator', { onLine: false })
      const { receipts } = openTill(shop)
      expect(await receipts.next({ key: 'a' })).toMatchObject({ number: 1, heard: true })
    })

    test('hears of a number once: one request each, one connection for all', async () => {
      const { hilo, receipts } = openTill(shop)
      await idsOf(receipts, 'a')
      const opened = vi.spyOn(IDBFactory.prototype, 'open')
      const before = shop.requests.length
      for (let i = 0; i < 100; i++) consecutive(hilo, 'receipts')
      await idsOf(consecutive(hilo, 'receipts'), 'b')
      expect(shop.requests.slice(before).map(({ action }) => action)).toEqual(['checkin'])
      expect(opened).not.toHaveBeenCalled()
    })

    test('that is late does not hold up a call that its signal ends', async () => {
      const { receipts } = openTill(shop)
      await idsOf(receipts, 'a')
      const handle = globalThis.fetch
      const ending = new AbortController()
      vi.stubGlobal('fetch', (...args: Parameters<typeof fetch>) => {
        ending.abort()
        return new Promise(() => args)
      })
      await expect(receipts.next({ key: 'b', signal: ending.signal })).rejects.toEqual(
        refusal('aborted', 'the key has it: ask again with the same key'),
      )
      vi.stubGlobal('fetch', handle)
      expect(await idsOf(openTill(shop).receipts, 'b')).toEqual(['A-000002'])
    })
  })
})

describe('a page that lives', () => {
  let locks: FakeLocks

  beforeEach(() => {
    locks = new FakeLocks()
    vi.stubGlobal('navigator', { locks })
  })

  const keysOf = async (receipts: Consecutive, options?: { all?: boolean }) =>
    (await receipts.unfinished(options)).map(({ key, isLiving = false }) => [key, isLiving])

  test('keeps its sale to itself: another tab does not find it, until the page ends', async () => {
    const [first, second] = [openTill(shop), openTill(shop)]
    await idsOf(first.receipts, 'a', 'b')
    await first.receipts.settle('b', 'confirmed')
    expect(await keysOf(second.receipts)).toEqual([])
    expect(await keysOf(first.receipts)).toEqual([])
    expect(await keysOf(second.receipts, { all: true })).toEqual([['a', true]])
    await first.hilo.close()
    expect(await keysOf(second.receipts)).toEqual([['a', false]])
  })

  test('holds a lock only while a number is open', async () => {
    const { receipts } = openTill(shop)
    expect(locks.names).toEqual([])
    await idsOf(receipts, 'a', 'b')
    expect(locks.names).toHaveLength(1)
    await receipts.settle('a', 'confirmed')
    expect(locks.names).toHaveLength(1)
    await receipts.settle('b', 'cancelled', { reason: 'card declined' })
    expect(locks.names).toEqual([])
  })

  test('holds none for a key that has no open number', async () => {
    const { receipts } = openTill(shop)
    shop.isDown = true
    await expect(receipts.next({ key: 'a' })).rejects.toThrow('needs the server')
    shop.isDown = false
    await idsOf(receipts, 'a')
    await receipts.settle('a', 'confirmed')
    await idsOf(receipts, 'a')
    expect(locks.names).toEqual([])
  })

  test('takes a sale over by its key', async () => {
    const [first, second] = [openTill(shop), openTill(shop)]
    await idsOf(first.receipts, 'a')
    await idsOf(second.receipts, 'a')
    await first.hilo.close()
    expect(await keysOf(openTill(shop).receipts)).toEqual([])
    await second.hilo.close()
    expect(await keysOf(openTill(shop).receipts)).toEqual([['a', false]])
  })

  test('that leaves holds no lock, and holds it again when it comes back', async () => {
    const window = new EventTarget()
    vi.stubGlobal('addEventListener', window.addEventListener.bind(window))
    const [first, second] = [openTill(shop), openTill(shop)]
    await idsOf(first.receipts, 'a')
    window.dispatchEvent(new Event('pagehide'))
    expect(await keysOf(second.receipts)).toEqual([['a', false]])
    window.dispatchEvent(new Event('pageshow'))
    expect(await keysOf(second.receipts)).toEqual([])
  })

  test('hands its number out itself: who lists it changes nothing', async () => {
    const [first, second] = [openTill(shop), openTill(shop)]
    await idsOf(first.receipts, 'a')
    const answered = deferred()
    const handle = globalThis.fetch
    vi.stubGlobal('fetch', async (...args: Parameters<typeof fetch>) => {
      await answered.promise
      return handle(...args)
    })
    const taking = first.receipts.next({ key: 'b' })
    await expect.poll(async () => (await second.receipts.report())[0]!.numbers.length).toBe(2)
    expect(await keysOf(second.receipts, { all: true })).toEqual([['a', true]])
    answered.resolve()
    expect(await taking).toMatchObject({ id: 'A-000002', heard: true })
  })

  test('leaves a number that it did not hand out: who lists it hands that one out', async () => {
    const [living, leaving, last] = [openTill(shop), openTill(shop), openTill(shop)]
    await idsOf(living.receipts, 'a')
    vi.stubGlobal('fetch', () => new Promise(() => {}))
    const taken = [living, leaving].map((till, i) => codeOf(till.receipts.next({ key: 'bc'[i]! })))
    await expect.poll(async () => (await last.receipts.report())[0]!.numbers.length).toBe(3)
    await leaving.hilo.close()
    expect(await keysOf(last.receipts)).toEqual([['c', false]])
    expect(await keysOf(last.receipts, { all: true })).toEqual([
      ['a', true],
      ['c', false],
    ])
    expect(await last.receipts.next({ key: 'c' })).toMatchObject({ id: 'A-000003', heard: false })
    await living.hilo.close()
    expect(await Promise.all(taken)).toEqual(['closed', 'closed'])
  })

  test('cannot be told where the browser refuses locks: its numbers are listed', async () => {
    const refuse = () => Promise.reject(new DOMException('No.', 'InvalidStateError'))
    vi.stubGlobal('navigator', { locks: { request: refuse, query: refuse } })
    const { receipts } = openTill(shop)
    await idsOf(receipts, 'a')
    expect(await keysOf(receipts)).toEqual([['a', false]])
  })
})

describe('the storage', () => {
  test('takes a number and its key in one strict transaction: one read, three writes', async () => {
    const { hilo, receipts } = openTill(shop)
    await idsOf(receipts, 'a')
    await expect.poll(registry).toMatchObject([{ last: 1 }])
    await expect.poll(() => receipts.report()).toMatchObject([{ heard: 1 }])
    hilo.goOffline()
    const begun = vi.spyOn(IDBDatabase.prototype, 'transaction')
    const read = [
      vi.spyOn(IDBObjectStore.prototype, 'get'),
      vi.spyOn(IDBObjectStore.prototype, 'openKeyCursor'),
      vi.spyOn(IDBIndex.prototype, 'get'),
    ]
    const written = [
      vi.spyOn(IDBObjectStore.prototype, 'add'),
      vi.spyOn(IDBObjectStore.prototype, 'put'),
    ]
    await idsOf(receipts, 'b')
    expect(read.map(({ mock }) => mock.calls.length)).toEqual([1, 0, 0])
    // The number and its entry; where the register ends.
    expect(written.map(({ mock }) => mock.calls.length)).toEqual([2, 1])
    const ofSeries = begun.mock.calls.filter(([stores]) => [...stores].includes('numbers'))
    expect(ofSeries).toEqual([
      [['series', 'numbers', 'links', 'entries'], 'readwrite', { durability: 'strict' }],
    ])
  })

  test('takes a number and the check-in that names it in one transaction', async () => {
    const { receipts } = openTill(shop)
    await idsOf(receipts, 'a')
    const added = vi.spyOn(IDBObjectStore.prototype, 'add')
    const put = vi.spyOn(IDBObjectStore.prototype, 'put')
    await idsOf(receipts, 'b')
    const { transaction } = added.mock.contexts[0] as IDBObjectStore
    const together = put.mock.calls.filter(
      (_, i) => (put.mock.contexts[i] as IDBObjectStore).transaction === transaction,
    )
    expect(together).toMatchObject([[{ current: { checkIn: { last: 2 } } }, 'receipts']])
  })

  test('that is full refuses the number, which is not taken', async () => {
    const { hilo, receipts } = openTill(shop)
    await idsOf(receipts, 'a')
    hilo.goOffline()
    const full = vi.spyOn(IDBTransaction.prototype, 'commit').mockImplementation(function (
      this: IDBTransaction,
    ) {
      this.abort()
    })
    await expect(receipts.next({ key: 'b' })).rejects.toEqual(
      refusal('storage-failed', 'free some disk space'),
    )
    full.mockRestore()
    expect(await idsOf(receipts, 'c', 'b')).toEqual(['A-000002', 'A-000003'])
    expectWhole(await receipts.report())
  })

  test('cannot be memory: where IndexedDB does not open, nothing is made', async () => {
    vi.spyOn(IDBFactory.prototype, 'open').mockImplementation(() => {
      throw new DOMException('Not here.', 'SecurityError')
    })
    const { receipts } = openTill(shop, { name: newName() })
    await expect(receipts.next({ key: 'a' })).rejects.toEqual(
      refusal('storage-failed', 'Consecutive numbers are not made in memory'),
    )
  })

  test('comes from the app where there is no IndexedDB, and the error says so', async () => {
    const { hilo } = shop.open()
    vi.stubGlobal('indexedDB', undefined)
    Reflect.deleteProperty(globalThis, 'indexedDB')
    await expect(consecutive(hilo, 'bills').next({ key: 'a' })).rejects.toEqual(
      refusal('storage-failed', 'pass `store: sqliteStore({ database })`'),
    )
  })

  test('is let go when the Hilo is closed, and nothing is made any more', async () => {
    const { hilo, receipts } = openTill(shop)
    await idsOf(receipts, 'a')
    await hilo.close()
    const closed = refusal('closed', 'was closed')
    await expect(receipts.next({ key: 'b' })).rejects.toEqual(closed)
    await expect(receipts.report()).rejects.toEqual(closed)
  })
})

test.each([
  ['a device without a name', { device: '' }, 'device is a text that is not empty'],
  ['a long name of a device', { device: 'a'.repeat(129) }, 'device has at most 128 bytes'],
  ['a name of two lines', { device: 'Till\n3' }, 'device is well-formed Unicode without control'],
  ['half of a surrogate pair', { device: '\ud800' }, 'device is well-formed Unicode without'],
  ['a time below 0', { wait: -1 }, 'wait is a number of milliseconds from 0 to 60000'],
  ['no end', { wait: Number.POSITIVE_INFINITY }, 'wait is a number of milliseconds'],
  ['a form that is none', { formatId: 'B' as never }, 'formatId is a function'],
])('%s is refused at once', (_, series, message) => {
  expect(() => openTill(shop, { series })).toThrow(message)
})

test('a Hilo that no offline-hilo-server stands behind is refused at once', () => {
  const source = { key: 'mine', claim: async () => ({ failure: { code: 'closed', message: '' } }) }
  expect(() => openTill(shop, { source: source as never })).toThrow('a `source` of its own')
  for (const none of [{}, null, undefined, 'hilo'])
    expect(() => consecutive(none as never, 'receipts')).toThrow('something else than a Hilo')
})
