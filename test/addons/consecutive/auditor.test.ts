/** What an auditor finds in an export with a program that uses nothing of this package. */
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { chain } from '../../../src/addons/consecutive/chain.js'
import { newName } from '../../support/idb.js'
import { newShop, type Shop } from '../../support/shop.js'
import { audit, type KeptLink } from './auditor.js'
import { exportOf, idsOf, openTill, registry } from './devices.js'

let shop: Shop

beforeEach(async () => {
  shop = await newShop()
})
afterEach(() => shop.close())

const linked = chain({ text: ({ id, content }, previous) => `${id};${content};${previous}` })

/** Two tabs of a till with a network and without one, and a hand-over to it. */
async function shopDay(): Promise<{ text: string; kept: KeptLink[] }> {
  const stolen = openTill(shop, { name: newName(), series: { device: 'Till 3', chain: linked } })
  await idsOf(stolen.receipts, 'a', 'b')
  await shop.ledger.handOverSeries({
    ...{ database: 'default', collection: 'receipts', letter: 'A', to: 'Till 4', last: 2 },
    ...{ by: 'anna', reason: 'the till was stolen', at: Date.now() },
  })
  const [name, series] = [newName(), { device: 'Till 4', chain: linked }]
  const tabs = [0, 1].map(() => openTill(shop, { name, series }))
  const [{ hilo, receipts }, other] = tabs as [(typeof tabs)[0], (typeof tabs)[0]]
  await Promise.all([idsOf(receipts, 'c', 'd'), idsOf(other.receipts, 'e', 'f')])
  await receipts.settle('c', 'confirmed', { by: 'anna' })
  for (const each of tabs) each.hilo.goOffline()
  await other.receipts.next({ key: 'g', content: 'a coffee' })
  await receipts.settle('g', 'cancelled', { reason: 'card declined', by: 'bert' })
  await receipts.record({ key: 'void c', kind: 'cancellation', content: 'c' })
  await receipts.settle('c', 'voided', { reason: 'wrong goods', ref: 'void c' })
  hilo.goOnline()
  await idsOf(receipts, 'h')
  await expect.poll(async () => (await registry())[0]?.last).toBe(8)
  const [listed] = await registry()
  const { chains } = await receipts.verify()
  const kept = [{ chain: 'A', ...listed!.link! }, ...chains.flatMap(({ last }) => last ?? [])]
  return { text: await exportOf(receipts), kept }
}

/** The lines as somebody changed them, with a new sum at the end. */
function changed(text: string, change: (lines: string[]) => string[]): string {
  const lines = change(text.trimEnd().split('\n'))
  const before = lines
    .slice(0, -1)
    .map((line) => `${line}\n`)
    .join('')
  const sha256 = createHash('sha256').update(before).digest('hex')
  return `${before}${JSON.stringify({ ...JSON.parse(lines.at(-1)!), sha256 })}\n`
}

test('nothing after a day with tabs, a stolen till and no network', async () => {
  const { text, kept } = await shopDay()
  expect(kept).toMatchObject([{ chain: 'A' }, { chain: 'register' }, { chain: 'A' }])
  expect(audit(text, kept)).toEqual([])
})

test('nothing where a series has ended with a record that has no number', async () => {
  const { receipts, hilo } = openTill(shop, { name: newName(), series: { chain: linked } })
  await idsOf(receipts, 'a')
  await receipts.record({ key: 'void a', kind: 'cancellation' })
  await shop.ledger.closeSeries({
    ...{ database: 'default', collection: 'receipts', letter: 'A' },
    ...{ by: 'anna', reason: 'the shop moves', at: Date.now() },
  })
  hilo.goOffline()
  hilo.goOnline()
  await expect.poll(async () => (await receipts.report())[0]!.ended).toBeDefined()
  await idsOf(receipts, 'b')
  await receipts.record({ key: 'void b', kind: 'cancellation' })
  await idsOf(receipts, 'c')
  expect(audit(await exportOf(receipts))).toEqual([])
})

test('nothing in a closing whose sums are told by tax rate', async () => {
  const { receipts } = openTill(shop, { series: { period: 'day', timeZone: 'UTC' } })
  const { period } = await receipts.next({ key: 'a' })
  await receipts.closePeriod(period!, { sums: { total: '24.26', '7': '10.70', '19': '13.56' } })
  expect(audit(await exportOf(receipts))).toEqual([])
})

test('each change that does not recompute the register, and a sum that is another', async () => {
  const { text } = await shopDay()
  expect(audit(text.replace('card declined', 'no reason'))).toContain('the sum is another')
  const edit = (record: string, part: string, by: string) =>
    audit(
      changed(text, (lines) =>
        lines.map((line) =>
          line.startsWith(`{"record":"${record}"`) ? line.replaceAll(part, by) : line,
        ),
      ),
    )
  expect(edit('number', 'card declined', 'no reason')).toEqual([
    'A-000007 is not as the register tells',
  ])
  expect(edit('entry', 'card declined', 'no reason')).toEqual([
    expect.stringMatching(/^entry \d+ does not fit$/),
    'A-000007 is not as the register tells',
  ])
  expect(edit('number', ';a coffee;', ';a tea;')).toEqual(['record 5 of A does not fit'])
  const without = (part: string) =>
    audit(changed(text, (lines) => lines.filter((line) => !line.includes(part))))
  expect(without('"id":"A-000004"')).not.toEqual([])
  expect(without('"what":"settled"')).not.toEqual([])
})

test('an end that was cut off, by what was kept elsewhere alone', async () => {
  const { text, kept } = await shopDay()
  const cut = changed(text, (lines) => lines.filter((line) => !line.includes('A-000008')))
  expect(audit(cut)).toEqual([])
  expect(audit(cut, kept)).toEqual([
    expect.stringMatching(/^A \d+ is not what was kept$/),
    expect.stringMatching(/^register \d+ is not what was kept$/),
    expect.stringMatching(/^A \d+ is not what was kept$/),
  ])
})
