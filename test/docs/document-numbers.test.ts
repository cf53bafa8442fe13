/** What a person does at the server about series: the commands of the pages that tell it run. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Ledger, openLedger } from '../../server/src/index.js'
import { blocksOf } from './blocks.js'
import { commandsIn, newShell } from './shell.js'

const PAGE = ['ranges-and-chains', 'series-at-the-server']
  .map((page) => readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8'))
  .join('\n')
const OF_SERVER = commandsIn(PAGE)
  .flat()
  .filter((line) => line.startsWith('npx offline-hilo-server series Shop --'))
const command = (flag: string) => OF_SERVER.filter((line) => line.includes(flag))
const plan = blocksOf(PAGE).find(({ text }) => text.includes('The next document'))!.text

const RECEIPTS = { database: 'Shop', collection: 'receipts' }

/** A shell in the folder of a ledger that a step has used. */
async function shellAfter(step: (ledger: Ledger) => Promise<void>) {
  const shell = await newShell()
  const work = async (step: (ledger: Ledger) => Promise<void>) => {
    const dataDir = join(shell.folder, 'hilo-data')
    const ledger = await openLedger({ create: true, dataDir })
    await step(ledger)
    await ledger.close()
  }
  await work(step)
  const said = async (line: string) => {
    const child = shell.start(line)
    let text = ''
    for (const output of [child.stdout!, child.stderr!]) output.on('data', (more) => (text += more))
    await once(child, 'close')
    return text
  }
  return { ...shell, said, work }
}

async function begin(ledger: Ledger, name: string, device: string): Promise<string> {
  const claim = { ...RECEIPTS, id: randomUUID(), name, device, at: Date.now() }
  const series = await ledger.claimSeries(claim)
  if ('refused' in series) throw new Error(series.refused)
  return series.token
}

const tell = (ledger: Ledger, token: string, period: string, first: number, last: number) =>
  ledger.checkInSeries({
    database: 'Shop',
    id: randomUUID(),
    token,
    last: last - first + 1,
    periods: [{ period, first, last }],
    at: Date.now(),
  })

test("a lost till's series: shown, refused without a yes, handed over", async () => {
  const [handOver] = command('--hand-over')
  const shell = await shellAfter(async (ledger) => {
    await tell(ledger, await begin(ledger, 'T3', 'Till 3'), '2026', 1, 124)
  })
  expect(await shell.said(handOver!)).toBe(`${plan}\nNothing was changed. To do it, add --yes.\n`)
  expect(await shell.said(handOver!.replace('2026', '2062'))).toContain('2062 is not one of them.')
  await shell.run([`${handOver} --yes`])
  await shell.work(async (ledger) => {
    expect(await ledger.series('Shop')).toMatchObject([{ device: 'Till 4', last: 131 }])
  })
})

test('a range is given, and after a restore again, to the series that had it', async () => {
  const [give, again] = command('--give')
  const shell = await shellAfter(async (ledger) => {
    await begin(ledger, 'T3', 'Till 3')
  })
  await shell.run([`${give} --yes`])

  const restored = await shellAfter(async (ledger) => {
    await begin(ledger, 'T4', 'Till 4')
    await tell(ledger, await begin(ledger, 'T3', 'Till 3'), '2001-3000', 2001, 2005)
  })
  expect(await restored.said(again!.replace('T3', 'T4'))).toContain(
    'Series T3 has numbers from 2001 to 3000, as the server was told',
  )
  await restored.run([`${again} --yes`])
})
