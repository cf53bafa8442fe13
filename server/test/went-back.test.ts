/**
 * Lives of a ledger whose counter goes back at random, as when somebody restores one table or edits
 * a row: no two of its grants ever hold one number.
 */
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { atFileEnd } from '../../test/support/file-end.js'
import { sizeOf } from '../../test/support/sizes.js'
import { type Grant, type Ledger, openLedger } from '../src/index.js'
import { createLedger } from '../src/ledger/create-ledger.js'
import { CounterWentBack } from '../src/ledger/ledger-errors.js'
import type { CollectionRow } from '../src/ledger/rows.js'
import { selected } from '../src/sql/statements.js'
import { COLLECTIONS, decoded } from '../src/sql/tables.js'
import { type Held, overlaps } from './devices.js'
import { newFolder } from './folders.js'
import { MemoryStore } from './ledger/memory-store.js'
import { AT, editing, grantOf, LIMITS, newId } from './ledger-bench.js'
import { newDatabase } from './postgres.js'

interface Opened {
  ledger: Ledger
  /** Forgets the lives before, where they would cost time. */
  begin?(): void
  counter(database: string): Promise<CollectionRow | undefined>
  grants(database: string): Promise<Held[]>
  edit(database: string, change: Partial<CollectionRow> | undefined): Promise<void>
}

const ENOUGH = { ...LIMITS, databases: 1_000_000 }

const COUNTER = `SELECT ${selected(COLLECTIONS)} FROM hilo_collections t WHERE t.database = `
const HELD = `SELECT CAST(low AS INTEGER) AS low, CAST(high AS INTEGER) AS high FROM hilo_grants
  WHERE high >= low AND database = `
/** PostgreSQL gives a `bigint` as a text. */
const NUMBERS = Object.entries(COLLECTIONS.columns).flatMap(([field, [, type]]) =>
  /count|number/.test(type) ? [field] : [],
)

const withNumbers = (row: object) =>
  Object.fromEntries(
    Object.entries(row).map(([field, value]) => [
      field,
      value !== null && NUMBERS.includes(field) ? Number(value) : value,
    ]),
  )

const counterIn = (rows: object[]): CollectionRow | undefined =>
  decoded<CollectionRow>(COLLECTIONS, rows.map(withNumbers))[0]

/** What a refusal says to do. */
const floorIn = (message: string): number =>
  Number(/raise-floor \S+ 'orders' (\d+)/.exec(message)![1])

const keyOf = (database: string) => ({ database, collection: 'orders' })

const STORES: [string, number, () => Promise<Opened>][] = [
  [
    'memory',
    sizeOf('LEDGER_RUNS'),
    async () => {
      const store = new MemoryStore()
      return {
        begin: () => store.replace(new MemoryStore().copy()),
        ledger: createLedger(store, ENOUGH, new Map()),
        counter: async (database) => store.collections.get(`${database}\norders`),
        grants: async (database) =>
          [...store.grants.values()].filter(
            (row) => row.database === database && row.high >= row.low,
          ),
        edit: async (database, change) => store.edit(COLLECTIONS.name, keyOf(database), change),
      }
    },
  ],
  [
    'SQLite',
    sizeOf('LEDGER_RUNS'),
    async () => {
      const dataDir = newFolder()
      const ledger = await openLedger({ create: true, dataDir, limits: ENOUGH })
      const db = new DatabaseSync(join(dataDir, 'hilo.db'))
      return {
        ledger,
        counter: async (database) => counterIn(db.prepare(`${COUNTER}?`).all(database)),
        grants: async (database) => db.prepare(`${HELD}?`).all(database) as unknown as Held[],
        edit: async (database, change) => db.exec(editing(COLLECTIONS, keyOf(database), change)),
      }
    },
  ],
  [
    'PostgreSQL',
    sizeOf('LEDGER_RUNS') / 5,
    async () => {
      const databaseUrl = await newDatabase()
      const ledger = await openLedger({ create: true, databaseUrl, limits: ENOUGH })
      const client = new pg.Client(databaseUrl)
      await client.connect()
      atFileEnd(() => client.end())
      const sql = async (text: string) => (await client.query(text)).rows
      return {
        ledger,
        counter: async (database) => counterIn(await sql(`${COUNTER}'${database}'`)),
        grants: (database) => sql(`${HELD}'${database}'`),
        edit: async (database, change) =>
          void (await sql(editing(COLLECTIONS, keyOf(database), change))),
      }
    },
  ],
]

const FIELDS = ['max', 'highWater', 'free', 'freeCount', 'serial', 'forgotten'] as const

const step = fc.record({
  kind: fc.constantFrom(
    ...(['claim', 'claim', 'plain', 'two', 'giveBack', 'giveBack', 'spent'] as const),
    ...(['prune', 'setBack', 'setBack', 'delete', 'raise', 'write'] as const),
  ),
  which: fc.nat(),
  size: fc.integer({ min: 1, max: 40 }),
  /** Fields that go back. */
  fields: fc.oneof(fc.constant([...FIELDS]), fc.subarray([...FIELDS], { minLength: 1 })),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

class Stopped extends Error {}

interface Life {
  database: string
  grants: Grant[]
  /** As the counter's row was after each step. */
  before: CollectionRow[]
}

async function live(
  { ledger, edit }: Opened,
  { database, grants, before }: Life,
  { kind, which, size, fields }: Step,
): Promise<void> {
  const key = keyOf(database)
  const claim = async (...ids: (string | undefined)[]) => {
    const wish = { ...key, count: size, lastMax: 0, serverTag: 'A', at: AT }
    for (const outcome of await ledger.claim(ids.map((id) => ({ ...wish, id })))) {
      // A token has told of a grant that the row does not know any more.
      if ('refused' in outcome && outcome.refused === 'restored') throw new Stopped()
      grants.push(grantOf(outcome))
    }
  }
  const grant = grants[which % Math.max(1, grants.length)]
  switch (kind) {
    case 'claim':
      return claim(newId())
    case 'plain':
      return claim(undefined)
    case 'two':
      return claim(newId(), newId())
    case 'giveBack': {
      if (!grant || grant.high < grant.low) return
      const [end, last] = [grant.high, grant.low - 1 + (size % (grant.high - grant.low + 1))]
      const back = await ledger.giveBack({ ...key, end, last, token: grant.token, at: AT })
      if (back > 0) grant.high = last
      return
    }
    case 'spent':
      if (grant)
        await ledger.checkIn({ database, id: newId(), at: AT, grants: [], spent: [grant.token] })
      return
    case 'prune':
      return ledger.prune({ settledBefore: AT + 1, heardBefore: 0 })
    case 'setBack': {
      const row = before[which % Math.max(1, before.length)]
      const change =
        row &&
        Object.fromEntries(
          FIELDS.filter((each) => fields.includes(each)).map((each) => [each, row[each]]),
        )
      if (change) await edit(database, change)
      return
    }
    case 'delete':
      return size > 35 ? edit(database, undefined) : undefined
    case 'raise':
      await ledger.raiseFloor({ ...key, floor: size })
      return
    case 'write':
      await ledger.write([{ ...key, max: which % 200 }])
  }
}

describe.each(STORES)('%s', (_, numRuns, open) => {
  let opened: Opened
  afterAll(() => opened?.ledger.close())

  test('a counter that goes back at random grants no number twice', async () => {
    opened = await open()
    const seen = { refusals: 0, grants: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const life: Life = { database: newId(), grants: [], before: [] }
        opened.begin?.()
        for (const each of steps) {
          await live(opened, life, each).catch((error) => {
            if (!(error instanceof CounterWentBack || error instanceof Stopped)) throw error
            seen.refusals++
          })
          const [pair] = overlaps(await opened.grants(life.database))
          if (pair) throw new Error(`after ${each.kind}: ${JSON.stringify(pair)}`)
          const row = await opened.counter(life.database)
          if (row) life.before.push(row)
        }
        seen.grants += life.grants.length
        // Whatever has happened, the floor of a refusal leads out of it.
        const again = () => live(opened, life, { ...steps[0]!, kind: 'two' })
        await again().catch(async (error) => {
          const { ledger } = opened
          const { database, grants } = life
          const by = Math.max(...grants.map(({ high }) => high))
          if (error instanceof Stopped) await ledger.raiseFloors({ database, by })
          else await ledger.raiseFloor({ ...keyOf(database), floor: floorIn(error.message) })
          await again()
        })
        expect(overlaps(await opened.grants(life.database))).toEqual([])
      }),
      { numRuns },
    )
    expect(seen.refusals).toBeGreaterThan(0)
    expect(seen.grants).toBeGreaterThan(numRuns)
  })
})
