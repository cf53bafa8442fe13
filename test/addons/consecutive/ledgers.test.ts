/** Another ledger answers at the address of the server (H34): what becomes of a series. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createHiloHandler, type Ledger, openLedger } from '../../../server/src/index.js'
import type { HiloEvents } from '../../../src/client/hilo.js'
import { newName } from '../../support/idb.js'
import { codeOf, errorOf, newShop, type Shop } from '../../support/shop.js'
import { shownLog } from '../../support/shown-log.js'
import { currentOf, expectWhole, idsOf, inEachStore, openTill, type Till } from './devices.js'

const OPTIONS = { database: 'Shop' }

let shop: Shop
let other: Ledger
let folder: string

beforeEach(async () => {
  shop = await newShop()
  folder = mkdtempSync(join(tmpdir(), 'offline-hilo-'))
  other = await openLedger({ create: true, dataDir: folder })
})
afterEach(async () => {
  await shop.close()
  await other.close()
  rmSync(folder, { recursive: true, force: true })
})

const asOther = (request: Request) =>
  createHiloHandler({ ledger: other, log: shownLog, open: true })(request)

/** From now on, only the other ledger answers. */
function answerAsOther(): void {
  shop.answer = asOther
}

const names = async () => ({
  before: `${await shop.ledger.readName()}/shop`,
  after: `${await other.readName()}/shop`,
})

function heardBy({ hilo }: Till): HiloEvents['ledger'][] {
  const heard: HiloEvents['ledger'][] = []
  hilo.addEventListener('ledger', ({ detail }) => heard.push(detail))
  return heard
}

/** A device that has made A-000001, and hears of the other ledger with its next number. */
async function stopped(name = newName()): Promise<Till> {
  const till = openTill(shop, { ...OPTIONS, name })
  await idsOf(till.receipts, 'a')
  answerAsOther()
  expect(await codeOf(till.receipts.next({ key: 'b' }))).toBe('other-ledger')
  return till
}

const close = (letter: string) =>
  shop.ledger.closeSeries({
    ...{ database: 'Shop', collection: 'receipts', letter },
    ...{ by: 'anna', reason: 'a new year', at: Date.UTC(2027, 0, 1) },
  })

inEachStore(() => {
  test('ends the series; the error, the event and the report say which two', async () => {
    const { before, after } = await names()
    const till = openTill(shop, { ...OPTIONS, name: newName() })
    const heard = heardBy(till)
    await idsOf(till.receipts, 'a')
    answerAsOther()
    const { code, message } = await errorOf(till.receipts.next({ key: 'b' }))
    expect(code).toBe('other-ledger')
    for (const part of [before, after, `follow Shop --name ${before}`, 'hilo.startOver()'])
      expect(message).toContain(part)
    expect(heard).toEqual([
      {
        ...{ collection: 'receipts', before, after, isStopped: true, numbers: 0 },
        since: expect.any(Date),
      },
    ])
    const reports = await till.receipts.report()
    const since = heard[0]!.since.toISOString()
    expect(message).toContain(since)
    expect(reports).toMatchObject([
      { series: 'A', ended: { kind: 'other-ledger', before, after, since } },
    ])
    // What was not handed out yet is not handed out any more.
    expect(reports[0]!.numbers).toMatchObject([
      { id: 'A-000001', key: 'a' },
      { id: 'A-000002', state: 'cancelled' },
    ])
    expectWhole(reports)
    expect(await other.series('Shop')).toEqual([])
    expect(await currentOf(till.receipts)).toBeUndefined()
  })

  test('ends it, too, as another database of the same server', async () => {
    const till = openTill(shop, { ...OPTIONS, name: newName() })
    await idsOf(till.receipts, 'a')
    const handle = createHiloHandler({ ledger: shop.ledger, log: shownLog, open: true })
    shop.answer = (request) =>
      handle(new Request(request.url.replace('/Shop/', '/Depot/'), request.clone()))
    expect(await codeOf(till.receipts.next({ key: 'b' }))).toBe('other-ledger')
    expect((await shop.ledger.series('Depot')).length).toBe(0)
  })

  test('ends it for good: in the next page, and when the first one is back', async () => {
    const name = newName()
    const { hilo } = await stopped(name)
    await hilo.close()
    shop.answer = undefined
    const { receipts } = openTill(shop, { ...OPTIONS, name })
    expect(await codeOf(receipts.next({ key: 'c' }))).toBe('other-ledger')
    expect(await codeOf(receipts.prepare())).toBe('other-ledger')
    expect(await shop.ledger.series('Shop')).toHaveLength(1)
    shop.isDown = true
    expect(await codeOf(receipts.next({ key: 'c' }))).toBe('other-ledger')
    // A key has one number.
    expect(await idsOf(receipts, 'a')).toEqual(['A-000001'])
  })

  test('gives no series to a device that has had one', async () => {
    const { receipts } = openTill(shop, { ...OPTIONS, name: newName() })
    await idsOf(receipts, 'a')
    await close('A')
    shop.answer = (request) => (request.url.endsWith('/checkin') ? undefined : asOther(request))
    expect(await codeOf(receipts.next({ key: 'b' }))).toBe('other-ledger')
    expect(await other.series('Shop')).toEqual([])
    expect((await receipts.report()).map(({ ended }) => ended!.kind)).toEqual(['closed'])
  })

  test('changes nothing by an answer that it should have refused', async () => {
    const { receipts } = openTill(shop, { ...OPTIONS, name: newName() })
    await idsOf(receipts, 'a')
    for (const ledger of [undefined, (await names()).after]) {
      shop.answer = () => Response.json({ unknown: true, ledger })
      expect(await receipts.next({ key: `${ledger}` })).toMatchObject({ heard: false })
    }
    expect(await receipts.report()).toMatchObject([{ series: 'A', heard: 1 }])
    shop.answer = undefined
    await receipts.next({ key: 'd' })
    await expect.poll(() => currentOf(receipts)).toMatchObject({ series: 'A', heard: 4 })
  })

  describe('when the app starts over', () => {
    test('a letter begins that this device had not, with the ledger that answers', async () => {
      const { hilo, receipts } = await stopped()
      await hilo.startOver()
      expect(await idsOf(receipts, 'b', 'c', 'a')).toEqual(['B-000001', 'B-000002', 'A-000001'])
      expect(await other.series('Shop')).toMatchObject([{ letter: 'B', last: 2 }])
    })

    test('it may be the first one', async () => {
      const { hilo, receipts } = await stopped()
      shop.answer = undefined
      await hilo.startOver({ database: 'Shop' })
      expect(await idsOf(receipts, 'b')).toEqual(['B-000001'])
      expect(await shop.ledger.series('Shop')).toMatchObject([{ letter: 'A' }, { letter: 'B' }])
    })

    test('while both answer, the device stops again', async () => {
      const { hilo, receipts } = await stopped()
      await hilo.startOver()
      await idsOf(receipts, 'b')
      shop.answer = undefined
      expect(await codeOf(receipts.next({ key: 'c' }))).toBe('other-ledger')
    })

    test('nothing changes for a device that has not stopped, or in another database', async () => {
      const name = newName()
      const { hilo, receipts } = openTill(shop, { ...OPTIONS, name })
      await idsOf(receipts, 'a')
      await hilo.startOver()
      expect(await idsOf(receipts, 'b')).toEqual(['A-000002'])
      const till = await stopped()
      await till.hilo.startOver({ database: 'Another' })
      expect(await codeOf(till.receipts.next({ key: 'c' }))).toBe('other-ledger')
    })
  })

  describe('that follows the first one', () => {
    const follow = async (above: number) =>
      other.follow({ database: 'Shop', name: (await names()).before, above })

    test.each([
      [1, 'B-000001'],
      [5, 'F-000001'],
    ])('gives the next letter, above the %i of the first', async (letters, id) => {
      const till = openTill(shop, { ...OPTIONS, name: newName() })
      const heard = heardBy(till)
      await idsOf(till.receipts, 'a')
      await follow(letters)
      answerAsOther()
      expect(await idsOf(till.receipts, 'b')).toEqual([id])
      expect(heard).toMatchObject([{ ...(await names()), isStopped: false }])
    })

    test('goes on with a device that has stopped', async () => {
      const { receipts } = await stopped()
      await follow(5)
      expect(await idsOf(receipts, 'b')).toEqual(['F-000001'])
    })

    test('from too low a letter, stops the device', async () => {
      const { hilo } = openTill(shop, { ...OPTIONS, name: newName() })
      await hilo.close()
      for (const n of [1, 2])
        await idsOf(openTill(shop, { ...OPTIONS, name: newName() }).receipts, `${n}`)
      const { receipts } = openTill(shop, { ...OPTIONS, name: newName() })
      expect(await idsOf(receipts, 'a')).toEqual(['C-000001'])
      await follow(2)
      answerAsOther()
      expect(await codeOf(receipts.next({ key: 'b' }))).toBe('other-ledger')
    })
  })

  test('stops a device whose claim both have answered', async () => {
    const name = newName()
    const tabs = [openTill(shop, { ...OPTIONS, name }), openTill(shop, { ...OPTIONS, name })]
    let arrived = () => {}
    const both = new Promise<void>((resolve) => {
      let count = 0
      arrived = () => void (++count === 2 && resolve())
    })
    let asked = 0
    shop.answer = async (request) => {
      const handle = asked++ === 0 ? undefined : asOther
      const answer = await (
        handle ?? createHiloHandler({ ledger: shop.ledger, log: shownLog, open: true })
      )(request)
      arrived()
      await both
      return answer
    }
    const codes = await Promise.all(tabs.map(({ receipts }) => codeOf(receipts.prepare())))
    expect(codes).toContain('other-ledger')
    expect(await codeOf(tabs[0]!.receipts.next({ key: 'a' }))).toBe('other-ledger')
  })
})
