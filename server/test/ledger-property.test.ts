/**
 * Devices that claim, repeat, give back, check in and send everything twice or late: at no time do
 * two hold one number.
 */
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
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
import { runSql } from './postgres-cluster.js'

interface Device extends Held {
  /** The lowest number that it has not told to be issued. */
  next: number
  /** Undefined: a plain RavenDB client, which returns its range once and is gone. */
  claim: string | undefined
  token: string
  /** What the claim was answered with. */
  grant: Grant
}

/** A plain client that has returned its range, or a device that has issued all of it. */
const GONE = 'gone'

interface Model {
  devices: Device[]
  /** Give-backs that may arrive again. */
  late: (() => Promise<unknown>)[]
  /** Grants were forgotten: a claim that is repeated may be a new one. */
  isPruned?: true
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
    'prune',
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
      if (!('grant' in outcome!)) return
      const { grant } = outcome
      if (outcome.isRepeat || !model.isPruned) expect(grant).toEqual(device.grant)
      else {
        devices.push({ ...grant, next: grant.low, claim: GONE, grant })
        device.claim = newId()
      }
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
      const isEmpty = device.next > device.high
      device.next += size % (device.high - device.next + 2)
      const shown = { token: device.token, next: device.next }
      const check = () => ledger.checkIn({ database, id, at: 0, grants: [shown] })
      const [first] = await check()
      if (first === 'superseded' && model.isPruned && isEmpty) {
        device.claim = GONE
        return
      }
      const result = held(first)
      const again = held((await check())[0])
      if (again.token !== result.token || again.high !== result.high)
        throw new Error('a check-in is answered two ways')
      if (result.high < device.high) throw new Error('a check-in took numbers')
      Object.assign(device, result)
      return
    }
    case 'spent':
      if (!device?.claim || device.claim === GONE) return
      device.next = device.high + 1
      device.claim = GONE
      await ledger.checkIn({ database, id: newId(), at: 0, grants: [], spent: [device.token] })
      return
    case 'prune':
      model.isPruned = true
      await ledger.prune({ settledBefore: 1, heardBefore: size % 2 })
      return
    case 'late':
      await pick(late, which)?.()
      return
    case 'lower':
      await ledger.write([{ ...key, max: which % 100 }].filter(() => devices.length > 0))
  }
}

const LIMITS = {
  maxJump: 10_000_000,
  maxId: Number.MAX_SAFE_INTEGER,
  collections: 10_000,
  databases: 1_000_000,
}

interface Opened {
  ledger: Ledger
  /** What the collections' totals have to be, from the grants themselves. */
  sums(database: string): Promise<Sums[]>
}

interface Sums {
  grants: number
  outstanding: number
}

const SUMS = `
  SELECT CAST(count(*) AS INTEGER) AS grants,
    CAST(coalesce(sum(high - low + 1), 0) AS INTEGER) AS outstanding
  FROM hilo_grants WHERE database = `

const STORES: [string, number, () => Promise<Opened>][] = [
  [
    'memory',
    1_000,
    async () => {
      const store = new MemoryStore()
      const sums = async (database: string) => {
        const grants = [...store.grants.values()].filter((grant) => grant.database === database)
        const outstanding = grants.reduce((sum, { low, high }) => sum + high - low + 1, 0)
        return [{ grants: grants.length, outstanding }]
      }
      return { ledger: createLedger(store, LIMITS, new Map()), sums }
    },
  ],
  [
    'SQLite',
    sizeOf('LEDGER_RUNS'),
    async () => {
      const dataDir = newFolder()
      const ledger = await openLedger({ create: true, dataDir })
      const db = new DatabaseSync(join(dataDir, 'hilo.db'))
      return { ledger, sums: async (database) => db.prepare(`${SUMS}?`).all(database) as Sums[] }
    },
  ],
  [
    'PostgreSQL',
    sizeOf('LEDGER_RUNS') / 5,
    async () => {
      const databaseUrl = await newDatabase()
      const sums = async (database: string): Promise<Sums[]> =>
        (await runSql(databaseUrl, `${SUMS}'${database}'`)).rows
      return { ledger: await openLedger({ create: true, databaseUrl }), sums }
    },
  ],
]

describe.each(STORES)('%s', (_, numRuns, open) => {
  let ledger: Ledger
  afterAll(() => ledger?.close())

  test('no number is held twice, and totals are the sums', async () => {
    const { sums, ...opened } = await open()
    ledger = opened.ledger
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const database = newId()
        const model: Model = { devices: [], late: [] }
        for (const next of steps) {
          await run(ledger, database, next, model)
          const [pair] = overlaps(model.devices)
          if (pair) throw new Error(`after ${next.kind}: ${JSON.stringify(pair)}`)
        }
        const [total] = (await ledger.status()).filter((each) => each.database === database)
        const { grants, outstanding } = total ?? { grants: 0, outstanding: 0 }
        expect([{ grants, outstanding }]).toEqual(await sums(database))
      }),
      { numRuns },
    )
  })
})
