/**
 * Devices that claim, repeat, give back, check in and send everything twice or late: at no time do
 * two hold one number.
 */
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { sizeOf } from '../../test/support/sizes.js'
import { type Grant, type Ledger, openLedger } from '../src/index.js'
import { createLedger } from '../src/ledger/create-ledger.js'
import { type Held, overlaps } from './devices.js'
import { newFolder } from './folders.js'
import { MemoryStore } from './ledger/memory-store.js'
import { grantOf, held, newId } from './ledger-bench.js'
import { newDatabase } from './postgres.js'

interface Device extends Held {
  /** The lowest number that it has not told to be issued. */
  next: number
  /** Undefined: a plain RavenDB client, which returns its range once and is gone. */
  claim: string | undefined
  token: string
  /** What the claim was answered with. */
  grant: Grant
}

/** A plain client that has returned its range. */
const GONE = 'gone'

interface Model {
  devices: Device[]
  /** Give-backs that may arrive again. */
  late: (() => Promise<unknown>)[]
}

const step = fc.record({
  kind: fc.constantFrom(
    'claim',
    'claim',
    'plain',
    'repeat',
    'giveBack',
    'giveBack',
    'checkIn',
    'spent',
    'late',
    'lower',
    'seen',
  ),
  which: fc.nat(),
  size: fc.integer({ min: 1, max: 60 }),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const pick = <T>(items: readonly T[], which: number): T | undefined =>
  items[which % Math.max(1, items.length)]

async function run(
  ledger: Ledger,
  database: string,
  { kind, which, size }: Step,
  model: Model,
): Promise<void> {
  const key = { database, collection: 'orders' }
  const { devices, late } = model
  const take = async (claim: string | undefined, lastMax = 0) => {
    const [outcome] = await ledger.claim([
      { ...key, id: claim, count: size, lastMax, serverTag: 'A', at: 0 },
    ])
    const grant = grantOf(outcome!)
    devices.push({
      low: grant.low,
      high: grant.high,
      next: grant.low,
      token: grant.token,
      claim,
      grant,
    })
  }
  const device = pick(devices, which)
  switch (kind) {
    case 'claim':
      return take(newId())
    case 'plain':
      return take(undefined)
    case 'seen':
      return take(newId(), Math.max(0, ...devices.map(({ high }) => high)))
    case 'repeat': {
      if (!device?.claim || device.claim === GONE) return
      const [outcome] = await ledger.claim([
        { ...key, id: device.claim, count: size, lastMax: 0, serverTag: 'B', at: 1 },
      ])
      if ('grant' in outcome!) expect(outcome.grant).toEqual(device.grant)
      return
    }
    case 'giveBack': {
      if (!device || device.claim === GONE) return
      const [end, last] = [device.high, device.next - 1 + (size % (device.high - device.next + 2))]
      const token = device.claim ? device.token : undefined
      device.high = last
      device.claim ??= GONE
      const send = () => ledger.giveBack({ ...key, end, last, token, at: 0 })
      late.push(send)
      if (size % 3 !== 0) await send()
      return
    }
    case 'checkIn': {
      if (!device?.claim || device.claim === GONE) return
      const id = newId()
      device.next += size % (device.high - device.next + 2)
      const shown = { token: device.token, next: device.next }
      const check = () => ledger.checkIn({ database, id, grants: [shown] })
      const fate = held((await check())[0])
      const again = held((await check())[0])
      if (again.token !== fate.token || again.high !== fate.high)
        throw new Error('a check-in is answered two ways')
      if (fate.high < device.high) throw new Error('a check-in took numbers')
      Object.assign(device, fate)
      return
    }
    case 'spent':
      if (!device?.claim || device.claim === GONE) return
      device.next = device.high + 1
      await ledger.checkIn({ database, id: newId(), grants: [], spent: [device.token] })
      return
    case 'late':
      await pick(late, which)?.()
      return
    case 'lower':
      await ledger.write([{ ...key, max: which % 100 }].filter(() => devices.length > 0))
  }
}

const LIMITS = { maxJump: 10_000_000, collections: 10_000, databases: 1_000_000 }
const STORES: [string, number, () => Promise<Ledger>][] = [
  ['memory', 1_000, async () => createLedger(new MemoryStore(), LIMITS, new Map())],
  ['SQLite', sizeOf('LEDGER_RUNS'), () => openLedger({ dataDir: newFolder() })],
  [
    'PostgreSQL',
    sizeOf('LEDGER_RUNS') / 5,
    async () => openLedger({ databaseUrl: await newDatabase() }),
  ],
]

describe.each(STORES)('%s', (_, numRuns, open) => {
  let ledger: Ledger
  afterAll(() => ledger?.close())

  test('no number is held twice', { timeout: 120_000 }, async () => {
    ledger = await open()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const database = newId()
        const model: Model = { devices: [], late: [] }
        for (const next of steps) {
          await run(ledger, database, next, model)
          const [pair] = overlaps(model.devices)
          if (pair) throw new Error(`after ${next.kind}: ${JSON.stringify(pair)}`)
        }
      }),
      { numRuns },
    )
  })
})
